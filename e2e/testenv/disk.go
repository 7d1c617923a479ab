package testenv

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// Disk is a small file system that a test fills up.
type Disk struct {
	Dir    string // of the test's files
	filler *os.File
}

// NewDisk is a disk of so many bytes. It is for tests in a mount namespace of
// their own (see InOwnMounts).
func NewDisk(t *testing.T, size int64) *Disk {
	t.Helper()
	dir := Tmpfs(t, size)
	filler, err := os.OpenFile(filepath.Join(dir, "filler"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = filler.Close() })
	files := filepath.Join(dir, "files")
	if err := os.Mkdir(files, 0o755); err != nil {
		t.Fatal(err)
	}
	return &Disk{Dir: files, filler: filler}
}

// Fill takes all space but so many pages.
func (d *Disk) Fill(t *testing.T, leave int64) {
	t.Helper()
	page := make([]byte, os.Getpagesize())
	for {
		if _, err := d.filler.Write(page); errors.Is(err, unix.ENOSPC) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	info, err := d.filler.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.filler.Truncate(max(info.Size()-leave*int64(len(page)), 0)); err != nil {
		t.Fatal(err)
	}
}

// Empty gives back all that Fill took.
func (d *Disk) Empty(t *testing.T) {
	t.Helper()
	if err := d.filler.Truncate(0); err != nil {
		t.Fatal(err)
	}
}
