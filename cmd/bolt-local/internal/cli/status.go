package cli

import (
	"math/big"
	"net/netip"
	"time"

	"github.com/spf13/cobra"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/store/record"
)

// status is the document that `status` prints as JSON.
type status struct {
	Checkpoint statusCheckpoint `json:"checkpoint"`
	Networks   []statusNetwork  `json:"networks"`
	Attention  []notice         `json:"attention"`
}

type statusCheckpoint struct {
	Path   string `json:"path"`
	Exists bool   `json:"exists"`
	// Bytes is the file's size.
	Bytes   int64     `json:"bytes"`
	Schema  int       `json:"schema,omitempty"`
	Writer  string    `json:"writer,omitempty"`
	Created time.Time `json:"created,omitzero"`
	Problem string    `json:"problem,omitempty"`
	// Damages are former ones that nobody has acknowledged, the oldest first.
	Damages []formerDamage `json:"damages"`
	// Lost is why ADD is refused in networks that are not stored, "" where it is
	// not.
	Lost string `json:"lost,omitempty"`
	// DeferredDels counts the DELs that wait for a call that can write.
	DeferredDels int `json:"deferredDels"`
}

type statusNetwork struct {
	Name string `json:"name"`
	statusMigration
	RangeSets []statusRangeSet `json:"rangeSets"`
	// Held counts the allocations of this boot, PreviousBoot those of an
	// earlier one, which are free.
	Held          int          `json:"held"`
	PreviousBoot  int          `json:"previousBoot"`
	OutsideRanges []netip.Addr `json:"outsideRanges"`
	NamespaceGone []netip.Addr `json:"namespaceGone"`
	// Lost is why ADD is refused, "" where it is not.
	Lost string `json:"lost,omitempty"`
}

type statusRangeSet struct {
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

func (a *app) statusCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status [flags]",
		Short: "Show how full the ranges are, and what needs attention",
		Long: `Show for each network and range set how many addresses there are, how many are
held and free, where the move from host-local stands (see migrate --help), and
what needs attention.

The ranges are those of the network's last ADD. Allocations of a previous boot
count as free. UNPROVEN are allocations that were imported from host-local or
from a cache, and that no ADD of bolt-local has made since. Former damage is
told until "repair --acknowledge". The exit status is 0 also where something
needs attention, and 1 where there is a problem with the checkpoint, or with
host-local's directory.`,
		Example: `  bolt-local status
  bolt-local status --output json | jq '.attention'
  cd /var/lib/node_exporter &&
    bolt-local status --output prometheus > bolt_local.new;
    mv bolt_local.new bolt_local.prom`,
	}
	only := a.networkFlag(cmd, "show this `network` alone")
	a.hostLocalDirFlag(cmd)
	form := outputFlag(cmd, outputTable, outputJSON, outputPrometheus)
	return a.command(cmd, func(*cobra.Command) error {
		snap, err := a.loadVerified(*only)
		if err != nil {
			return err
		}
		if err := a.printStatus(newStatus(snap, a.plugin, a.dataDir), form.value); err != nil {
			return err
		}
		return snap.err()
	})
}

func (a *app) printStatus(st status, form string) error {
	switch form {
	case outputJSON:
		return printJSON(a.out, st)
	case outputPrometheus:
		return printMetrics(a.out, st)
	}
	return printStatusText(a.out, st)
}

func newStatus(snap snapshot, plugin *ipam.Plugin, dataDir string) status {
	st := status{
		Checkpoint: statusCheckpoint{
			Path:    snap.path,
			Exists:  snap.exists,
			Bytes:   snap.size,
			Schema:  snap.format.Schema,
			Writer:  snap.format.Writer,
			Created: snap.format.Created.UTC().Truncate(time.Second),
			Damages: newFormerDamages(snap.damages, dataDir),
			Lost:    snap.lost,

			DeferredDels: snap.deferred,
		},
		Networks: []statusNetwork{},
	}
	if snap.problem != nil {
		st.Checkpoint.Problem = snap.problem.Error()
	}
	find := finder{dataDir: dataDir, notices: []notice{}}
	find.problem(snap)
	find.damage(snap)
	find.overlaps(snap.networks)
	for _, n := range snap.networks {
		usage := plugin.Usage(snap.epoch, n.ranges, n.allocations, asideAddresses(n.migration.aside))
		st.Networks = append(st.Networks, newStatusNetwork(n, newStatusMigration(n, plugin, snap.epoch), usage))
		find.inNetwork(n, usage)
	}
	st.Attention = find.sorted()
	return st
}

func newStatusNetwork(n network, m statusMigration, u ipam.Usage) statusNetwork {
	s := statusNetwork{
		Name:            n.name,
		statusMigration: m,
		RangeSets:       []statusRangeSet{},
		Held:            u.Held,
		PreviousBoot:    u.PreviousBoot,
		OutsideRanges:   addresses(u.Outside),
		NamespaceGone:   addresses(u.Gone),
		Lost:            n.lost,
	}
	for _, set := range u.Sets {
		s.RangeSets = append(s.RangeSets, statusRangeSet{
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
