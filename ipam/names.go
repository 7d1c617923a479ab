package ipam

import (
	"strings"
	"unicode/utf8"

	"github.com/containernetworking/cni/pkg/utils"

	"github.com/bolt-local/bolt-local/store/record"
)

// Bounds of names, in bytes.
const (
	// maxNetworkName: its directory, and the name beside that in which it is made
	// ready (".bolt-local-" and the name), are file names of 255 bytes at most.
	maxNetworkName = 255 - len(".bolt-local-")
	// MaxContainerID: it is a part of a key. What runtimes use has at most a few
	// hundred.
	MaxContainerID = 30000
)

// notAName is how an error says that a name is not one that the CNI specification
// allows for a network and a container.
const notAName = "has characters other than letters, digits, '_', '.' and '-', or begins with one of these three"

// network reads the name of the network, which also names a directory. It is
// empty where no network can have it.
func (d *decoder) network(top object) string {
	name := d.text(top, "name")
	err := checkNetwork(name)
	switch {
	case err == nil:
		return name
	case d.frees:
		d.warnings = append(d.warnings, err.Error())
	default:
		d.fail(err)
	}
	return ""
}

// checkNetwork tells why no network has this name.
func checkNetwork(name string) error {
	f := textAt{"name", name}
	switch {
	case name == "":
		return Errorf(CodeConfig, "name is missing")
	case utils.ValidateNetworkName(name) != nil:
		return invalid(f, notAName)
	case len(name) > maxNetworkName:
		return invalid(f, "has %d bytes, more than %d", len(name), maxNetworkName)
	case isOwnFile(name):
		return invalid(f, "is the name of one of bolt-local's own files in the data directory; choose another")
	}
	return nil
}

// isOwnFile tells whether a network's directory in a data directory that
// host-local shares would get in the way of a file of the checkpoint.
func isOwnFile(network string) bool {
	switch network {
	case "checkpoint.db", "lock", "journal", "undo", "suspect", "deferred":
		return true
	}
	return strings.HasPrefix(network, "checkpoint.db.") || strings.HasPrefix(network, "journal.")
}

// CheckAttachment tells why no ADD is answered for a container with this id and an
// interface of this name. What is not UTF-8 would have another name in a record,
// which is JSON, and NUL is what divides a key.
func CheckAttachment(att record.Attachment) error {
	id, ifname := att.ContainerID, att.IfName
	switch {
	case id == "":
		return Errorf(CodeEnvironment, "CNI_CONTAINERID is missing")
	case utils.ValidateContainerID(id) != nil:
		return Errorf(CodeEnvironment, "CNI_CONTAINERID %s %s", quoted(id), notAName)
	case len(id) > MaxContainerID:
		return Errorf(CodeEnvironment, "CNI_CONTAINERID has %d characters, more than %d", len(id), MaxContainerID)
	case ifname == "":
		return Errorf(CodeEnvironment, "CNI_IFNAME is missing")
	case utils.ValidateInterfaceName(ifname) != nil:
		return Errorf(CodeEnvironment, "CNI_IFNAME %s has more than 15 bytes, or a '/', ':' or white space, or is \".\" or \"..\"", quoted(ifname))
	case !utf8.ValidString(ifname) || strings.ContainsRune(ifname, 0):
		return Errorf(CodeEnvironment, "CNI_IFNAME %s is not UTF-8, or has a NUL byte", quoted(ifname))
	}
	return nil
}
