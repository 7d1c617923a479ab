package hostlocal

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/containernetworking/cni/pkg/utils"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/store/record"
)

// lineBreak is what host-local writes between container id and ifname.
const lineBreak = "\r\n"

const (
	// maxContent bounds what is read of a file, in bytes: a file beyond this is
	// none of host-local's.
	maxContent = 64 << 10
	// usualContent is more than files have, in bytes. A buffer for the longest
	// would be on the stack, which costs every call more than the file does.
	usualContent = 1 << 10
)

// errNoHolder is for a file that names nobody, as a host-local that was killed
// leaves it.
var errNoHolder = errors.New("it names no container id")

// content is the bytes of a reservation.
func content(att record.Attachment) []byte {
	if att.IfName == "" {
		return []byte(att.ContainerID)
	}
	return []byte(att.ContainerID + lineBreak + att.IfName)
}

// parseContent reads a reservation as host-local does, and beyond that with a
// bare LF. The ifname is empty in a file of an old version.
func parseContent(b []byte) (record.Attachment, error) {
	if len(b) > maxContent {
		return record.Attachment{}, errNoHolder
	}
	id, ifname, both := strings.Cut(strings.TrimSpace(string(b)), "\n")
	id = strings.TrimSuffix(id, "\r")
	// The checkpoint cannot store a much longer id than an ADD takes, and one file
	// that it cannot store would fail every call.
	if len(id) > ipam.MaxContainerID || utils.ValidateContainerID(id) != nil {
		return record.Attachment{}, errNoHolder
	}
	if both && !validIfName(ifname) {
		return record.Attachment{}, errNoHolder
	}
	return record.Attachment{ContainerID: id, IfName: ifname}, nil
}

// validIfName is CNI's rule, less what cannot be stored: a file torn by a power
// cut may end in NULs.
func validIfName(name string) bool {
	return utils.ValidateInterfaceName(name) == nil && utf8.ValidString(name) && !strings.Contains(name, "\x00")
}
