package nodestatus

import (
	"math/big"
	"net/netip"
	"time"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/store/record"
)

// Status is the document that `bolt-local status` prints as JSON. Scripts rely
// on it: fields are added, never renamed.
type Status struct {
	Checkpoint CheckpointStatus `json:"checkpoint"`
	Networks   []NetworkStatus  `json:"networks"`
	// Attention is what needs some, the most urgent first.
	Attention []Notice `json:"attention"`
	// NamespacesUnsure is why no network namespace counts as gone, "" where each
	// process could be asked: else NamespaceGone of the networks is empty.
	NamespacesUnsure string `json:"namespacesUnsure,omitempty"`
}

// CheckpointStatus is how the file is.
type CheckpointStatus struct {
	Path   string `json:"path"`
	Exists bool   `json:"exists"`
	// Bytes is the file's size.
	Bytes   int64     `json:"bytes"`
	Schema  int       `json:"schema,omitempty"`
	Writer  string    `json:"writer,omitempty"`
	Created time.Time `json:"created,omitzero"`
	// Problem is why it cannot be believed or written, "" where it can.
	Problem string `json:"problem,omitempty"`
	// Unwritable: what it says can be believed, and Problem is why ADD is refused.
	Unwritable bool `json:"unwritable,omitempty"`
	// Damages are former ones that nobody has acknowledged, the oldest first.
	Damages []FormerDamage `json:"damages"`
	// Lost is why ADD is refused in networks that are not stored, "" where it is
	// not.
	Lost string `json:"lost,omitempty"`
	// DeferredDels counts the DELs that wait for a call that can write.
	DeferredDels int `json:"deferredDels"`
}

// NetworkStatus is how full a network is, and where its move stands.
type NetworkStatus struct {
	Name string `json:"name"`
	MigrationStatus
	RangeSets []RangeSetStatus `json:"rangeSets"`
	// Held counts the allocations of this boot, PreviousBoot those of an
	// earlier one, which are free.
	Held          int          `json:"held"`
	PreviousBoot  int          `json:"previousBoot"`
	OutsideRanges []netip.Addr `json:"outsideRanges"`
	NamespaceGone []netip.Addr `json:"namespaceGone"`
	// Lost is why ADD is refused, "" where it is not.
	Lost string `json:"lost,omitempty"`
}

// RangeSetStatus is how full one range set is.
type RangeSetStatus struct {
	Ranges record.RangeSet `json:"ranges"`
	// Size and Free have as many digits as they need.
	Size *big.Int `json:"size"`
	Held int      `json:"held"`
	Free *big.Int `json:"free"`
	// PercentHeld is rounded down.
	PercentHeld int `json:"percentHeld"`
	// Exhausted: an ADD would fail.
	Exhausted bool `json:"exhausted"`
}

// New makes the document. plugin tells what is of this boot, and whose namespace
// is gone.
func New(snap Snapshot, plugin *ipam.Plugin) Status {
	st := Status{
		Checkpoint: CheckpointStatus{
			Path:    snap.Path,
			Exists:  snap.Exists,
			Bytes:   snap.Size,
			Schema:  snap.Format.Schema,
			Writer:  snap.Format.Writer,
			Created: snap.Format.Created.UTC().Truncate(time.Second),
			Damages: FormerDamages(snap.Damages, snap.dataDir()),
			Lost:    snap.Lost,

			DeferredDels: snap.Deferred,
		},
		Networks: []NetworkStatus{},
	}
	switch {
	case snap.Problem != nil:
		st.Checkpoint.Problem = snap.Problem.Error()
	case snap.Unwritable != nil:
		st.Checkpoint.Problem, st.Checkpoint.Unwritable = snap.Unwritable.Error(), true
	}
	find := finder{dataDir: snap.dataDir(), sources: snap.Sources, epoch: snap.Epoch, notices: []Notice{}, searched: snap.searched()}
	find.problem(snap)
	find.damage(snap)
	var used []Network
	for _, n := range snap.Networks {
		usage := plugin.Usage(snap.Epoch, n.Ranges, n.Allocations, n.Migration.blocked())
		st.Networks = append(st.Networks, newNetworkStatus(n, NewMigrationStatus(n, plugin, snap.Epoch), usage))
		find.inNetwork(n, usage)
		if usage.Held > 0 || n.Unseen() {
			used = append(used, n)
		}
	}
	find.overlaps(used)
	st.Attention = find.sorted()
	if unsure := plugin.Namespaces.Unsure(); unsure != nil {
		st.NamespacesUnsure = unsure.Error()
	}
	return st
}

func newNetworkStatus(n Network, m MigrationStatus, u ipam.Usage) NetworkStatus {
	s := NetworkStatus{
		Name:            n.Name,
		MigrationStatus: m,
		RangeSets:       []RangeSetStatus{},
		Held:            u.Held,
		PreviousBoot:    u.PreviousBoot,
		OutsideRanges:   addresses(u.Outside),
		NamespaceGone:   addresses(u.Gone),
		Lost:            n.Lost,
	}
	for _, set := range u.Sets {
		s.RangeSets = append(s.RangeSets, RangeSetStatus{
			Ranges:      set.Set,
			Size:        set.Size,
			Held:        set.Held,
			Free:        set.Free(),
			PercentHeld: set.Percent(),
			Exhausted:   set.Exhausted(),
		})
	}
	return s
}

func addresses(allocations []record.Allocation) []netip.Addr {
	addrs := make([]netip.Addr, len(allocations))
	for i, a := range allocations {
		addrs[i] = a.Addr
	}
	return addrs
}
