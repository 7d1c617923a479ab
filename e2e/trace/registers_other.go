//go:build !amd64

package trace

import (
	"fmt"
	"runtime"
	"syscall"
)

// Nothing can be traced on other architectures: what follows is never called.

type registers struct{}

const auditArch = 0

var (
	architectureShapes map[uint64]shape
	systemCall         []byte
)

func available() error {
	return fmt.Errorf("%w: only on amd64, not on %s", ErrUnavailable, runtime.GOARCH)
}

func readRegisters(int, *registers) error  { return available() }
func writeRegisters(int, *registers) error { return available() }

func (*registers) number() uint64                   { return 0 }
func (*registers) argument(int) uint64              { return 0 }
func (*registers) setArgument(int, uint64)          {}
func (*registers) result() int64                    { return 0 }
func (*registers) setResult(int64)                  {}
func (*registers) fail(syscall.Errno)               {}
func (*registers) prepare(_, _ uint64, _ ...uint64) {}
func (*registers) instruction() uint64              { return 0 }
func (*registers) stack() uint64                    { return 0 }
