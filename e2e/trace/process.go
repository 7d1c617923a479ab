package trace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// ErrUnavailable is the cause of an error of Run where nothing can be traced:
// on another architecture, or where ptrace or seccomp are forbidden.
var ErrUnavailable = errors.New("system calls cannot be traced here")

// Process is a process to run.
type Process struct {
	Path  string
	Args  []string // without the name
	Env   []string // nil is none
	Dir   string   // "" is the caller's
	Stdin []byte
}

// Outcome is what a process did.
type Outcome struct {
	// Calls are the system calls that touch files, in the order in which they
	// ended. One that was cut by the end of the process is not among them.
	Calls []Call

	Stdout, Stderr []byte
	ExitCode       int            // -1 if a signal ended it
	Signal         syscall.Signal // that ended it, or 0
	TimedOut       bool           // it was killed, for the context was done
}

// Effect is what becomes of a system call. The zero value lets it through.
type Effect struct {
	// Errno, if not 0, is returned in the call's place, which is not executed.
	Errno syscall.Errno
	// Executed: the call is executed, and Errno returned all the same. So fails a
	// close: the descriptor is gone (close(2)).
	Executed bool
	// Short, if positive, is the number of bytes that a write is given, if it
	// has more.
	Short int
}

// Hook is asked before each system call that touches files, in the order in
// which they begin. The call's result is not known then.
type Hook func(*Call) Effect

// Run runs the process to its end, and asks hook, if it is not nil, about each
// system call. When ctx is done, the process is killed. In all cases it is gone,
// with all that it started, when Run returns.
func Run(ctx context.Context, p Process, hook Hook) (Outcome, error) {
	// The thread that starts the process is its tracer; no other may ask.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	files, err := newStandardFiles(p.Stdin)
	if err != nil {
		return Outcome{}, fmt.Errorf("trace %s: %w", p.Path, err)
	}
	defer files.close()
	t := &tracer{hook: hook, threads: map[int]*thread{}}
	if err := t.run(ctx, p, files.fds()); err != nil {
		return Outcome{}, fmt.Errorf("trace %s: %w", p.Path, err)
	}
	if err := files.read(&t.outcome); err != nil {
		return Outcome{}, fmt.Errorf("trace %s: %w", p.Path, err)
	}
	return t.outcome, nil
}

// standardFiles are stdin, stdout and stderr. They are in memory, so that nobody
// has to read while the process writes.
type standardFiles [3]*os.File

func newStandardFiles(stdin []byte) (standardFiles, error) {
	var files standardFiles
	for i, name := range []string{"stdin", "stdout", "stderr"} {
		fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
		if err != nil {
			files.close()
			return files, fmt.Errorf("memfd_create: %w", err)
		}
		files[i] = os.NewFile(uintptr(fd), name)
	}
	if _, err := files[0].WriteAt(stdin, 0); err != nil {
		files.close()
		return files, err
	}
	return files, nil
}

func (files standardFiles) fds() []uintptr {
	return []uintptr{files[0].Fd(), files[1].Fd(), files[2].Fd()}
}

func (files standardFiles) read(o *Outcome) (err error) {
	for i, to := range []*[]byte{1: &o.Stdout, 2: &o.Stderr} {
		if to == nil {
			continue
		}
		if _, err := files[i].Seek(0, io.SeekStart); err != nil {
			return err
		}
		if *to, err = io.ReadAll(files[i]); err != nil {
			return err
		}
	}
	return nil
}

func (files standardFiles) close() {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}
