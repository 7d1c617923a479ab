package nodestatus_test

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bolt-local/bolt-local/cmd/internal/nodestatus"
	"github.com/bolt-local/bolt-local/cmd/internal/nodestatus/nodestatustest"
	"github.com/bolt-local/bolt-local/ipam"
)

func TestMetricsAreExact(t *testing.T) {
	got := map[string][]nodestatus.Sample{}
	for _, f := range nodestatus.New(nodestatustest.Snapshot(), nodestatustest.Plugin()).Metrics() {
		got[f.Name] = f.Samples
	}
	in := func(network, set string) []nodestatus.Label {
		return []nodestatus.Label{{"network", network}, {"range_set", set}}
	}
	want := []nodestatus.Sample{
		{in("podnet", "10.1.0.1-10.1.0.254"), "250"},
		{in("podnet", "fd00:1::1-fd00:1::ffff:ffff:ffff:ffff"), "18446744073709551613"},
		{in("storage", "10.1.0.1-10.1.0.2,192.168.7.10-192.168.7.10"), "0"},
	}
	if diff := cmp.Diff(want, got["bolt_local_range_set_free"]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestACheckpointIsOKWhereItCanBeBelievedAndWritten(t *testing.T) {
	fails := errors.New("it fails")
	for story, c := range map[string]struct {
		snap nodestatus.Snapshot
		want string
	}{
		"all is well":                         {nodestatus.Snapshot{}, "1"},
		"it cannot be believed":               {nodestatus.Snapshot{Problem: fails}, "0"},
		"it cannot be written":                {nodestatus.Snapshot{Unwritable: fails}, "0"},
		"neither":                             {nodestatus.Snapshot{Problem: fails, Unwritable: fails}, "0"},
		"one network's directory is at fault": {nodestatus.Snapshot{Networks: []nodestatus.Network{{Name: "podnet", Problem: fails}}}, "1"},
	} {
		st := nodestatus.New(c.snap, nodestatustest.Plugin())
		got := ""
		for _, f := range st.Metrics() {
			if f.Name == "bolt_local_checkpoint_ok" {
				got += f.Samples[0].Value
			}
		}
		if got != c.want {
			t.Errorf("%s: it is %q, want %s", story, got, c.want)
		}
		if want := c.snap.Problem == nil && c.snap.Unwritable != nil; st.Checkpoint.Unwritable != want {
			t.Errorf("%s: unwritable is %v, want %v", story, st.Checkpoint.Unwritable, want)
		}
	}
}

// A 0 would say that all are there.
func TestWhoseNamespaceIsGoneIsNotCountedWhereThatIsNotKnown(t *testing.T) {
	for story, c := range map[string]struct {
		plugin *ipam.Plugin
		want   int // samples
		unsure string
	}{
		"each process could be asked":  {nodestatustest.Plugin(), 3, ""},
		"a process could not be asked": {&ipam.Plugin{Namespaces: nodestatustest.Unsure{}}, 0, "not every process can be asked"},
	} {
		st := nodestatus.New(nodestatustest.Snapshot(), c.plugin)
		if st.NamespacesUnsure != c.unsure {
			t.Errorf("%s: unsure is %q", story, st.NamespacesUnsure)
		}
		for _, f := range st.Metrics() {
			hasKind := slices.ContainsFunc(f.Samples, func(s nodestatus.Sample) bool { return s.Labels[0].Value == string(nodestatus.KindNamespaceGone) })
			if f.Name == "bolt_local_network_namespace_gone" && len(f.Samples) != c.want || f.Name == "bolt_local_attention" && hasKind != (c.want > 0) {
				t.Errorf("%s: %s has %v", story, f.Name, f.Samples)
			}
		}
	}
}

func TestMetricsAreOfOneKindInEachFamily(t *testing.T) {
	bad := nodestatustest.Snapshot()
	bad.Path, bad.Format.Writer = "/d\xff/checkpoint.db", "v0\xff"
	for story, snap := range map[string]nodestatus.Snapshot{
		"nothing":          {Path: "/d/checkpoint.db"},
		"everything":       nodestatustest.Snapshot(),
		"a path in Latin1": bad,
	} {
		t.Run(story, func(t *testing.T) {
			families := map[string]bool{}
			for _, f := range nodestatus.New(snap, nodestatustest.Plugin()).Metrics() {
				if families[f.Name] || f.Name == "" || f.Help == "" {
					t.Errorf("family %q, help %q is there twice, or has no name or help", f.Name, f.Help)
				}
				families[f.Name] = true
				wantOfOneKind(t, f)
			}
		})
	}
}

// wantOfOneKind checks what a Prometheus registry insists on.
func wantOfOneKind(t *testing.T, f nodestatus.Family) {
	t.Helper()
	names := func(s nodestatus.Sample) []string {
		var all []string
		for _, l := range s.Labels {
			all = append(all, l.Name)
		}
		return all
	}
	seen := map[string]bool{}
	for _, s := range f.Samples {
		if !slices.Equal(names(s), names(f.Samples[0])) {
			t.Errorf("%s has labels %q and %q", f.Name, names(s), names(f.Samples[0]))
		}
		if key := fmt.Sprintf("%q", s.Labels); seen[key] {
			t.Errorf("%s has two samples with the labels %s", f.Name, key)
		} else {
			seen[key] = true
		}
		if _, ok := new(big.Int).SetString(s.Value, 10); !ok {
			t.Errorf("%s has the value %q", f.Name, s.Value)
		}
	}
}

func TestLabelsAreUTF8(t *testing.T) {
	families := nodestatus.New(nodestatus.Snapshot{Path: "a\\b\"c\nd\xff"}, nodestatustest.Plugin()).Metrics()
	if got, want := families[0].Samples[0].Labels, []nodestatus.Label{{"path", "a\\b\"c\nd\uFFFD"}}; !slices.Equal(got, want) {
		t.Errorf("labels %q, want %q", got, want)
	}
}
