package damage

import (
	"net/netip"

	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/record"
)

// caller makes the calls of a trial: a [node] in this process, or [processes] of
// the real binary.
type caller interface {
	add(network string, att record.Attachment, c conf) (netip.Addr, error)
	del(network string, att record.Attachment) error
	check(network string, att record.Attachment, addr netip.Addr) error
	status(network string) error
	gc(network string, keep []record.Attachment) error

	// view is who holds what in a network, as whoever reads is told.
	view(network string) (holdings, error)
	// dump reads what can be read, and returns how many allocations that were.
	dump() (int, error)
	repair(r store.Repair) (store.Report, error)
}

var (
	_ caller = (*node)(nil)
	_ caller = (*processes)(nil)
)
