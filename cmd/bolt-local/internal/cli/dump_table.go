package cli

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/bolt-local/bolt-local/cmd/internal/wording"
	"github.com/bolt-local/bolt-local/store/record"
)

// shortID is how much of a container id the table shows, as other tools do.
const shortID = 12

// printDumpTable prints a line for each holder. wide shortens nothing and shows
// more.
func printDumpTable(s screen, d dump, wide bool, now time.Time) error {
	t := &table{columns: []column{
		{title: "NETWORK", least: 7},
		{title: "IP"},
		{title: "CONTAINER", least: 9, cut: cutSilently},
		{title: "IFNAME", least: 6},
		{title: "POD", least: 4, cut: cutMiddle},
		{title: "AGE"},
		{title: "STATE"},
	}}
	if wide {
		s.width = 0
		t.columns = append(t.columns, []column{{title: "ORIGIN"}, {title: "NETNS"}, {title: "POD-UID"}, {title: "BOOT"}}...)
	}
	id := shortIDs(containerIDs(d))
	for _, n := range d.Networks {
		for _, a := range n.Allocations {
			st := plain
			if a.State == statePreviousBoot {
				st = faint
			}
			network := a.Network
			if slices.Contains(a.Unknown, record.UnknownNetwork) {
				network += "?" // which no network's name has
			}
			texts := []string{network, a.IP.String(), id(a.ContainerID), cmp.Or(a.IfName, "?"), podName(a.Pod), age(a.AllocatedAt, now), a.State}
			if wide {
				texts[2] = a.ContainerID
				texts = append(texts, cmp.Or(string(a.Origin), "-"), cmp.Or(a.NetNS, "-"), cmp.Or(a.Pod.UID, "-"), cmp.Or(a.BootID, "-"))
			}
			row := make([]cell, len(texts))
			for i, text := range texts {
				row[i] = cell{wording.Printable(text), st}
			}
			t.add(row...)
		}
	}
	if len(t.rows) == 0 {
		_, err := fmt.Fprintln(s, "No addresses are held.")
		return err
	}
	return t.print(s)
}

func containerIDs(d dump) []string {
	var ids []string
	for _, n := range d.Networks {
		for _, a := range n.Allocations {
			ids = append(ids, a.ContainerID)
		}
	}
	return ids
}

// shortIDs returns the function that shortens container ids, to no less than
// what tells all of them apart.
func shortIDs(ids []string) func(string) string {
	ids = slices.Sorted(slices.Values(ids))
	ids = slices.Compact(ids)
	length := shortID
	for i := 1; i < len(ids); i++ {
		length = max(length, commonPrefix(ids[i-1], ids[i])+1)
	}
	return func(id string) string { return id[:min(length, len(id))] }
}

// commonPrefix is how many bytes a and b have in common at their beginning.
func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func podName(p dumpPod) string {
	switch {
	case p.Name == "":
		return "-"
	case p.Namespace == "":
		return p.Name
	}
	return p.Namespace + "/" + p.Name
}
