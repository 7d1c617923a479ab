package cnicache

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/bolt-local/bolt-local/store/record"
)

// outcome is what one file came to: an entry, an error, or neither.
type outcome struct {
	entry Entry
	found bool
	err   error
}

// file reads a file, and take says what entry it has, if any. No call fails for
// a file that cannot be read: it only cannot vouch for anything.
func (r *reader) file(dir, name string, take func(*document) (Entry, bool, error)) outcome {
	path := filepath.Join(dir, name)
	data, there, err := r.read(path)
	if err == nil && !there {
		return outcome{}
	}
	var (
		o outcome
		d *document
	)
	if err == nil {
		d, err = parse(data)
	}
	if err == nil {
		o.entry, o.found, err = take(d)
	}
	if err != nil {
		return outcome{err: fmt.Errorf("the cached result %q is left out: %w; remove it once its container is gone", path, err)}
	}
	return o
}

// named returns the entry for whichever attachment of network a document tells
// of whose file is called name, if it tells of one.
func (d *document) named(network, name string) (Entry, bool, error) {
	fits, err := d.attachments(network, name)
	switch {
	case errors.Is(err, errNoInterface) && len(d.addrs) == 0:
		return Entry{}, false, nil // as the loopback plugin's: nothing is lost with it
	case err != nil || len(fits) == 0:
		return Entry{}, false, err
	case len(fits) > 1:
		return Entry{}, false, fmt.Errorf("its name ends with two interfaces of its result, %q and %q", fits[0].IfName, fits[1].IfName)
	case fits[0].IfName == loopback:
		return Entry{}, false, nil
	}
	return d.entry(fits[0]), true, nil
}

// of returns the entry of att from the document in its file, unless that tells
// of another attachment. A bare result that names no interface is taken for
// that of whoever asks.
func (d *document) of(network string, att record.Attachment) (Entry, bool, error) {
	fits, err := d.attachments(network, fileName(network, att))
	switch {
	case errors.Is(err, errNoInterface):
	case err != nil || !slices.Contains(fits, att):
		return Entry{}, false, err
	}
	return d.entry(att), true, nil
}

// entry is what the document tells of att, whose it is.
func (d *document) entry(att record.Attachment) Entry {
	e := Entry{Attachment: att, NetNS: d.NetNS, Addrs: d.addrs}
	for _, i := range d.Result.Interfaces {
		if e.NetNS == "" && i.Name == att.IfName {
			e.NetNS = i.Sandbox
		}
	}
	for _, arg := range d.CNIArgs {
		switch arg[0] {
		case "K8S_POD_NAMESPACE":
			e.Pod.Namespace = arg[1]
		case "K8S_POD_NAME":
			e.Pod.Name = arg[1]
		case "K8S_POD_UID":
			e.Pod.UID = arg[1]
		case "K8S_POD_INFRA_CONTAINER_ID":
			e.Pod.InfraContainerID = arg[1]
		}
	}
	return e
}
