package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/store/record"
)

// nearlyFull is the percentage of a range set from which on it is reported.
const nearlyFull = 90

// kind says what needs attention; scripts may rely on it.
type kind string

const (
	kindProblem          kind = "problem"
	kindLost             kind = "lost"
	kindExhausted        kind = "exhausted"
	kindTwoHolders       kind = "two-holders"
	kindFormsDiffer      kind = "forms-differ"
	kindHealed           kind = "healed"
	kindDeferredDel      kind = "deferred-del"
	kindTombstone        kind = "tombstone-missing"
	kindNearlyFull       kind = "nearly-full"
	kindOverlap          kind = "overlap"
	kindSetAside         kind = "set-aside"
	kindNamespaceGone    kind = "namespace-gone"
	kindOutsideRanges    kind = "outside-ranges"
	kindMigrationWaits   kind = "migration-waits"
	kindDirectoryChanged kind = "directory-changed"
)

// kinds lists all of them, the most urgent first.
func kinds() []kind {
	return []kind{
		kindProblem, kindLost, kindExhausted, kindTwoHolders, kindFormsDiffer, kindHealed, kindDeferredDel, kindTombstone,
		kindNearlyFull, kindOverlap, kindSetAside, kindNamespaceGone, kindOutsideRanges, kindMigrationWaits,
		kindDirectoryChanged,
	}
}

// notice is one thing that needs attention.
type notice struct {
	Kind    kind   `json:"kind"`
	Network string `json:"network,omitempty"`
	Text    string `json:"text"`
	// Command is what may help.
	Command string `json:"command,omitempty"`
}

// style tells what is wrong now from what may become so, and both from what is
// only good to know.
func (n notice) style() style {
	switch n.Kind {
	case kindProblem, kindLost, kindExhausted, kindTwoHolders, kindFormsDiffer:
		return red
	case kindMigrationWaits, kindDirectoryChanged:
		return plain
	}
	return yellow
}

// finder collects what needs attention.
type finder struct {
	dataDir string
	notices []notice
}

// sorted returns what was found, the most urgent first.
func (f *finder) sorted() []notice {
	order := kinds()
	slices.SortStableFunc(f.notices, func(a, b notice) int {
		return slices.Index(order, a.Kind) - slices.Index(order, b.Kind)
	})
	return f.notices
}

func (f *finder) add(n notice) { f.notices = append(f.notices, n) }

// overlaps reports each pair of networks that may give out one address twice.
func (f *finder) overlaps(networks []network) {
	for i, a := range networks {
		for _, b := range networks[i+1:] {
			if ra, rb, ok := overlap(a.ranges, b.ranges); ok {
				f.add(notice{Kind: kindOverlap, Network: a.name, Text: fmt.Sprintf(
					"Range %s overlaps with %s of network %s: both may give out the same address.", ra, rb, b.name)})
			}
		}
	}
}

func overlap(a, b []record.RangeSet) (ra, rb record.Range, ok bool) {
	for _, setA := range a {
		for _, ra := range setA {
			for _, setB := range b {
				for _, rb := range setB {
					if ra.Overlaps(rb) {
						return ra, rb, true
					}
				}
			}
		}
	}
	return record.Range{}, record.Range{}, false
}

func (f *finder) inNetwork(n network, u ipam.Usage) {
	for _, s := range u.Sets {
		f.fullSet(n.name, s)
	}
	for _, a := range n.allocations {
		if len(a.Holders) > 1 {
			f.add(notice{Kind: kindTwoHolders, Network: n.name, Text: fmt.Sprintf(
				"%s is held by %d attachments at once: delete all of their pods but one.", a.Addr, len(a.Holders))})
		}
	}
	if len(u.Outside) > 0 {
		f.add(notice{Kind: kindOutsideRanges, Network: n.name, Text: fmt.Sprintf(
			"%s held that today's ranges do not give out: %s. DEL frees such addresses all the same.",
			counted(len(u.Outside), "address is", "addresses are"), list(addresses(u.Outside)))})
	}
	if len(u.Gone) > 0 {
		f.add(notice{Kind: kindNamespaceGone, Network: n.name, Command: f.command("gc", n.name), Text: fmt.Sprintf(
			"%s held whose network namespace is gone, probably because a DEL was lost: %s.",
			counted(len(u.Gone), "address is", "addresses are"), list(addresses(u.Gone)))})
	}
	f.lost(n.name, n.lost)
	f.migration(n)
}

func (f *finder) fullSet(network string, s ipam.SetUsage) {
	switch {
	case s.Exhausted():
		f.add(notice{Kind: kindExhausted, Network: network, Command: f.command("dump", network), Text: fmt.Sprintf(
			"Range set %s is exhausted, %d of %s held: no pod of this network can start.", s.Set, s.Held, number(s.Size))})
	case s.Percent() >= nearlyFull:
		f.add(notice{Kind: kindNearlyFull, Network: network, Text: fmt.Sprintf(
			"Range set %s is %d%% full, %d of %s held.", s.Set, s.Percent(), s.Held, number(s.Size))})
	}
}

// command is a command line about one network.
func (f *finder) command(name, network string) string {
	return ownCommand(f.dataDir, name, "--network", shellWord(network))
}

// oneLine joins the lines of an error that was joined from several.
func oneLine(text string) string { return strings.ReplaceAll(strings.TrimSpace(text), "\n", "; ") }
