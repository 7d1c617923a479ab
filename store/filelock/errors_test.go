package filelock

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAFileSystemWithoutLocksIsTold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	for _, errno := range []unix.Errno{unix.ENOLCK, unix.EOPNOTSUPP, unix.EINVAL, unix.ENOSYS, unix.EBADF} {
		for setting, cure := range map[string]string{"ipam.dataDir": "put ipam.dataDir on a local disk", "": "put its directory on a local disk"} {
			err := explain(path, setting, errno)
			for _, want := range []string{path, errno.Error(), "does not support locks, or has none left", cure} {
				if !errors.Is(err, errno) || !strings.Contains(err.Error(), want) {
					t.Errorf("%s: the text lacks %q: %v", unix.ErrnoName(errno), want, err)
				}
			}
		}
	}
}

func TestOtherErrorsDoNotBlameTheFileSystem(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	for name, cause := range map[string]error{
		"of a lock":                     unix.EIO,
		"of an open":                    &os.PathError{Op: "open", Path: path, Err: unix.EINVAL},
		"of an open that is permission": &os.PathError{Op: "open", Path: path, Err: unix.EACCES},
	} {
		t.Run(name, func(t *testing.T) {
			if err := NoLocks(path, "ipam.dataDir", cause); err != nil {
				t.Errorf("err = %v", err)
			}
			err := explain(path, "ipam.dataDir", cause)
			if !errors.Is(err, cause) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "does not support") {
				t.Errorf("err = %v", err)
			}
		})
	}
}

// procfs stands in for a file system of which a name is known.
func TestAFileSystemIsNamedWhereItIsKnownForItsLocks(t *testing.T) {
	const proc = unix.PROC_SUPER_MAGIC
	if got := fileSystem("/proc/self/status"); got != "its file system" {
		t.Errorf("of /proc: %q", got)
	}
	remote[proc] = "NFS"
	defer delete(remote, proc)
	if got := fileSystem("/proc/self/status"); got != "its file system, NFS," {
		t.Errorf("of /proc: %q", got)
	}
	if got := fileSystem(filepath.Join(t.TempDir(), "gone")); got != "its file system" {
		t.Errorf("of a file that is not there: %q", got)
	}
}
