package store

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/internal/cmdline"
)

// ours are the names in the data directory that calls go by. What is made under
// another name is made new, and comes to one of these by rename.
var ours = []string{CheckpointFile, LockFile, JournalFile, UndoFile, DeferredDir, suspectFile}

// notOursError: the data directory, or a file in it, is not this process's to
// write.
type notOursError struct{ text string }

func (e *notOursError) Error() string { return e.text }

// Is makes it an error of permission: a call that has nothing to write goes on.
func (e *notOursError) Is(target error) bool { return target == unix.EPERM }

// claim is asked before a call writes its first byte. It refuses what owned
// refuses, and shuts what is open to others.
func (s *Store) claim() error {
	paths := s.paths()
	found, err := owned(paths...)
	if err != nil {
		return err
	}
	for _, path := range paths { // the directory first: its mode may hide the rest
		if info := found[path]; info != nil {
			s.shut(path, info)
		}
	}
	s.warnOfParents()
	return nil
}

// paths are the data directory and what may be in it.
func (s *Store) paths() []string {
	paths := []string{s.dir}
	for _, name := range ours {
		paths = append(paths, s.file(name))
	}
	return paths
}

// owned refuses a path that is a symbolic link or belongs to another user, and
// returns what it found. A second hard link is no reason: a checkpoint that is
// replaced has one for a moment. What is missing, or of the wrong kind, is for
// whoever opens it to tell.
func owned(paths ...string) (map[string]fs.FileInfo, error) {
	found := make(map[string]fs.FileInfo, len(paths))
	self := os.Geteuid()
	for _, path := range paths {
		info, err := os.Lstat(path)
		if err != nil {
			continue
		}
		owner := int(info.Sys().(*syscall.Stat_t).Uid)
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			return nil, &notOursError{fmt.Sprintf("%s is a symbolic link of uid %d, which is not followed: put what it leads to in its place, or set ipam.dataDir to a directory without links", path, owner)}
		case owner != self:
			return nil, anothers(path, owner, self)
		}
		found[path] = info
	}
	return found, nil
}

// anothers says what to do about a file of another user.
func anothers(path string, owner, self int) error {
	cure := "run it as root" // what root has made is no accident
	if owner != 0 {
		cure = fmt.Sprintf("run it as uid %d, or `chown %d %s` once you know who made it", owner, self, cmdline.Word(path))
	}
	return &notOursError{fmt.Sprintf("%s belongs to uid %d, and bolt-local runs as uid %d: %s", path, owner, self, cure)}
}

// shut takes from others what a mode gives them, and gives the owner back what a
// umask of 0777 took from a file whose maker was killed.
func (s *Store) shut(path string, info fs.FileInfo) {
	want := fs.FileMode(0o600)
	if info.IsDir() {
		want = 0o700
	} else if !info.Mode().IsRegular() {
		return
	}
	had := info.Mode().Perm()
	if had&0o077 == 0 && had != 0 {
		return
	}
	if path == s.dir {
		if other := stranger(path); other != "" {
			s.opts.Warn(fmt.Sprintf("%s has mode %04o and keeps it, as others may need %s in it: give bolt-local a directory of its own (ipam.dataDir)", path, had, other))
			return
		}
	}
	if err := setMode(path, want); err != nil {
		return // it has just gone
	}
	if now, err := os.Lstat(path); err == nil && now.Mode().Perm() == want {
		s.opts.Warn(fmt.Sprintf("%s had mode %04o and has %04o now: it is bolt-local's alone", path, had, want))
	}
}

// stranger returns the name of something in the data directory that others may
// need, "" where there is none: whoever named /var/lib or /run must not find it
// shut to everybody else. With ipam.dataDir host-local has its networks there,
// which are directories with a lock file, and a file may be a tombstone.
func stranger(dir string) string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return ""
	}
	for _, e := range entries {
		if e.Type().IsRegular() || e.IsDir() && (e.Name() == DeferredDir || isNetwork(filepath.Join(dir, e.Name()))) {
			continue
		}
		return e.Name()
	}
	return ""
}

// isNetwork tells whether a directory may be one of host-local's.
func isNetwork(dir string) bool {
	if info, err := os.Lstat(filepath.Join(dir, "lock")); err == nil {
		return info.Mode().IsRegular()
	}
	entries, err := os.ReadDir(dir)
	return err == nil && len(entries) == 0
}

// warnOfParents names a directory above in which anybody may put another data
// directory in the place of this one.
func (s *Store) warnOfParents() {
	for dir := filepath.Dir(s.dir); ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err == nil && info.Mode().Perm()&0o002 != 0 && info.Mode()&fs.ModeSticky == 0 {
			s.opts.Warn(fmt.Sprintf("everybody may write to %s, and so put another directory in the place of %s: `chmod o-w %s`", dir, s.dir, cmdline.Word(dir)))
			return
		}
		if dir == filepath.Dir(dir) {
			return
		}
	}
}
