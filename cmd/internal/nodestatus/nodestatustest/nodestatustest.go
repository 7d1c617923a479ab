// Package nodestatustest has an invented node for tests of what is told of one.
package nodestatustest

import (
	"errors"
	"net/netip"
	"time"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/store/record"
)

// Boot is the number of the running boot.
const Boot = 2

// Elsewhere is a mount namespace other than the test's.
const Elsewhere = 77

// Now is when the tests look.
func Now() time.Time { return time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC) }

// Namespaces are the living ones: path to inode. What is not among them is gone.
type Namespaces map[string]uint64

var _ ipam.Namespaces = Namespaces{}

// Identify implements [ipam.Namespaces].
func (n Namespaces) Identify(path string) record.NetNS { return record.NetNS{Path: path} }

// IsOwn implements [ipam.Namespaces].
func (n Namespaces) IsOwn(record.NetNS) bool { return false }

// Alive implements [ipam.Namespaces].
func (n Namespaces) Alive(ns record.NetNS) bool { return ns.Inode != 0 && n[ns.Path] == ns.Inode }

// Dead implements [ipam.Namespaces].
func (n Namespaces) Dead(ns record.NetNS) bool { return ns.Inode != 0 && n[ns.Path] != ns.Inode }

// Elsewhere implements [ipam.Namespaces].
func (n Namespaces) Elsewhere(ns record.NetNS) bool { return ns.MountNS == Elsewhere }

// Unsure implements [ipam.Namespaces].
func (n Namespaces) Unsure() error { return nil }

// Unsure are namespaces of which none can be told to be gone.
type Unsure struct{ Namespaces }

// Dead implements [ipam.Namespaces].
func (Unsure) Dead(record.NetNS) bool { return false }

// Unsure implements [ipam.Namespaces].
func (Unsure) Unsure() error { return errors.New("not every process can be asked") }

// Plugin knows one living namespace, /ns/alive.
func Plugin() *ipam.Plugin { return &ipam.Plugin{Namespaces: Namespaces{"/ns/alive": 1}} }

// Held is an allocation.
func Held(addr string, epoch uint64, holders ...record.Holder) record.Allocation {
	return record.Allocation{Addr: netip.MustParseAddr(addr), Epoch: epoch, Holders: holders}
}

// By is a holder that got its address so long before Now.
func By(id, ifname string, ago time.Duration) record.Holder {
	return record.Holder{
		Attachment:  record.Attachment{ContainerID: id, IfName: ifname},
		Origin:      record.OriginAdd,
		AllocatedAt: Now().Add(-ago),
	}
}
