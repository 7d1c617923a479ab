// Package cnicache reads libcni's caches of results, and multus's own, which
// has the same shape, as witnesses: they alone know the network, the container
// id, the interface and the addresses of an attachment together. It never
// writes.
//
// A file is called <network>-<container id>-<ifname>, where each of the three
// may have a '-' of its own. What it holds depends on the libcni that wrote it:
//
//	0.7   the bare result, of any version; its name alone has the key
//	0.8   an object of kind cniCacheV1: key, arguments and result
//	1.2   the same, and the path of the network namespace
//
// libcni writes it in place once the whole chain of plugins has succeeded, and
// removes it after a DEL. So it may be torn, it outlives a boot, and it may
// tell of a container that is long gone: that its namespace is there, and the
// address is the one in question, is for the caller to see.
package cnicache

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/containernetworking/cni/pkg/utils"

	"github.com/bolt-local/bolt-local/store/record"
)

// Entry is one cached result: an attachment and the addresses it was given.
type Entry struct {
	record.Attachment // IfName is always known
	// NetNS is the path of the network namespace: the entry's own, else the
	// sandbox of the interface called IfName in its result; "" where neither
	// tells.
	NetNS string
	// Pod is what CNI_ARGS said; zero where there was nothing.
	Pod record.Pod
	// Addrs are unmapped, in the order of the result, none twice.
	Addrs []netip.Addr
}

// Cache is the directories to look in, in their order. A missing directory is
// an empty one.
type Cache struct{ Dirs []string }

// loopback is an interface that no IPAM plugin gives an address to; some
// runtimes attach it as a network of its own.
const loopback = "lo"

// Network returns all entries of a network, ordered by directory and file
// name, each attachment once: the first directory that has it counts. What
// could not be read is left out; the errors, in the same order, name each such
// file and directory.
//
// The name of a bare result does not tell network "a" and id "b-1" from
// network "a-b" and id "1": both networks have such an entry.
func (c Cache) Network(network string) ([]Entry, []error) {
	if err := utils.ValidateNetworkName(network); err != nil {
		return nil, []error{fmt.Errorf("looking for cached results of network %q: %w", network, err)}
	}
	var (
		entries []Entry
		errs    []error
		seen    = map[record.Attachment]bool{}
	)
	for _, dir := range c.Dirs {
		names, err := list(dir, network+"-")
		if err != nil {
			errs = append(errs, err)
		}
		files := make([]outcome, len(names))
		inParallel(len(names), func(r *reader, i int) {
			files[i] = r.file(dir, names[i], func(d *document) (Entry, bool, error) { return d.named(network, names[i]) })
		})
		for _, f := range files {
			switch {
			case f.err != nil:
				errs = append(errs, f.err)
			case f.found && !seen[f.entry.Attachment]:
				seen[f.entry.Attachment] = true
				entries = append(entries, f.entry)
			}
		}
	}
	return entries, errs
}

// Attachment returns the entry of one attachment from the first directory that
// has it, and whether there is one. It opens one file in each directory, by its
// name. The error names each file that could not be read; a later directory may
// have the entry all the same.
func (c Cache) Attachment(network string, att record.Attachment) (Entry, bool, error) {
	if err := validKey(network, att); err != nil {
		return Entry{}, false, fmt.Errorf("looking for the cached result of network %q, container id %q, interface %q: %w", network, att.ContainerID, att.IfName, err)
	}
	if att.IfName == loopback {
		return Entry{}, false, nil
	}
	var (
		r    reader
		errs []error
		name = fileName(network, att)
	)
	for _, dir := range c.Dirs {
		f := r.file(dir, name, func(d *document) (Entry, bool, error) { return d.of(network, att) })
		if f.found {
			return f.entry, true, errors.Join(errs...)
		}
		if f.err != nil {
			errs = append(errs, f.err)
		}
	}
	return Entry{}, false, errors.Join(errs...)
}
