package trace

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// registers are those of a stopped thread. The kernel takes a system call's
// number and arguments from them (Documentation/arch/x86/entry_64.rst).
type registers struct{ unix.PtraceRegs }

const auditArch = unix.AUDIT_ARCH_X86_64

func available() error { return nil }

func readRegisters(thread int, r *registers) error {
	return unix.PtraceGetRegs(thread, &r.PtraceRegs)
}

func writeRegisters(thread int, r *registers) error {
	return unix.PtraceSetRegs(thread, &r.PtraceRegs)
}

func (r *registers) number() uint64 { return r.Orig_rax }

// argument returns the n-th one, from 1 on.
func (r *registers) argument(n int) uint64 { return *r.place(n) }

func (r *registers) setArgument(n int, value uint64) { *r.place(n) = value }

func (r *registers) place(n int) *uint64 {
	return [...]*uint64{&r.Rdi, &r.Rsi, &r.Rdx, &r.R10, &r.R8, &r.R9}[n-1]
}

func (r *registers) result() int64 { return int64(r.Rax) }

func (r *registers) setResult(value int64) { r.Rax = uint64(value) }

// fail makes the call that is about to begin return an error instead. The kernel
// skips a call of the number -1, and returns what is in the result's place.
func (r *registers) fail(errno syscall.Errno) {
	r.Orig_rax = ^uint64(0)
	r.setResult(-int64(errno))
}

// prepare makes the thread execute a system call at address, if an instruction
// for one stands there.
func (r *registers) prepare(address, number uint64, arguments ...uint64) {
	r.Rip = address
	r.Rax = number
	r.Orig_rax = ^uint64(0) // no call is under way that could be restarted
	for i, value := range arguments {
		*r.place(i + 1) = value
	}
}

func (r *registers) instruction() uint64 { return r.Rip }
func (r *registers) stack() uint64       { return r.Rsp }

// systemCall is the instruction that makes one.
var systemCall = []byte{0x0f, 0x05}
