package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/bolt-local/bolt-local/store"
)

// printMetrics prints st in the Prometheus text format, version 0.0.4, for the
// node exporter's textfile collector.
func printMetrics(s screen, st status) error {
	m := &metrics{}
	c := st.Checkpoint
	m.family("bolt_local_checkpoint_ok", "Whether the checkpoint is absent or can be believed and written by this version.")
	m.sample(boolean(c.Problem == ""), "path", c.Path)
	m.family("bolt_local_checkpoint_bytes", "Size of the checkpoint's file.")
	m.sample(strconv.FormatInt(c.Bytes, 10), "path", c.Path)
	if c.Schema > 0 {
		m.family("bolt_local_checkpoint_info", "Schema of the checkpoint and the version that wrote it last.")
		m.sample("1", "path", c.Path, "schema", strconv.Itoa(c.Schema), "writer", c.Writer)
	}
	m.damage(c)
	m.perRangeSet(st, "bolt_local_range_set_addresses", "Addresses that the range set gives out.", func(r statusRangeSet) string { return r.Size.String() })
	m.perRangeSet(st, "bolt_local_range_set_held", "Addresses of the range set that are held.", func(r statusRangeSet) string { return strconv.Itoa(r.Held) })
	m.perRangeSet(st, "bolt_local_range_set_free", "Addresses of the range set that are free.", func(r statusRangeSet) string { return r.Free.String() })
	m.perRangeSet(st, "bolt_local_range_set_exhausted", "Whether an ADD would find no address in the range set.", func(r statusRangeSet) string { return boolean(r.Exhausted) })
	m.perNetwork(st, "bolt_local_network_held", "Allocations of this boot.", func(n statusNetwork) int { return n.Held })
	m.perNetwork(st, "bolt_local_network_previous_boot", "Allocations of a previous boot, which count as free.", func(n statusNetwork) int { return n.PreviousBoot })
	m.perNetwork(st, "bolt_local_network_outside_ranges", "Allocations that the network's ranges do not give out.", func(n statusNetwork) int { return len(n.OutsideRanges) })
	m.perNetwork(st, "bolt_local_network_namespace_gone", "Allocations whose network namespace is gone.", func(n statusNetwork) int { return len(n.NamespaceGone) })
	m.family("bolt_local_network_lost", "Whether ADD is refused in the network because allocations may be missing.")
	for _, n := range st.Networks {
		m.sample(boolean(n.Lost != ""), "network", n.Name)
	}
	m.family("bolt_local_network_phase", "Where the move from host-local stands: 1 for the phase that holds.")
	for _, n := range st.Networks {
		m.phase(n)
	}
	m.perNetwork(st, "bolt_local_network_unproven", "Allocations of this boot that were imported and that no ADD has made since.", func(n statusNetwork) int { return n.Unproven })
	m.perNetwork(st, "bolt_local_network_host_local", "Allocations of this boot that host-local made.", func(n statusNetwork) int { return n.HostLocal })
	m.perNetwork(st, "bolt_local_network_set_aside", "Addresses that are given to nobody because of a file that names no holder.", func(n statusNetwork) int { return len(n.SetAside) })
	m.family("bolt_local_attention", "Things that need attention, by kind.")
	for _, k := range kinds() {
		n := 0
		for _, notice := range st.Attention {
			if notice.Kind == k {
				n++
			}
		}
		m.sample(strconv.Itoa(n), "kind", string(k))
	}
	_, err := io.WriteString(s, m.out.String())
	return err
}

// damage is what became of damage. It counts what repair --acknowledge has not
// cleared.
func (m *metrics) damage(c statusCheckpoint) {
	m.family("bolt_local_checkpoint_healed", "Former damage of the checkpoint that nobody has acknowledged, by what it was made whole from.")
	for _, from := range sources() {
		n := 0
		for _, d := range c.Damages {
			if d.From == from {
				n++
			}
		}
		m.sample(strconv.Itoa(n), "path", c.Path, "from", string(from))
	}
	m.family("bolt_local_checkpoint_lost", "Whether ADD is refused in networks that are not stored because they may be lost.")
	m.sample(boolean(c.Lost != ""), "path", c.Path)
	m.family("bolt_local_deferred_dels", "DELs that wait for a call that can write the checkpoint.")
	m.sample(strconv.Itoa(c.DeferredDels), "path", c.Path)
}

// sources lists all that a checkpoint is made whole from.
func sources() []store.Source {
	return []store.Source{store.SourceJournal, store.SourceOldForm, store.SourceNewBoot, store.SourceRepair, store.SourceBackup}
}

type metrics struct {
	out  strings.Builder
	name string
}

// family begins a metric; all of them are gauges.
func (m *metrics) family(name, help string) {
	m.name = name
	fmt.Fprintf(&m.out, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name)
}

// sample writes a value with its labels, names and values in turn.
func (m *metrics) sample(value string, labels ...string) {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	var pairs []string
	for i := 0; i < len(labels); i += 2 {
		pairs = append(pairs, labels[i]+`="`+escape.Replace(strings.ToValidUTF8(labels[i+1], "\uFFFD"))+`"`)
	}
	fmt.Fprintf(&m.out, "%s{%s} %s\n", m.name, strings.Join(pairs, ","), value)
}

func (m *metrics) perRangeSet(st status, name, help string, value func(statusRangeSet) string) {
	m.family(name, help)
	for _, n := range st.Networks {
		for _, r := range n.RangeSets {
			m.sample(value(r), "network", n.Name, "range_set", r.Ranges.String())
		}
	}
}

func (m *metrics) perNetwork(st status, name, help string, value func(statusNetwork) int) {
	m.family(name, help)
	for _, n := range st.Networks {
		m.sample(strconv.Itoa(value(n)), "network", n.Name)
	}
}

// phase has a sample for each phase, so that none stays behind when it changes.
func (m *metrics) phase(n statusNetwork) {
	if n.Phase == "" {
		return
	}
	for _, p := range phases() {
		m.sample(boolean(p == n.Phase), "network", n.Name, "phase", string(p))
	}
}

func boolean(b bool) string {
	if b {
		return "1"
	}
	return "0"
}
