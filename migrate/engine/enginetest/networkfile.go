package enginetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/internal/failpoint"
	"github.com/bolt-local/bolt-local/migrate/form"
	"github.com/bolt-local/bolt-local/store/record"
)

// NetworkFile keeps a network in one JSON file, which each commit replaces.
type NetworkFile struct {
	path string
	boot func() string
}

// NewNetworkFile returns the file in dir.
func NewNetworkFile(dir string, boot func() string) *NetworkFile {
	return &NetworkFile{filepath.Join(dir, Network+".json"), boot}
}

// networkDoc is what stands in the file.
type networkDoc struct {
	Boots     []string              `json:"boots"` // the epoch is the index and 1
	Migration []byte                `json:"migration,omitempty"`
	Ranges    []record.RangeSet     `json:"ranges,omitempty"`
	Cursors   map[string]netip.Addr `json:"cursors,omitempty"`
	Records   map[netip.Addr][]byte `json:"records,omitempty"`
}

func (f *NetworkFile) load() (doc networkDoc, raw []byte, err error) {
	raw, err = os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return doc, nil, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &doc)
	}
	return doc, raw, err
}

// Exists implements [Checkpoint].
func (f *NetworkFile) Exists() bool {
	_, err := os.Stat(f.path)
	return err == nil
}

// Update implements [Checkpoint].
func (f *NetworkFile) Update(op Op, fn func(form.New) error) error {
	boot := f.boot()
	doc, was, err := f.load()
	if err != nil || (was == nil && !op.Creates) {
		return err
	}
	if op.Runtime && !slices.Contains(doc.Boots, boot) {
		doc.Boots = append(doc.Boots, boot)
	}
	tx, err := openTx(doc, boot)
	if err != nil {
		return err
	}
	if err := op.Precheck(tx); err != nil {
		return err
	}
	if op.Runtime {
		tx.number()
	}
	fnErr := tx.Try(func() error { return fn(tx) })
	if err := f.commit(doc.Boots, tx, was); err != nil {
		return errors.Join(fnErr, err)
	}
	if fnErr == nil && op.Committed != nil {
		op.Committed()
	}
	return fnErr
}

func (f *NetworkFile) commit(boots []string, tx *networkTx, was []byte) error {
	raw, err := tx.encode(boots)
	if err != nil || bytes.Equal(raw, was) {
		return err
	}
	failpoint.Hit("networkfile.before-commit")
	if err := replaceFile(f.path, raw); err != nil {
		return err
	}
	failpoint.Hit("networkfile.after-commit")
	return nil
}

// replaceFile is not durable: no test cuts the power. It exchanges the files,
// for ext4 writes all data out where a rename replaces one.
func replaceFile(path string, b []byte) error {
	tmp := path + ".tmp"
	if err := os.WriteFile(tmp, b, 0o600); err != nil {
		return err
	}
	err := unix.Renameat2(unix.AT_FDCWD, tmp, unix.AT_FDCWD, path, unix.RENAME_EXCHANGE)
	if errors.Is(err, fs.ErrNotExist) {
		return os.Rename(tmp, path)
	}
	return errors.Join(err, os.Remove(tmp))
}

// Read implements [Checkpoint].
func (f *NetworkFile) Read(fn func(form.New) error) error {
	doc, _, err := f.load()
	if err != nil {
		return err
	}
	tx, err := openTx(doc, f.boot())
	if err != nil {
		return err
	}
	tx.readOnly = true
	return fn(tx)
}

// Verify implements [Checkpoint].
func (f *NetworkFile) Verify() error {
	doc, _, err := f.load()
	if err != nil {
		return err
	}
	tx, err := openTx(doc, f.boot())
	if err != nil {
		return err
	}
	for addr, a := range tx.records {
		seen := map[record.Attachment]bool{}
		for _, h := range a.Holders {
			if seen[h.Attachment] {
				return fmt.Errorf("%s: %s names container %s, ifname %s twice", f.path, addr, h.ContainerID, h.IfName)
			}
			seen[h.Attachment] = true
		}
	}
	return nil
}
