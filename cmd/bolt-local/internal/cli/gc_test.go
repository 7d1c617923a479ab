package cli

import (
	"strings"
	"testing"

	"github.com/bolt-local/bolt-local/cmd/internal/nodestatus/nodestatustest"
	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/store/record"
)

func TestMayLive(t *testing.T) {
	plugin := &ipam.Plugin{Namespaces: nodestatustest.Namespaces{"/ns/alive": 5}}
	holder := func(ns record.NetNS) record.Allocation {
		return record.Allocation{Epoch: 3, Holders: []record.Holder{{NetNS: ns}}}
	}
	for name, c := range map[string]struct {
		alloc record.Allocation
		epoch uint64
		want  string // "": it does not live
	}{
		"its namespace is there":                      {holder(record.NetNS{Path: "/ns/alive", Inode: 5, MountNS: 1}), 3, "is alive"},
		"its path leads elsewhere":                    {holder(record.NetNS{Path: "/ns/alive", Inode: 6, MountNS: 1}), 3, ""},
		"recorded in another mount namespace":         {holder(record.NetNS{Path: "/ns/x", Inode: 5, MountNS: nodestatustest.Elsewhere}), 3, "cannot be told"},
		"there, but before the last reboot":           {holder(record.NetNS{Path: "/ns/x", Inode: 5, MountNS: nodestatustest.Elsewhere}), 4, ""},
		"no namespace was recorded":                   {holder(record.NetNS{Path: "/ns/x"}), 3, ""},
		"of the last boot, its namespace still there": {holder(record.NetNS{Path: "/ns/alive", Inode: 5, MountNS: 1}), 4, "is alive"},
	} {
		t.Run(name, func(t *testing.T) {
			got := mayLive(plugin, c.epoch, c.alloc, c.alloc.Holders[0])
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
