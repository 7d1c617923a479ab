package engine

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/bolt-local/bolt-local/migrate/form"
	"github.com/bolt-local/bolt-local/store/record"
)

// differences are those between both forms, in the order of addresses. Cursors,
// what names no holder, and allocations of earlier boots that the old form no
// longer has do not count; of two holders the old form may name either.
func differences(all map[netip.Addr]record.Allocation, c form.Contents, stale func(record.Allocation) bool) []string {
	var diff []string
	for _, e := range c.Entries {
		a, known := all[e.Addr]
		switch {
		case !known:
			diff = append(diff, fmt.Sprintf("%s is held by container %s in the old form alone", e.Addr, e.Holder.ContainerID))
		case !names(a, e):
			diff = append(diff, fmt.Sprintf("%s is held by container %s in the old form, by %s in the new one",
				e.Addr, e.Holder.ContainerID, a.Holders[0].ContainerID))
		}
	}
	for _, addr := range slices.SortedFunc(maps.Keys(all), netip.Addr.Compare) {
		if _, there := c.At(addr); !there && !stale(all[addr]) {
			diff = append(diff, fmt.Sprintf("%s is held by container %s in the new form alone", addr, all[addr].Holders[0].ContainerID))
		}
	}
	return diff
}
