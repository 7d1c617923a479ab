package nodestatus

import (
	"strconv"
	"strings"

	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/store"
)

// Family is one metric, a gauge. All its samples have the same label names, in
// the same order; where nothing is to be counted it has no samples.
type Family struct {
	Name, Help string
	Samples    []Sample
}

// Sample is one value of a family.
type Sample struct {
	Labels []Label
	// Value is a whole number in decimal, with as many digits as it needs: half
	// of IPv6 overflows any machine integer.
	Value string
}

// Label is a dimension of a sample. Its value is valid UTF-8.
type Label struct{ Name, Value string }

// Up tells whether a node could be read at all. It is there also where nothing
// else is.
func Up(up bool) Family {
	return Family{"bolt_local_up", "Whether the data directory and its lock were there for this reading. For damage see bolt_local_checkpoint_ok.", []Sample{sample(boolean(up))}}
}

// Metrics are the document's numbers, always in the same order.
func (st Status) Metrics() []Family {
	families := st.Checkpoint.metrics()
	families = append(families, st.rangeSetMetrics()...)
	families = append(families, st.networkMetrics()...)
	return append(families, st.attentionMetric())
}

// metrics is about the file, and about what became of damage: it counts what
// repair --acknowledge has not cleared.
func (c CheckpointStatus) metrics() []Family {
	one := func(name, help, value string, more ...string) Family {
		return Family{name, help, []Sample{sample(value, append([]string{"path", c.Path}, more...)...)}}
	}
	families := []Family{
		one("bolt_local_checkpoint_ok", "Whether the checkpoint is absent or can be believed and written by this version.", boolean(c.Problem == "")),
		one("bolt_local_checkpoint_bytes", "Size of the checkpoint's file.", strconv.FormatInt(c.Bytes, 10)),
	}
	if c.Schema > 0 {
		families = append(families, one("bolt_local_checkpoint_info", "Schema of the checkpoint and the version that wrote it last.",
			"1", "schema", strconv.Itoa(c.Schema), "writer", c.Writer))
	}
	healed := Family{Name: "bolt_local_checkpoint_healed", Help: "Former damage of the checkpoint that nobody has acknowledged, by what it was made whole from."}
	for _, from := range sources() {
		n := count(c.Damages, func(d FormerDamage) bool { return d.From == from })
		healed.Samples = append(healed.Samples, sample(strconv.Itoa(n), "path", c.Path, "from", string(from)))
	}
	return append(families, healed,
		one("bolt_local_checkpoint_lost", "Whether ADD is refused in networks that are not stored because they may be lost.", boolean(c.Lost != "")),
		one("bolt_local_deferred_dels", "DELs that wait for a call that can write the checkpoint.", strconv.Itoa(c.DeferredDels)))
}

func (st Status) rangeSetMetrics() []Family {
	per := func(name, help string, value func(RangeSetStatus) string) Family {
		f := Family{Name: name, Help: help}
		for _, n := range st.Networks {
			for _, r := range n.RangeSets {
				f.Samples = append(f.Samples, sample(value(r), "network", n.Name, "range_set", r.Ranges.String()))
			}
		}
		return f
	}
	return []Family{
		per("bolt_local_range_set_addresses", "Addresses that the range set gives out.", func(r RangeSetStatus) string { return r.Size.String() }),
		per("bolt_local_range_set_held", "Addresses of the range set that are held.", func(r RangeSetStatus) string { return strconv.Itoa(r.Held) }),
		per("bolt_local_range_set_free", "Addresses of the range set that are free.", func(r RangeSetStatus) string { return r.Free.String() }),
		per("bolt_local_range_set_exhausted", "Whether an ADD would find no address in the range set.", func(r RangeSetStatus) string { return boolean(r.Exhausted) }),
	}
}

func (st Status) networkMetrics() []Family {
	per := func(name, help string, value func(NetworkStatus) string) Family {
		f := Family{Name: name, Help: help}
		for _, n := range st.Networks {
			f.Samples = append(f.Samples, sample(value(n), "network", n.Name))
		}
		return f
	}
	return []Family{
		per("bolt_local_network_held", "Allocations of this boot.", func(n NetworkStatus) string { return strconv.Itoa(n.Held) }),
		per("bolt_local_network_previous_boot", "Allocations of a previous boot, which count as free.", func(n NetworkStatus) string { return strconv.Itoa(n.PreviousBoot) }),
		per("bolt_local_network_outside_ranges", "Allocations that the network's ranges do not give out.", func(n NetworkStatus) string { return strconv.Itoa(len(n.OutsideRanges)) }),
		st.namespaceMetric(per("bolt_local_network_namespace_gone", "Allocations whose network namespace is gone.", func(n NetworkStatus) string { return strconv.Itoa(len(n.NamespaceGone)) })),
		per("bolt_local_network_lost", "Whether ADD is refused in the network because allocations may be missing.", func(n NetworkStatus) string { return boolean(n.Lost != "") }),
		st.phaseMetric(),
		per("bolt_local_network_unproven", "Allocations of this boot that were imported and that no ADD has made since.", func(n NetworkStatus) string { return strconv.Itoa(n.Unproven) }),
		per("bolt_local_network_host_local", "Allocations of this boot that host-local made.", func(n NetworkStatus) string { return strconv.Itoa(n.HostLocal) }),
		per("bolt_local_network_set_aside", "Addresses that are given to nobody because of a file that names no holder.", func(n NetworkStatus) string { return strconv.Itoa(len(n.SetAside)) }),
	}
}

// namespaceMetric has no samples where no namespace counts as gone: a 0 would say
// that all are there.
func (st Status) namespaceMetric(f Family) Family {
	if st.NamespacesUnsure != "" {
		f.Samples = nil
	}
	return f
}

// phaseMetric has a sample for each phase, so that none stays behind when it
// changes.
func (st Status) phaseMetric() Family {
	f := Family{Name: "bolt_local_network_phase", Help: "Where the move from host-local stands: 1 for the phase that holds."}
	for _, n := range st.Networks {
		if n.Phase == "" {
			continue
		}
		for _, p := range phases() {
			f.Samples = append(f.Samples, sample(boolean(p == n.Phase), "network", n.Name, "phase", string(p)))
		}
	}
	return f
}

func (st Status) attentionMetric() Family {
	f := Family{Name: "bolt_local_attention", Help: "Things that need attention, by kind."}
	for _, k := range kinds() {
		if k == KindNamespaceGone && st.NamespacesUnsure != "" {
			continue
		}
		n := count(st.Attention, func(n Notice) bool { return n.Kind == k })
		f.Samples = append(f.Samples, sample(strconv.Itoa(n), "kind", string(k)))
	}
	return f
}

// sources lists all that a checkpoint is made whole from.
func sources() []store.Source {
	return []store.Source{store.SourceJournal, store.SourceOldForm, store.SourceNewBoot, store.SourceRepair, store.SourceBackup}
}

// phases lists all of them, in their order.
func phases() []engine.Phase {
	return []engine.Phase{engine.Legacy, engine.Expand, engine.Switch, engine.Contract}
}

// sample takes names and values of labels in turn.
func sample(value string, labels ...string) Sample {
	s := Sample{Value: value}
	for i := 0; i < len(labels); i += 2 {
		s.Labels = append(s.Labels, Label{labels[i], strings.ToValidUTF8(labels[i+1], "\uFFFD")})
	}
	return s
}

func boolean(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

func count[T any](list []T, is func(T) bool) int {
	n := 0
	for _, item := range list {
		if is(item) {
			n++
		}
	}
	return n
}
