package metrics

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bolt-local/bolt-local/cmd/internal/nodestatus"
	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/ipam/netns"
	"github.com/bolt-local/bolt-local/migrate"
	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/record"
)

// newCollector reads the node in dir.
func newCollector(dir string) *Collector {
	return New(func() nodestatus.Reader {
		namespaces := &netns.System{}
		return nodestatus.Reader{State: migrate.State{
			Store:      store.New(dir, store.Options{LockTimeout: time.Second}),
			Namespaces: namespaces,
			Stale:      (&ipam.Plugin{Namespaces: namespaces}).Stale,
			Warn:       func(string) {},
		}}
	})
}

// gathered are the values of all samples, by name and label values.
func gathered(t *testing.T, c *Collector) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			name := []string{f.GetName()}
			for _, l := range m.Label {
				name = append(name, l.GetValue())
			}
			values[strings.Join(name, " ")] = m.GetGauge().GetValue() + m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return values
}

func stores(t *testing.T, dir string) {
	t.Helper()
	set := record.RangeSet{{Start: netip.MustParseAddr("fd00::1"), End: netip.MustParseAddr("fd00::ffff:ffff:ffff:ffff")}}
	err := store.New(dir, store.Options{}).Update(store.Op{Verb: "ADD", Creates: true, Runtime: true}, func(tx *store.Tx) error {
		n := tx.Network("podnet")
		att := record.Attachment{ContainerID: "a", IfName: "eth0"}
		return errors.Join(n.SetRanges([]record.RangeSet{set}),
			n.Put(record.Allocation{Addr: netip.MustParseAddr("fd00::2"), Epoch: 1, Holders: []record.Holder{{Attachment: att}}}))
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAScrapeHasTheNodesStateAndTheAgentsWork(t *testing.T) {
	dir := t.TempDir()
	stores(t, dir)
	c := newCollector(dir)
	c.Freed(3)
	c.Round(GC, nil)
	c.Round(GC, errors.New("down"))
	c.Waited(time.Millisecond)
	got := gathered(t, c)
	for name, want := range map[string]float64{
		"bolt_local_up": 1,
		"bolt_local_range_set_held podnet fd00::1-fd00::ffff:ffff:ffff:ffff":      1,
		"bolt_local_range_set_addresses podnet fd00::1-fd00::ffff:ffff:ffff:ffff": 18446744073709551615, // as a float64 has it
		"bolt_local_network_held podnet":                                          1,
		"bolt_local_agent_freed_total unknown-to-runtime":                         3,
		"bolt_local_agent_rounds_total ok gc":                                     1,
		"bolt_local_agent_rounds_total failed gc":                                 1,
		"bolt_local_agent_lock_wait_seconds":                                      1,
	} {
		if value, ok := got[name]; !ok || value != want {
			t.Errorf("%s is %v (there: %v), want %v", name, value, ok, want)
		}
	}
	if err := c.Problem(); err != nil {
		t.Errorf("a problem: %v", err)
	}
}

// An alert asks for what has not happened.
func TestRoundsAreCountedFromZeroOn(t *testing.T) {
	got := gathered(t, newCollector(t.TempDir()))
	for _, name := range []string{"ok backfill", "failed backfill", "ok gc", "failed gc"} {
		if value, there := got["bolt_local_agent_rounds_total "+name]; !there || value != 0 {
			t.Errorf("%s is %v (there: %v)", name, value, there)
		}
	}
}

func TestAScrapeOfADamagedNodeSaysSo(t *testing.T) {
	dir := t.TempDir()
	stores(t, dir)
	path := store.New(dir, store.Options{}).Path()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c := newCollector(dir)
	got := gathered(t, c)
	if value, ok := got["bolt_local_checkpoint_ok "+path]; !ok || value != 0 {
		t.Errorf("bolt_local_checkpoint_ok is %v (there: %v)", value, ok)
	}
	if err := c.Problem(); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("the problem is %v", err)
	}
}

func TestAScrapeOfANodeThatCannotBeWrittenSaysSo(t *testing.T) {
	dir, link := t.TempDir(), filepath.Join(t.TempDir(), "link")
	stores(t, dir)
	if err := os.Symlink(dir, link); err != nil { // what root may not write either
		t.Fatal(err)
	}
	c := newCollector(link)
	got := gathered(t, c)
	for name, want := range map[string]float64{
		"bolt_local_up": 1,
		"bolt_local_checkpoint_ok " + store.New(link, store.Options{}).Path(): 0,
		"bolt_local_attention problem":                                        1,
		"bolt_local_network_held podnet":                                      1,
	} {
		if value, ok := got[name]; !ok || value != want {
			t.Errorf("%s is %v (there: %v), want %v", name, value, ok, want)
		}
	}
	if err := c.Problem(); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("the problem is %v", err)
	}
}

func TestALossIsAProblem(t *testing.T) {
	dir := t.TempDir()
	stores(t, dir)
	st := store.New(dir, store.Options{})
	for _, path := range []string{st.Path(), filepath.Join(dir, store.JournalFile)} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := st.Repair(store.Repair{Alive: func(record.NetNS) bool { return false }}); err != nil {
		t.Fatal(err)
	}
	if err := newCollector(dir).Problem(); !errors.Is(err, store.ErrLost) {
		t.Errorf("the problem is %v", err)
	}
}

func TestAScrapeWhileTheLockIsHeldSaysSo(t *testing.T) {
	dir := t.TempDir()
	stores(t, dir)
	c := newCollector(dir)
	err := store.New(dir, store.Options{}).Read(func(*store.Tx) error {
		got := gathered(t, c)
		if value, ok := got["bolt_local_up"]; !ok || value != 0 {
			t.Errorf("bolt_local_up is %v (there: %v)", value, ok)
		}
		for name := range got {
			if strings.HasPrefix(name, "bolt_local_range_set") {
				t.Errorf("there is %s, which nobody has read", name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
