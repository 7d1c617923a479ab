package store

import (
	"errors"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/bolt-local/bolt-local/store/filelock/locktest"
)

func TestAHeldLockEndsTheCallWithinItsBound(t *testing.T) {
	n := newNodeWith(t, 1)
	n.opts.LockTimeout = 50 * time.Millisecond
	other := flock.New(n.file(LockFile))
	if err := other.Lock(); err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func() error{
		"ADD":  func() error { return n.Update(opAdd, func(*Tx) error { return nil }) },
		"read": func() error { return n.Read(func(*Tx) error { return nil }) },
	} {
		err := call()
		if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), n.file(LockFile)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := other.Unlock(); err != nil {
		t.Fatal(err)
	}
	n.opts.LockTimeout = 5 * time.Second
	n.add("10.0.0.2", "a") // whoever gave up has not kept the lock
}

// holdFile locks a file as another program would.
func holdFile(t *testing.T, path string) (unlock func()) {
	t.Helper()
	other := flock.New(path)
	if err := other.Lock(); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := other.Unlock(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestEitherLockThatIsHeldIsGivenUpAndNamed(t *testing.T) {
	for name, c := range map[string]struct {
		held []string
		want string // the one that is waited for
	}{
		"ours":              {[]string{LockFile}, LockFile},
		"bbolt's":           {[]string{CheckpointFile}, CheckpointFile},
		"both of them":      {[]string{CheckpointFile, LockFile}, LockFile},
		"bbolt's, shared":   {nil, CheckpointFile}, // writers alone wait for it
		"nothing but files": {[]string{JournalFile}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNodeWith(t, 1)
			n.opts.LockTimeout = 50 * time.Millisecond
			for _, file := range c.held {
				defer holdFile(t, n.file(file))()
			}
			if c.held == nil {
				reader := flock.New(n.Path())
				if err := reader.RLock(); err != nil {
					t.Fatal(err)
				}
				defer reader.Unlock()
			}
			before := n.digest()
			for verb, call := range map[string]func() error{
				"ADD": func() error {
					return n.update(opAdd, func(net *Network) error { return net.SetMigration([]byte(`{}`)) })
				},
				"DEL": func() error {
					return n.update(opDel, func(net *Network) error { return net.SetMigration([]byte(`[]`)) })
				},
				"read": func() error { return n.Read(func(*Tx) error { return nil }) },
			} {
				err := call()
				if c.want == "" || c.held == nil && verb == "read" {
					if err != nil {
						t.Errorf("%s: %v", verb, err)
					}
					continue
				}
				if path := n.file(c.want); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), "`fuser "+path+"`") {
					t.Errorf("%s: err = %v, want one that names %s", verb, err, path)
				}
			}
			if c.want != "" && n.digest() != before {
				t.Error("the checkpoint has changed")
			}
		})
	}
}

func TestWhatIsNoLockFileEndsTheCall(t *testing.T) {
	for name, put := range map[string]func(path string) error{
		"a pipe":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"a socket":    func(path string) error { return syscall.Mknod(path, syscall.S_IFSOCK|0o600, 0) },
		"a device":    func(path string) error { return syscall.Mknod(path, syscall.S_IFCHR|0o600, 1<<8|3) }, // null
		"a link":      func(path string) error { return os.Symlink("elsewhere", path) },
	} {
		t.Run(name, func(t *testing.T) {
			n := newNodeWith(t, 1)
			path := n.file(LockFile)
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if err := put(path); errors.Is(err, syscall.EPERM) {
				t.Skip("making a device takes root")
			} else if err != nil {
				t.Fatal(err)
			}
			for verb, call := range map[string]func() error{
				"ADD":  func() error { return n.update(opAdd, func(*Network) error { return nil }) },
				"DEL":  func() error { return n.update(opDel, func(*Network) error { return nil }) },
				"read": func() error { return n.Read(func(*Tx) error { return nil }) },
			} {
				if err := call(); err == nil || errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), path+" is ") {
					t.Errorf("%s: err = %v", verb, err)
				}
			}
		})
	}
}

func TestADirectoryThatIsRemovedUnderAWaiterIsANewNode(t *testing.T) {
	for name, c := range map[string]struct {
		op   Op
		fn   func(*Network) error
		held int
	}{
		"ADD": {opAdd, func(net *Network) error { return net.Put(allocation(net.Epoch(), "10.0.0.2", "a")) }, 1},
		"DEL": {opDel, func(net *Network) error { return net.Delete(ip("10.0.0.2")) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNodeWith(t, 3)
			n.opts.LockTimeout = time.Minute
			done := make(chan error, 1)
			unlock := locktest.HoldUntilWaiting(t, n.file(LockFile), func() { go func() { done <- n.update(c.op, c.fn) }() }, done)
			if err := os.RemoveAll(n.dir); err != nil {
				t.Fatal(err)
			}
			unlock()
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			if got := n.held(); len(got) != c.held {
				t.Errorf("held = %v", got)
			}
			if _, err := os.Stat(n.dir); (err == nil) != (c.held > 0) {
				t.Errorf("the directory: %v", err)
			}
		})
	}
}

func TestParallelWritersLoseNothing(t *testing.T) {
	n := newNode(t)
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() { n.add(addrAt(i), "c") })
	}
	wg.Wait()
	if got := len(n.held()); got != 40 {
		t.Errorf("%d are held, want 40", got)
	}
	n.journalIsComplete()
}

func TestWitness(t *testing.T) {
	for _, w := range []witness{
		{BootID: "3ee21a1c-4a4a-4d7e-9c7e-1b1a4c1c2d3e", Checkpoint: "00112233445566778899aabbccddeeff", Tx: 12345678901234},
		{Checkpoint: "x", Tx: 0},
	} {
		b := w.encode()
		got, ok := parseWitness(b)
		if !ok || got != w {
			t.Errorf("%+v reads back as %+v, %v", w, got, ok)
		}
		for i := range b {
			bad := append([]byte(nil), b...)
			bad[i] ^= 1
			if got, ok := parseWitness(bad); ok {
				t.Errorf("byte %d changed: read as %+v", i, got)
			}
			if _, ok := parseWitness(b[:i]); ok {
				t.Errorf("cut to %d bytes: read", i)
			}
		}
	}
}

// Somebody has made the checkpoint, and the lock, since the lock was looked for.
func TestWhatIsReadWithoutTheLockCountsForNothingOnceThereIsOne(t *testing.T) {
	n := newNode(t)
	n.add("10.0.0.2", "a")
	called := 0
	count := func(*Tx) error { called++; return nil }
	for name, damage := range map[string]func(){"sound": func() {}, "half written": func() { n.zero(0) }} {
		damage()
		if done, _ := n.viewUnlocked(viewing{}, count); done || called > 0 {
			t.Errorf("%s: done %v, called %d times", name, done, called)
		}
	}
	if err := os.Remove(n.file(LockFile)); err != nil {
		t.Fatal(err)
	}
	if done, _ := n.viewUnlocked(viewing{}, count); !done {
		t.Error("nobody writes, and it does not count")
	}
}
