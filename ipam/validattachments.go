package ipam

import (
	"strings"

	"github.com/bolt-local/bolt-local/store/record"
)

// AttachmentsKind tells what a GC call says of the attachments that are valid.
type AttachmentsKind int

const (
	// AttachmentsAbsent: no key at all (`cnitool gc`). Nothing may be freed.
	AttachmentsAbsent AttachmentsKind = iota
	// AttachmentsNull: the key with null. CRI-O sends it for every network that
	// is not its own, so it does not say that none is valid.
	AttachmentsNull
	// AttachmentsListed: a list, also an empty one. What it lacks may be freed.
	AttachmentsListed
)

// ValidAttachments is what a GC call says.
type ValidAttachments struct {
	Kind AttachmentsKind
	List []record.Attachment
	// DisableGC is that of the configuration list, where a runtime or an
	// operator hands it on to the plugin.
	DisableGC bool
}

// The key of the specification, and the one that libcni sends beside it for
// older plugins.
const (
	validAttachments    = "cni.dev/valid-attachments"
	validAttachmentsOld = "cni.dev/attachments"
)

var gcSchema = schema{names: []string{validAttachments, validAttachmentsOld, "disableGC"}}

// ParseValidAttachments reads what a GC call is about. An error is of
// [CodeConfig], or of [CodeDecode] where stdin is no JSON object: GC frees what
// a list lacks, so a list that is only partly understood is none.
func ParseValidAttachments(stdin []byte) (ValidAttachments, error) {
	d := &decoder{}
	top := d.document(stdin, gcSchema)
	valid := ValidAttachments{DisableGC: d.disableGC(top)}
	for _, key := range []string{validAttachments, validAttachmentsOld} {
		value, given := top.fields[key]
		if !given {
			continue
		}
		valid.Kind = AttachmentsNull
		if value != nil {
			valid.Kind = AttachmentsListed
			valid.List = d.attachments(key, value)
		}
		break
	}
	if d.err != nil {
		return ValidAttachments{}, d.err
	}
	return valid, nil
}

// attachments reads the list of valid attachments.
func (d *decoder) attachments(key string, value any) []record.Attachment {
	entries, ok := value.([]any)
	if !ok {
		d.fail(Errorf(CodeConfig, "%s must be a list or null", key))
		return nil
	}
	list := make([]record.Attachment, 0, len(entries))
	for i, entry := range entries {
		path := index(key, i)
		members, ok := entry.(map[string]any)
		if !ok {
			d.fail(Errorf(CodeConfig, "%s must be an object with containerID and ifname", path))
			return nil
		}
		o := d.object(path, members, attachmentSchema)
		list = append(list, record.Attachment{
			ContainerID: d.attachmentField(o, "containerID"),
			IfName:      d.attachmentField(o, "ifname"),
		})
	}
	return list
}

var attachmentSchema = schema{names: []string{"containerID", "ifname"}}

// attachmentField reads a field without which an entry names no attachment.
func (d *decoder) attachmentField(o object, name string) string {
	s, _ := o.fields[name].(string)
	if s == "" {
		d.fail(Errorf(CodeConfig, "%s must be a string that is not empty", o.at(name)))
	}
	return s
}

// disableGC reads the switch in the forms that libcni takes: a boolean, or its
// name as a string.
func (d *decoder) disableGC(top object) bool {
	switch v := top.fields["disableGC"].(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		switch strings.ToLower(v) {
		case "true":
			return true
		case "false":
			return false
		}
	}
	d.fail(Errorf(CodeConfig, "disableGC must be true or false"))
	return false
}
