package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/store/record"
)

// readAttachments reads the list of valid attachments from a file, or from
// stdin for "-": a JSON array, or an object that has it under the key of the
// CNI specification. Everything else is an error, null too: gc frees what the
// list lacks.
func readAttachments(file string, stdin io.Reader) ([]record.Attachment, error) {
	read := func() ([]byte, error) { return os.ReadFile(file) }
	if file == "-" {
		file, read = "stdin", func() ([]byte, error) { return io.ReadAll(stdin) }
	}
	text, err := read()
	if err != nil {
		return nil, fmt.Errorf("reading the valid attachments: %w", err)
	}
	list, err := parseAttachments(bytes.TrimSpace(text))
	if err != nil {
		return nil, fmt.Errorf("valid attachments in %s: %w; nothing was freed", file, err)
	}
	return list, nil
}

var errNoList = errors.New(`it must be a JSON array of {"containerID":…,"ifname":…}, or an object with one under cni.dev/valid-attachments`)

func parseAttachments(text []byte) ([]record.Attachment, error) {
	if !json.Valid(text) || text[0] != '[' && text[0] != '{' {
		return nil, errNoList
	}
	if text[0] == '[' {
		text = append(append([]byte(`{"cni.dev/valid-attachments":`), text...), '}')
	}
	valid, err := ipam.ParseValidAttachments(text)
	switch {
	case err != nil:
		return nil, err
	case valid.Kind != ipam.AttachmentsListed:
		return nil, errNoList
	case valid.DisableGC:
		return nil, errors.New("disableGC is set")
	}
	return valid.List, nil
}
