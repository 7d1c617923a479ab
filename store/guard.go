package store

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
)

// crash is a panic of bbolt, turned into an error. It is ErrDamaged, and the
// file cannot be closed the usual way: bbolt may still hold its mutexes.
type crash struct {
	path  string
	cause any
}

func (c *crash) Error() string {
	if _, ok := c.cause.(runtime.Error); ok { // an index or an address that a damaged page led to
		return fmt.Sprintf("%v: %s: a page does not hold what it should", ErrDamaged, c.path)
	}
	return fmt.Sprintf("%v: %s: %v", ErrDamaged, c.path, c.cause)
}
func (c *crash) Unwrap() error { return ErrDamaged }

// maxStack is where the runtime ends the process, in bytes; nothing can recover
// from that. So what bbolt would follow without end is looked at before, and the
// watchdog is a second net.
const maxStack = 256 << 20

// guard turns a panic or a fault on the mapped file into an error: bbolt
// panics on damaged pages, and reading a mapping beyond a truncated file is
// SIGBUS. It works for the calling goroutine alone.
func guard(path string, fn func() error) (err error) {
	debug.SetMaxStack(maxStack)
	faults := debug.SetPanicOnFault(true)
	defer debug.SetPanicOnFault(faults)
	defer func() {
		r := recover()
		if damage, ok := r.(error); ok && errors.Is(damage, ErrDamaged) {
			err = damage // of descend or scan, which look before bbolt does
		} else if r != nil {
			err = &crash{path, r}
		}
	}()
	return fn()
}
