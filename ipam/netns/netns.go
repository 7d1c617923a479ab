// Package netns tells network namespaces apart, and whether a recorded one
// still lives. An answer that cannot be had for certain is never "dead": on it
// a pod's address would be given away.
package netns

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/store/record"
)

// System asks the kernel. It remembers the scan of /proc, so it is for one
// call of the plugin. The zero value works. Identify remembers nothing and may be
// called concurrently.
type System struct {
	mount   mountNS
	scanned bool
	scanErr error
	inUse   map[uint64]bool // inodes of the namespaces that processes are in
}

// Identify returns what to record of the namespace at path. The inode is 0
// where path leads to no namespace.
func (s *System) Identify(path string) record.NetNS {
	ns := record.NetNS{Path: path}
	if path == "" {
		return ns
	}
	ns.Inode, _ = namespaceInode(path)
	ns.MountNS, _ = namespaceInode("/proc/self/ns/mnt")
	return ns
}

// IsOwn tells whether ns is the namespace that this process is in.
func (s *System) IsOwn(ns record.NetNS) bool {
	own, err := namespaceInode("/proc/self/ns/net")
	return err == nil && ns.Inode == own
}

// Alive tells whether the path still leads to the recorded namespace.
func (s *System) Alive(ns record.NetNS) bool {
	if ns.Inode == 0 || ns.Path == "" {
		return false
	}
	inode, err := namespaceInode(ns.Path)
	return err == nil && inode == ns.Inode
}

// Dead tells whether the recorded namespace is certainly gone: it was recorded
// in this mount namespace, neither its path nor any process leads to it, and
// every process could be asked.
func (s *System) Dead(ns record.NetNS) bool {
	if ns.Inode == 0 || ns.Path == "" || ns.MountNS == 0 {
		return false
	}
	if s.Elsewhere(ns) {
		return false
	}
	inode, err := namespaceInode(ns.Path)
	switch {
	case err == nil && inode == ns.Inode:
		return false
	case err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ENOTDIR) && !errors.Is(err, errNoNamespace):
		return false
	}
	if !s.scanned {
		s.scanned = true
		s.inUse, s.scanErr = scanProcesses("/proc")
	}
	return s.scanErr == nil && !s.inUse[ns.Inode]
}

// Elsewhere tells whether the recorded path has its meaning in another mount
// namespace than this one, or in one that cannot be told.
func (s *System) Elsewhere(ns record.NetNS) bool {
	mnt, err := s.mount.get()
	return err != nil || mnt != ns.MountNS
}

// mountNS is the mount namespace of this process, which stays in it: it is looked up
// once, not for each record.
type mountNS struct {
	known bool
	inode uint64
	err   error
}

func (m *mountNS) get() (uint64, error) {
	if !m.known {
		m.known = true
		m.inode, m.err = namespaceInode("/proc/self/ns/mnt")
	}
	return m.inode, m.err
}

// Unsure is why Dead could not tell for some, nil if there was no such.
func (s *System) Unsure() error {
	if s.scanErr == nil {
		return nil
	}
	return fmt.Errorf("no network namespace counts as gone, since not every process can be asked: %w", s.scanErr)
}

var errNoNamespace = errors.New("not a namespace")

// nsfsMagic is the type of the file system of namespaces (statfs(2)).
const nsfsMagic = 0x6e736673

// namespaceInode returns the inode of the namespace that path leads to. A
// plain file, as a bind mount leaves behind, is errNoNamespace.
func namespaceInode(path string) (uint64, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return 0, err
	}
	var sfs unix.Statfs_t
	if err := unix.Statfs(path, &sfs); err != nil {
		return 0, err
	}
	if int64(sfs.Type) != nsfsMagic {
		return 0, errNoNamespace
	}
	return st.Ino, nil
}

// scanProcesses lists the network namespaces that processes are in. A process
// that vanished, or is a zombie, has none; any other that cannot be read is an
// error.
func scanProcesses(proc string) (map[uint64]bool, error) {
	dir, err := os.Open(proc)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	inUse := map[uint64]bool{}
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' {
			continue
		}
		link, err := os.Readlink(proc + "/" + name + "/ns/net")
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
			continue
		}
		if err != nil {
			return nil, err
		}
		inode, err := parseLink(link)
		if err != nil {
			return nil, err
		}
		inUse[inode] = true
	}
	if len(inUse) == 0 {
		return nil, fmt.Errorf("%s lists no process", proc)
	}
	return inUse, nil
}

// parseLink reads "net:[4026531840]".
func parseLink(link string) (uint64, error) {
	digits := strings.TrimSuffix(strings.TrimPrefix(link, "net:["), "]")
	inode, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the namespace link %q: %w", link, err)
	}
	return inode, nil
}
