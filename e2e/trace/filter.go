package trace

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sys/unix"
)

// Offsets in struct seccomp_data (include/uapi/linux/seccomp.h).
const (
	numberOffset       = 0
	architectureOffset = 4
	argumentsOffset    = 16 // of 8 bytes each
)

// Actions of seccomp (include/uapi/linux/seccomp.h).
const (
	retTrace = 0x7ff00000
	retAllow = 0x7fff0000
)

// filterProgram stops the process at the calls of shapes, and lets all others
// run.
func filterProgram() []unix.SockFilter {
	const (
		load  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		bits  = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
		ret   = unix.BPF_RET | unix.BPF_K
	)
	numbers := slices.Sorted(maps.Keys(shapes))
	numbers = slices.DeleteFunc(numbers, func(n uint64) bool { return n == unix.SYS_MMAP })
	n := len(numbers)
	program := []unix.SockFilter{
		{Code: load, K: architectureOffset},
		{Code: equal, K: auditArch, Jf: uint8(n + 4)}, // to allow
		{Code: load, K: numberOffset},
	}
	for i, number := range numbers {
		program = append(program, unix.SockFilter{Code: equal, K: uint32(number), Jt: uint8(n - i + 3)}) // to trace
	}
	return append(program,
		unix.SockFilter{Code: equal, K: unix.SYS_MMAP, Jf: 2},     // to allow
		unix.SockFilter{Code: load, K: argumentsOffset + 3*8},     // its flags
		unix.SockFilter{Code: bits, K: unix.MAP_ANONYMOUS, Jf: 1}, // to trace
		unix.SockFilter{Code: ret, K: retAllow},
		unix.SockFilter{Code: ret, K: retTrace},
	)
}

// installFilter makes a thread, which is stopped where it starts, install the
// filter. Its memory and registers are as before then.
func installFilter(thread int) error {
	program := filterProgram()
	var saved registers
	if err := readRegisters(thread, &saved); err != nil {
		return err
	}
	at := saved.instruction()
	code := make([]byte, len(systemCall))
	if _, err := unix.PtracePeekText(thread, uintptr(at), code); err != nil {
		return fmt.Errorf("reading its code: %w", err)
	}
	if _, err := unix.PtracePokeText(thread, uintptr(at), systemCall); err != nil {
		return fmt.Errorf("changing its code: %w", err)
	}

	// What lies below the stack is nobody's yet: struct sock_fprog, then the
	// filter.
	const fprog = 16
	var block bytes.Buffer
	place := saved.stack()&^15 - 4096
	for _, part := range []any{uint64(len(program)), place + fprog, program} {
		if err := binary.Write(&block, binary.NativeEndian, part); err != nil {
			return err
		}
	}
	if _, err := unix.PtracePokeData(thread, uintptr(place), block.Bytes()); err != nil {
		return fmt.Errorf("writing below its stack: %w", err)
	}

	// Without privileges a filter is only for who will never gain any.
	if err := remoteCall(thread, saved, unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("prctl(PR_SET_NO_NEW_PRIVS): %w", err)
	}
	if err := remoteCall(thread, saved, unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, place); err != nil {
		return fmt.Errorf("seccomp(SECCOMP_SET_MODE_FILTER): %w", err)
	}
	if _, err := unix.PtracePokeText(thread, uintptr(at), code); err != nil {
		return fmt.Errorf("putting back its code: %w", err)
	}
	return writeRegisters(thread, &saved)
}

// remoteCall makes the stopped thread do one system call.
func remoteCall(thread int, regs registers, number uint64, arguments ...uint64) error {
	regs.prepare(regs.instruction(), number, arguments...)
	if err := writeRegisters(thread, &regs); err != nil {
		return err
	}
	if err := unix.PtraceSingleStep(thread); err != nil {
		return err
	}
	var status unix.WaitStatus
	if _, err := unix.Wait4(thread, &status, unix.WALL, nil); err != nil {
		return err
	}
	if !status.Stopped() || status.StopSignal() != unix.SIGTRAP {
		return fmt.Errorf("the thread did not come back, status %#x", status)
	}
	if err := readRegisters(thread, &regs); err != nil {
		return err
	}
	if result := regs.result(); result < 0 {
		return unix.Errno(-result)
	}
	return nil
}
