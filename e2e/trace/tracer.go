package trace

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// tracer is used on one thread alone.
type tracer struct {
	hook    Hook
	pid     int
	threads map[int]*thread // by thread id
	gone    bool            // nothing is left to wait for
	outcome Outcome
}

// thread is a thread that is followed, of the process or of one it started.
type thread struct {
	id   int
	call *call // that it is in, or nil
}

const ptraceOptions = unix.PTRACE_O_EXITKILL | unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACESECCOMP |
	unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEFORK | unix.PTRACE_O_TRACEVFORK | unix.PTRACE_O_TRACEEXEC

// syscallStop is the signal of a stop at the end of a system call
// (PTRACE_O_TRACESYSGOOD).
const syscallStop = unix.SIGTRAP | 0x80

func (t *tracer) run(ctx context.Context, p Process, files []uintptr) error {
	if err := available(); err != nil {
		return err
	}
	var err error
	t.pid, err = syscall.ForkExec(p.Path, append([]string{p.Path}, p.Args...), &syscall.ProcAttr{
		Dir:   p.Dir,
		Env:   p.Env,
		Files: files,
		// A group of its own is what can be waited for, among all processes
		// that this one has started.
		Sys: &syscall.SysProcAttr{Ptrace: true, Setpgid: true},
	})
	if errors.Is(err, unix.EPERM) {
		return fmt.Errorf("%w: starting it: %w", ErrUnavailable, err)
	}
	if err != nil {
		return fmt.Errorf("starting it: %w", err)
	}
	defer t.reap()

	stop, err := t.killAtEndOf(ctx)
	if err != nil {
		return err
	}
	defer stop()
	if err := t.attach(); err != nil {
		return err
	}
	if err := t.follow(); err != nil {
		return err
	}
	t.outcome.TimedOut = !stop()
	return nil
}

// killAtEndOf kills the process when the context is done. The returned function
// ends that, and reports whether the context was not yet done.
func (t *tracer) killAtEndOf(ctx context.Context) (stop func() bool, err error) {
	// Unlike its id, this never means another process.
	fd, err := unix.PidfdOpen(t.pid, 0)
	if err != nil {
		return nil, fmt.Errorf("pidfd_open: %w", err)
	}
	killed := make(chan struct{})
	cancel := context.AfterFunc(ctx, func() {
		defer close(killed)
		_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	})
	return sync.OnceValue(func() bool {
		inTime := cancel()
		if !inTime {
			<-killed
		}
		_ = unix.Close(fd)
		return inTime
	}), nil
}

// attach waits for the process's first stop, after its exec, and has it stop at
// system calls of files.
func (t *tracer) attach() error {
	var status unix.WaitStatus
	if _, err := unix.Wait4(t.pid, &status, unix.WALL, nil); err != nil {
		return fmt.Errorf("waiting for its exec: %w", err)
	}
	if !status.Stopped() {
		return fmt.Errorf("it ended at its start, status %#x", status)
	}
	if err := unix.PtraceSetOptions(t.pid, ptraceOptions); err != nil {
		return fmt.Errorf("%w: ptrace options: %w", ErrUnavailable, err)
	}
	if err := installFilter(t.pid); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	t.threads[t.pid] = &thread{id: t.pid}
	return unix.PtraceCont(t.pid, 0)
}

// follow lets the process run until it and all that it started are gone.
func (t *tracer) follow() error {
	for {
		var status unix.WaitStatus
		id, err := unix.Wait4(-t.pid, &status, unix.WALL, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ECHILD):
			t.gone = true
			return nil
		case err != nil:
			return fmt.Errorf("waiting for it: %w", err)
		}
		if !status.Stopped() {
			t.ended(id, status)
			continue
		}
		// A thread that is killed while it is stopped cannot be asked any more.
		if err := t.stopped(id, status); err != nil && !errors.Is(err, unix.ESRCH) {
			return err
		}
	}
}

func (t *tracer) ended(id int, status unix.WaitStatus) {
	delete(t.threads, id)
	if id != t.pid {
		return
	}
	t.outcome.ExitCode = status.ExitStatus()
	if status.Signaled() {
		t.outcome.Signal = status.Signal()
	}
}

// stopped deals with one stop of one thread, and lets it go on.
func (t *tracer) stopped(id int, status unix.WaitStatus) error {
	th, known := t.threads[id]
	if !known {
		th = &thread{id: id}
		t.threads[id] = th
	}
	signal := status.StopSignal()
	switch event := int(status) >> 16; {
	case event == unix.PTRACE_EVENT_SECCOMP:
		return t.begin(th)
	case event != 0:
		signal = 0
	case signal == syscallStop:
		return t.end(th)
	case signal == unix.SIGSTOP && !known: // how a new thread begins
		signal = 0
	}
	return unix.PtraceCont(id, int(signal))
}

// reap makes sure that the process is gone, with its group.
func (t *tracer) reap() {
	if t.gone {
		return
	}
	_ = unix.Kill(-t.pid, unix.SIGKILL)
	for {
		if _, err := unix.Wait4(-t.pid, nil, unix.WALL, nil); err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
