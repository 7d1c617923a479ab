package backfill

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/bolt-local/bolt-local/store/record"
)

func TestTheUnreadyThatHoldNothingAreUnrecorded(t *testing.T) {
	all := nets(func(podnet, othernet *Network) {
		podnet.Holders, othernet.Holders = map[string]bool{"a": true}, map[string]bool{"b": true}
	})
	if got := Unrecorded(all, []string{"a", "b", "c"}); !slices.Equal(got, []string{"c"}) {
		t.Errorf("unrecorded are %q", got)
	}
}

func TestTheUnreadyWhomACacheKnowsToLiveAreFound(t *testing.T) {
	for name, c := range map[string]struct {
		cached   Cached
		notReady string
		holder   string // of 10.0.0.5 in the checkpoint
		found    bool
	}{
		"it is not recorded":       {cached("a", "eth0", true, "10.0.0.5"), "a", "", true},
		"another is recorded":      {cached("a", "eth0", true, "10.0.0.5"), "a", "b", true},
		"it is recorded":           {cached("a", "eth0", true, "10.0.0.5"), "a", "a", false},
		"its namespace is gone":    {cached("a", "eth0", false, "10.0.0.5"), "a", "", false},
		"another one is not ready": {cached("a", "eth0", true, "10.0.0.5"), "b", "", false},
		"the address is elsewhere": {cached("a", "eth0", true, "192.0.2.1"), "a", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			all := nets(func(podnet, _ *Network) {
				podnet.Cached = []Cached{c.cached}
				podnet.Stored = func(netip.Addr) (record.Allocation, bool) {
					h := record.Holder{Attachment: record.Attachment{ContainerID: c.holder}}
					return record.Allocation{Holders: []record.Holder{h}}, c.holder != ""
				}
			})
			if h, found := UnreadyCached(all, []string{c.notReady}); found != c.found || found && h.ContainerID != "a" {
				t.Errorf("found %v: %+v", found, h)
			}
		})
	}
}
