package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// pageSize is that of the checkpoint, in bytes.
const pageSize = 4096

// fileSystems names the magic numbers of statfs(2), from linux/magic.h, of the
// file systems that a data directory is likely to be on.
var fileSystems = map[int64]string{
	0xEF53:     "ext4",
	0x58465342: "xfs",
	0x9123683E: "btrfs",
	0x01021994: "tmpfs",
	0x794C7630: "overlayfs",
}

// place is a directory to measure in, with a file for the floor to write to.
type place struct {
	title  string
	parent string
	dir    string // made in parent, removed by close
}

// newPlace makes a directory of its own in parent.
func newPlace(title, parent string) (*place, error) {
	dir, err := os.MkdirTemp(parent, "bolt-local-bench-")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", title, err)
	}
	p := &place{title: title, parent: parent, dir: dir}
	if err := p.writeFloorFile(); err != nil {
		p.close()
		return nil, fmt.Errorf("%s: %w", title, err)
	}
	return p, nil
}

func (p *place) close() error { return os.RemoveAll(p.dir) }

// floorFile is two pages that are on the disk already, like those of a
// checkpoint that a commit writes.
func (p *place) floorFile() string { return filepath.Join(p.dir, "floor") }

func (p *place) writeFloorFile() error {
	f, err := os.Create(p.floorFile())
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write(make([]byte, 2*pageSize)); err != nil {
		return err
	}
	return f.Sync()
}

// fileSystem names what the directory is on.
func (p *place) fileSystem() (string, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(p.dir, &st); err != nil {
		return "", fmt.Errorf("statfs %s: %w", p.dir, err)
	}
	if name, ok := fileSystems[int64(st.Type)]; ok {
		return name, nil
	}
	return fmt.Sprintf("file system 0x%x", st.Type), nil
}

// fdatasync returns how long each of n small writes took until it was on the
// disk, in ms.
func (p *place) fdatasync(n int) ([]float64, error) {
	f, err := os.OpenFile(p.floorFile(), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	page := make([]byte, pageSize)
	times := make([]float64, n)
	for i := range times {
		begin := time.Now()
		if _, err := f.WriteAt(page, 0); err != nil {
			return nil, err
		}
		if err := syscall.Fdatasync(int(f.Fd())); err != nil {
			return nil, fmt.Errorf("fdatasync %s: %w", f.Name(), err)
		}
		times[i] = milliseconds(time.Since(begin))
	}
	return times, nil
}
