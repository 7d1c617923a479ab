package trace

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// Call is one system call of the process. Fields that a call of its kind does
// not have are zero; Dir, NewDir and FD are then -1.
type Call struct {
	Name   string // "openat"
	Number uint64
	Args   [6]uint64
	Thread int // that made it

	// FD is the descriptor that it is made on, or that an open returned.
	FD int
	// Path is the file: where FD led when the call began, as /proc says it, or
	// the path that was given, made absolute and not cleaned. NewPath is the
	// second one of a rename or link.
	Path, NewPath string
	// File is the file that FD or Path led to when the call began, or the file
	// that the call made; a symbolic link is not followed. NewFile is what was
	// at NewPath before. The zero value is no file.
	File, NewFile FileID

	Flags int // of an open, *at, rename, fallocate, mmap; flock's and fcntl's operation
	Mode  int // of a new file or a chmod; mmap's protection

	// Offset is in bytes. That of a plain write is where the file stood, or the
	// file's end with O_APPEND.
	Offset int64
	Length int64  // in bytes, that are asked for; the size that truncate sets
	Data   []byte // all that is to be written

	Result   int64         // 0 if Errno is not
	Errno    syscall.Errno // 0 is success
	Injected bool          // a Hook has made it fail, or shortened it
}

// FileID tells files apart while they exist.
type FileID struct {
	Device, Inode uint64
}

// Writable reports whether an open asks to write.
func (c *Call) Writable() bool { return c.Flags&unix.O_ACCMODE != unix.O_RDONLY }

// call is a call that has begun.
type call struct {
	Call
	change func(*registers) // at its end
	again  bool             // a signal has interrupted it, the kernel restarts it
}

// The kernel's own error numbers for a call that it may start again, which only
// a tracer sees (include/linux/errno.h).
const (
	firstRestart = 512
	lastRestart  = 516
)

// begin looks at the call that a thread is about to make.
func (t *tracer) begin(th *thread) error {
	var regs registers
	if err := readRegisters(th.id, &regs); err != nil {
		return err
	}
	if c := th.call; c != nil && c.again && c.Number == regs.number() {
		c.again = false
		return unix.PtraceSyscall(th.id, 0)
	}
	c, err := decode(th.id, &regs)
	if err != nil {
		return err
	}
	th.call = c
	var effect Effect
	if t.hook != nil {
		effect = t.hook(&c.Call)
	}
	switch {
	case effect.Errno != 0 && effect.Executed:
		c.Injected = true
		c.change = func(r *registers) { r.setResult(-int64(effect.Errno)) }
	case effect.Errno != 0:
		regs.fail(effect.Errno)
		if err := writeRegisters(th.id, &regs); err != nil {
			return err
		}
		c.Errno, c.Injected = effect.Errno, true
		t.outcome.Calls = append(t.outcome.Calls, c.Call)
		th.call = nil
		return unix.PtraceCont(th.id, 0)
	case effect.Short > 0 && len(c.Data) > effect.Short && !shapes[c.Number].iov:
		count := int(shapes[c.Number].length)
		full := regs.argument(count)
		regs.setArgument(count, uint64(effect.Short))
		if err := writeRegisters(th.id, &regs); err != nil {
			return err
		}
		c.Injected = true
		c.change = func(r *registers) { r.setArgument(count, full) }
	}
	return unix.PtraceSyscall(th.id, 0)
}

// end notes the result of a call.
func (t *tracer) end(th *thread) error {
	c := th.call
	if c == nil {
		return unix.PtraceCont(th.id, 0)
	}
	var regs registers
	if err := readRegisters(th.id, &regs); err != nil {
		return err
	}
	result := regs.result()
	if result <= -firstRestart && result >= -lastRestart {
		c.again = true
		return unix.PtraceCont(th.id, 0)
	}
	if c.change != nil {
		c.change(&regs)
		if err := writeRegisters(th.id, &regs); err != nil {
			return err
		}
		result = regs.result()
	}
	if result < 0 && result > -4096 { // MAX_ERRNO
		c.Errno = syscall.Errno(-result)
	} else {
		c.Result = result
		identify(th.id, &c.Call)
	}
	t.outcome.Calls = append(t.outcome.Calls, c.Call)
	th.call = nil
	return unix.PtraceCont(th.id, 0)
}
