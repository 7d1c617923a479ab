package trace

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// childVariable is an environment variable: what this test binary does in the
// place of the tests.
const childVariable = "TRACE_TEST_CHILD"

func TestMain(m *testing.M) {
	if name := os.Getenv(childVariable); name != "" {
		if err := children[name](os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// children work in a directory.
var children = map[string]func(dir string) error{
	"steps":   steps,
	"threads": writeOnThreads,
	"write":   func(dir string) error { return os.WriteFile(filepath.Join(dir, "file"), []byte("0123456789"), 0o600) },
	"echo":    echo,
	"starts":  startAnother,
	"hangs":   func(string) error { return unix.Pause() },
	"dies":    func(string) error { return unix.Kill(os.Getpid(), unix.SIGKILL) },
	"locks":   lock,
}

// steps are calls of every kind.
func steps(dir string) error {
	name := func(n string) string { return filepath.Join(dir, n) }
	f, err := os.OpenFile(name("log"), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o640)
	if err != nil {
		return err
	}
	_, err1 := f.WriteString("one\n")
	_, err2 := f.WriteString("two\n")
	_, err3 := unix.Pwritev(int(f.Fd()), [][]byte{[]byte("th"), []byte("ree")}, 100)
	err = errors.Join(err1, err2, err3, unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, 4096),
		unix.Fdatasync(int(f.Fd())), f.Truncate(7), f.Chmod(0o600), f.Close())
	if err != nil {
		return err
	}

	temporary, err := unix.Open(dir, unix.O_TMPFILE|unix.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err1 = unix.Pwrite(temporary, []byte("whole"), 3)
	err2 = unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", temporary), unix.AT_FDCWD, name("linked"), unix.AT_SYMLINK_FOLLOW)
	if err := errors.Join(err1, err2, unix.Close(temporary)); err != nil {
		return err
	}

	here, err := unix.Open(dir, unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	return errors.Join(
		unix.Mkdirat(here, "sub", 0o700),
		unix.Renameat2(here, "linked", here, "sub", unix.RENAME_EXCHANGE),
		os.Rename(name("sub"), name("renamed")),
		unix.Unlinkat(here, "renamed", 0),
		unix.Fsync(here),
		unix.Rmdir(name("linked")),
	)
}

// writeOnThreads writes a file on each of several threads.
func writeOnThreads(dir string) error {
	var started, done sync.WaitGroup
	errs := make([]error, threadCount)
	started.Add(threadCount)
	for i := range threadCount {
		done.Go(func() {
			runtime.LockOSThread()
			started.Done()
			started.Wait() // for as many threads
			errs[i] = os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), fmt.Append(nil, i), 0o600)
		})
	}
	done.Wait()
	return errors.Join(errs...)
}

const threadCount = 8

// startAnother lets another process write.
func startAnother(dir string) error {
	cmd := exec.Command("/proc/self/exe", dir)
	cmd.Env = []string{childVariable + "=write", noSleep}
	return cmd.Run()
}

// echo answers on stdout and stderr.
func echo(string) error {
	data, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	fmt.Printf("out %s", data)
	return fmt.Errorf("err %s", data)
}

// lock waits for a lock that another holds, while signals interrupt it.
func lock(dir string) error {
	f, err := os.Create(filepath.Join(dir, "lock"))
	if err != nil {
		return err
	}
	g, err := os.Open(f.Name())
	if err != nil {
		return err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		return err
	}
	waiting := make(chan int)
	got := make(chan error)
	go func() {
		runtime.LockOSThread()
		waiting <- unix.Gettid()
		got <- unix.Flock(int(g.Fd()), unix.LOCK_EX)
	}()
	id := <-waiting
	for range 20 {
		// Go's own handler of this signal restarts what it interrupts.
		if err := unix.Tgkill(os.Getpid(), id, unix.SIGURG); err != nil {
			return err
		}
		runtime.Gosched()
	}
	if err := f.Close(); err != nil {
		return err
	}
	return <-got
}
