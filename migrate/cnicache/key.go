package cnicache

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/containernetworking/cni/pkg/utils"

	"github.com/bolt-local/bolt-local/store/record"
)

// errNoInterface is returned for a bare result of which the container id cannot
// be told from the ifname in its file's name.
var errNoInterface = errors.New("it is a bare result, and its name ends with none of the interfaces that it has in a sandbox: the container id cannot be told")

// fileName is the name of an attachment's file (libcni/api.go,
// getCacheFilePath).
func fileName(network string, att record.Attachment) string {
	return network + "-" + att.ContainerID + "-" + att.IfName
}

// attachments lists the attachments of network that a document may be of whose
// file is called name: none where it is of another network, and several only
// where a bare result has two interfaces that its name ends with.
func (d *document) attachments(network, name string) ([]record.Attachment, error) {
	if d.isBare() {
		return d.split(network, name)
	}
	att := record.Attachment{ContainerID: d.ContainerID, IfName: d.IfName}
	if fileName(d.NetworkName, att) != name {
		return nil, fmt.Errorf("it says network %q, container id %q, interface %q, and its name says another key", d.NetworkName, d.ContainerID, d.IfName)
	}
	if d.NetworkName != network {
		return nil, nil
	}
	if err := validKey(network, att); err != nil {
		return nil, err
	}
	return []record.Attachment{att}, nil
}

// split takes a bare result's name apart: the network is known, and the ifname
// is an interface of the result that has a sandbox.
func (d *document) split(network, name string) ([]record.Attachment, error) {
	key, ours := strings.CutPrefix(name, network+"-")
	if !ours {
		return nil, nil
	}
	var fits []record.Attachment
	why := errNoInterface
	for _, i := range d.Result.Interfaces {
		id, ends := strings.CutSuffix(key, "-"+i.Name)
		att := record.Attachment{ContainerID: id, IfName: i.Name}
		if !ends || i.Name == "" || i.Sandbox == "" || slices.Contains(fits, att) {
			continue
		}
		if err := validKey(network, att); err != nil {
			why = err
			continue
		}
		fits = append(fits, att)
	}
	if len(fits) == 0 {
		return nil, why
	}
	return fits, nil
}

// validKey holds a key against the rules of the CNI specification, by which it
// may stand in a path. The network's name is valid, or is the caller's.
func validKey(network string, att record.Attachment) error {
	if err := utils.ValidateNetworkName(network); err != nil {
		return err
	}
	if err := utils.ValidateContainerID(att.ContainerID); err != nil {
		return err
	}
	if err := utils.ValidateInterfaceName(att.IfName); err != nil {
		return err
	}
	return nil
}
