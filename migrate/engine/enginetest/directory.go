package enginetest

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/migrate/form"
	"github.com/bolt-local/bolt-local/migrate/hostlocal"
	"github.com/bolt-local/bolt-local/store/record"
)

// Directory is host-local's directory of the network, and host-local's steps on
// it in their order, as v1.10.0 takes them.
type Directory struct{ path string }

// NewDirectory returns the directory, whose parent lies in dir.
func NewDirectory(dir string) *Directory {
	return &Directory{filepath.Join(dir, "networks", Network)}
}

// Path implements [Older].
func (d *Directory) Path() string { return d.path }

// Open implements [Older].
func (d *Directory) Open(path string) form.Old { return hostlocal.At(path) }

func (d *Directory) file(name string) string { return filepath.Join(d.path, name) }

// locked calls fn in the directory, which is made where it is missing.
func (d *Directory) locked(fn func() error) error {
	err := os.MkdirAll(d.path, 0o755)
	if errors.Is(err, unix.ENOTDIR) {
		return fmt.Errorf("%w: %w", ErrShut, err)
	}
	if err != nil {
		return err
	}
	lock, err := os.OpenFile(d.file("lock"), os.O_CREATE|os.O_RDONLY, 0o750)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return err
	}
	return fn()
}

// Add implements [Older].
func (d *Directory) Add(att record.Attachment, addr netip.Addr) error {
	return d.locked(func() error { return d.Seize(att, addr) })
}

// Seize implements [Older].
func (d *Directory) Seize(att record.Attachment, addr netip.Addr) error {
	f, err := os.OpenFile(d.file(addr.String()), os.O_RDWR|os.O_EXCL|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(content(att))
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.WriteFile(d.file("last_reserved_ip.0"), []byte(addr.String()), 0o600)
}

func content(att record.Attachment) string {
	if att.IfName == "" {
		return att.ContainerID // as versions before 0.7 did
	}
	return att.ContainerID + "\r\n" + att.IfName
}

// Del implements [Older].
func (d *Directory) Del(att record.Attachment) (found bool, err error) {
	err = d.locked(func() error {
		for _, match := range []string{content(att), att.ContainerID} {
			files, err := os.ReadDir(d.path)
			if err != nil || found {
				return err
			}
			for _, f := range files {
				b, err := os.ReadFile(d.file(f.Name()))
				if err != nil || strings.TrimSpace(string(b)) != match {
					continue
				}
				if err := os.Remove(d.file(f.Name())); err != nil {
					return err
				}
				found = true
			}
		}
		return nil
	})
	return found, err
}

// Remove implements [Older].
func (d *Directory) Remove(addr netip.Addr) error { return os.RemoveAll(d.file(addr.String())) }

// Renew implements [Older].
func (d *Directory) Renew(addr netip.Addr) error {
	path := d.file(addr.String())
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return d.aTickLater(path, func() error {
		return errors.Join(os.Remove(path), os.WriteFile(path, b, 0o600))
	})
}

// Block implements [Older] with the file that a killed host-local leaves, or a
// directory.
func (d *Directory) Block(addr netip.Addr, fixed bool) error {
	path := d.file(addr.String())
	if err := errors.Join(os.MkdirAll(d.path, 0o755), os.RemoveAll(path)); err != nil {
		return err
	}
	if fixed {
		return os.MkdirAll(filepath.Join(path, "something"), 0o755)
	}
	return os.WriteFile(path, nil, 0o600)
}

// Unshut implements [Older].
func (d *Directory) Unshut() error { return os.Remove(d.path) }

// Wipes implements [Older].
func (d *Directory) Wipes() []Wipe {
	remove := func(path string) func() error {
		return func() error {
			return d.aTickLater(d.path, func() error { return os.RemoveAll(path) })
		}
	}
	return []Wipe{
		{"the directory", remove(d.path)},
		{"its parent", remove(filepath.Dir(d.path))},
		{"all files with the lock", func() error {
			files, err := os.ReadDir(d.path)
			if err != nil {
				return err
			}
			return d.aTickLater(d.path, func() error {
				for _, f := range files {
					err = errors.Join(err, os.RemoveAll(d.file(f.Name())))
				}
				return err
			})
		}},
		{"replaced by an empty directory", func() error {
			return d.aTickLater(d.path, func() error {
				return errors.Join(os.RemoveAll(d.path), os.MkdirAll(d.path, 0o755))
			})
		}},
	}
}

// aTickLater calls fn once a file that is made gets another change time than
// all that path has: those that the kernel gives move in ticks of some
// milliseconds, which no runtime is fast enough to see, and a test is.
func (d *Directory) aTickLater(path string, fn func() error) error {
	newest, err := lastChange(path)
	if err != nil {
		return err
	}
	probe := filepath.Join(filepath.Dir(filepath.Dir(d.path)), "probe")
	defer os.Remove(probe)
	for {
		if err := errors.Join(os.WriteFile(probe, nil, 0o600), os.Chmod(probe, 0o600)); err != nil {
			return err
		}
		now, err := lastChange(probe)
		if err != nil {
			return err
		}
		if now > newest {
			return fn()
		}
	}
}

// lastChange returns the newest change time under path, in ns since the epoch,
// 0 where nothing is.
func lastChange(path string) (newest int64, err error) {
	err = filepath.WalkDir(path, func(p string, _ fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(p, &st); err != nil {
			return err
		}
		newest = max(newest, st.Ctim.Nano())
		return nil
	})
	return newest, err
}
