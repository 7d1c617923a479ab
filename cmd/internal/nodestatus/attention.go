package nodestatus

import (
	"fmt"
	"slices"

	"github.com/bolt-local/bolt-local/cmd/internal/wording"
	"github.com/bolt-local/bolt-local/internal/cmdline"
	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/store/record"
)

// NearlyFull is the percentage of a range set from which on it is reported.
const NearlyFull = 90

// Kind says what needs attention; scripts may rely on it.
type Kind string

// The kinds, the most urgent first.
const (
	KindProblem          Kind = "problem"
	KindLost             Kind = "lost"
	KindExhausted        Kind = "exhausted"
	KindTwoHolders       Kind = "two-holders"
	KindFormsDiffer      Kind = "forms-differ"
	KindHealed           Kind = "healed"
	KindDeferredDel      Kind = "deferred-del"
	KindTombstone        Kind = "tombstone-missing"
	KindNearlyFull       Kind = "nearly-full"
	KindOverlap          Kind = "overlap"
	KindSetAside         Kind = "set-aside"
	KindNamespaceGone    Kind = "namespace-gone"
	KindOutsideRanges    Kind = "outside-ranges"
	KindMigrationWaits   Kind = "migration-waits"
	KindDirectoryChanged Kind = "directory-changed"
)

// kinds lists all of them, in this order.
func kinds() []Kind {
	return []Kind{
		KindProblem, KindLost, KindExhausted, KindTwoHolders, KindFormsDiffer, KindHealed, KindDeferredDel, KindTombstone,
		KindNearlyFull, KindOverlap, KindSetAside, KindNamespaceGone, KindOutsideRanges, KindMigrationWaits,
		KindDirectoryChanged,
	}
}

// Notice is one thing that needs attention.
type Notice struct {
	Kind    Kind   `json:"kind"`
	Network string `json:"network,omitempty"`
	Text    string `json:"text"`
	// Command is what may help.
	Command string `json:"command,omitempty"`
}

// finder collects what needs attention.
type finder struct {
	dataDir  string
	sources  cmdline.Sources
	epoch    uint64 // the number of this boot
	searched bool   // see [Snapshot.searched]
	notices  []Notice
}

// sorted returns what was found, the most urgent first.
func (f *finder) sorted() []Notice {
	order := kinds()
	slices.SortStableFunc(f.notices, func(a, b Notice) int {
		return slices.Index(order, a.Kind) - slices.Index(order, b.Kind)
	})
	return f.notices
}

func (f *finder) add(n Notice) { f.notices = append(f.notices, n) }

// overlaps reports each pair of networks that may give out one address twice.
// networks are those that hold something in this boot: one that nobody uses any
// more, such as that of a former name, stays stored and gives out nothing.
func (f *finder) overlaps(networks []Network) {
	for i, a := range networks {
		for _, b := range networks[i+1:] {
			if ra, rb, ok := overlap(a.Ranges, b.Ranges); ok {
				f.add(Notice{Kind: KindOverlap, Network: a.Name, Text: fmt.Sprintf(
					"Range %s overlaps with %s of network %s: both may give out the same address.", ra, rb, b.Name)})
			}
		}
	}
}

func overlap(a, b []record.RangeSet) (ra, rb record.Range, ok bool) {
	for _, ra := range slices.Concat(a...) {
		for _, rb := range slices.Concat(b...) {
			if ra.Overlaps(rb) {
				return ra, rb, true
			}
		}
	}
	return record.Range{}, record.Range{}, false
}

func (f *finder) inNetwork(n Network, u ipam.Usage) {
	for _, s := range u.Sets {
		f.fullSet(n.Name, s)
	}
	for _, a := range n.Allocations {
		if len(a.Holders) > 1 {
			f.add(Notice{Kind: KindTwoHolders, Network: n.Name, Text: fmt.Sprintf(
				"%s is held by %d attachments at once: delete all of their pods but one.", a.Addr, len(a.Holders))})
		}
	}
	if len(u.Outside) > 0 {
		f.add(Notice{Kind: KindOutsideRanges, Network: n.Name, Text: fmt.Sprintf(
			"%s held that today's ranges do not give out: %s. DEL frees such addresses all the same.",
			wording.Counted(len(u.Outside), "address is", "addresses are"), wording.List(addresses(u.Outside)))})
	}
	if len(u.Gone) > 0 {
		f.add(Notice{Kind: KindNamespaceGone, Network: n.Name, Command: f.command("gc", n.Name), Text: fmt.Sprintf(
			"%s held whose network namespace is gone, probably because a DEL was lost: %s.",
			wording.Counted(len(u.Gone), "address is", "addresses are"), wording.List(addresses(u.Gone)))})
	}
	f.lost(n.Name, n.Lost)
	f.migration(n)
}

func (f *finder) fullSet(network string, s ipam.SetUsage) {
	switch {
	case s.Exhausted():
		f.add(Notice{Kind: KindExhausted, Network: network, Command: f.command("dump", network), Text: fmt.Sprintf(
			"Range set %s is exhausted, %d of %s held: no pod of this network can start.", s.Set, s.Held, wording.Number(s.Size))})
	case s.Percent() >= NearlyFull:
		f.add(Notice{Kind: KindNearlyFull, Network: network, Text: fmt.Sprintf(
			"Range set %s is %d%% full, %d of %s held.", s.Set, s.Percent(), s.Held, wording.Number(s.Size))})
	}
}

// command is a command line about one network.
func (f *finder) command(name, network string) string {
	return cmdline.Command(f.dataDir, name, "--network", cmdline.Word(network))
}
