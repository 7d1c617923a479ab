package migrate

import (
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/backfill"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/record"
)

// config is that of a network, with whatever ranges it is to have.
func (n *ailing) config(network, subnet, phase string) *ipam.Config {
	n.t.Helper()
	cfg, err := ipam.ParseConfig(fmt.Appendf(nil, `{"cniVersion":"1.0.0","name":%q,"type":"bridge","ipam":{"type":"bolt-local","dataDir":%q,"cniCacheDirs":[%q],
"ranges":[[{"subnet":%q}]],"migration":{"phase":%q}}}`, network, n.dir, n.cache, subnet, phase), "")
	if err != nil {
		n.t.Fatal(err)
	}
	return cfg
}

// runs is a sandbox whose namespace is there.
func (n *ailing) runs(id, addr string) backfill.Sandbox {
	path := "/ns/" + id
	n.spaces[path] = uint64(1 + len(n.spaces))
	return backfill.Sandbox{
		ID: id, NetNS: n.spaces.Identify(path), Pod: record.Pod{Namespace: "default", Name: "pod-" + id, UID: "uid-" + id, InfraContainerID: id},
		CreatedAt: time.Unix(1_700_000_000, 0), Interfaces: []backfill.Interface{{Name: "eth0", Addrs: []netip.Addr{netip.MustParseAddr(addr)}}},
	}
}

func (n *ailing) fills(b Backfill) BackfillReport {
	n.t.Helper()
	b.BootTime, b.CacheDirs = time.Minute, []string{n.cache}
	report, err := n.state(nil).Backfill(b)
	if err != nil {
		n.t.Fatalf("backfill: %v", err)
	}
	return report
}

// outcomes counts what became of the claims.
func outcomes(r BackfillReport) map[backfill.Outcome]int {
	count := map[backfill.Outcome]int{}
	for _, f := range r.Filled {
		count[f.Outcome]++
	}
	return count
}

func (n *ailing) expectHeld(network string, want map[string]string) {
	n.t.Helper()
	got, _ := n.held(network)
	text := map[string]string{}
	for addr, id := range got {
		text[addr.String()] = id
	}
	if !maps.Equal(text, want) {
		n.t.Errorf("%s has %v, want %v", network, text, want)
	}
}

func TestWhatRunsIsRecordedWhoeverGaveTheAddress(t *testing.T) {
	for _, phase := range []engine.Phase{engine.Legacy, engine.Expand, engine.Switch, engine.Contract} {
		t.Run(string(phase), func(t *testing.T) {
			n := newAiling(t)
			n.cached("podnet", "10.6.0.2", "a")
			b := Backfill{
				Configs:  []*ipam.Config{n.config("podnet", "10.6.0.0/24", string(phase))},
				Running:  []backfill.Sandbox{n.runs("a", "10.6.0.2"), n.runs("b", "10.6.0.3"), n.runs("c", "192.0.2.1")},
				Complete: true,
			}
			dry := b
			dry.DryRun = true
			if got := outcomes(n.fills(dry)); got[backfill.Added] != 2 {
				t.Errorf("a dry run would do %v", got)
			}
			if _, err := os.Stat(n.dir); err == nil {
				t.Error("a dry run has made the data directory")
			}
			if got := outcomes(n.fills(b)); got[backfill.Added] != 2 {
				t.Errorf("done: %v", got)
			}
			want := map[string]string{"10.6.0.2": "a", "10.6.0.3": "b"}
			n.expectHeld("podnet", want)
			if _, now := n.held("podnet"); now != phase {
				t.Errorf("it is in phase %s", now)
			}
			if again := outcomes(n.fills(b)); again[backfill.Known] != 2 || len(again) != 1 {
				t.Errorf("once more: %v", again)
			}
			if got := n.mustAdd("podnet", string(phase), "d").String(); got != "10.6.0.4" {
				t.Errorf("the next pod got %s", got)
			}
			want["10.6.0.4"] = "d"
			n.expectHeld("podnet", want)
			for _, id := range []string{"a", "b", "d"} {
				n.ended(id)
				call := n.call("podnet", string(phase), id)
				n.ended(id)
				if err := n.plugin().Del(call); err != nil {
					t.Fatal(err)
				}
			}
			n.expectHeld("podnet", map[string]string{})
		})
	}
}

// Both networks have 10.6.0.0/24.
func TestAGuessIsHeldInEachNetworkUntilOneIsSettled(t *testing.T) {
	for name, c := range map[string]struct {
		settle func(*ailing) error
		left   map[string]string
	}{
		"DEL": {func(n *ailing) error { return n.plugin().Del(n.call("podnet", "", "a")) }, map[string]string{}},
		"ADD": {func(n *ailing) error { return second(n.add("podnet", "", "a")) }, map[string]string{"10.6.0.2": "a"}},
		"the cache": {func(n *ailing) error {
			n.cached("podnet", "10.6.0.2", "a")
			r := n.fills(Backfill{Running: []backfill.Sandbox{n.runs("a", "10.6.0.2")}})
			if got := outcomes(r); got[backfill.Completed] != 1 || len(r.Dropped) != 1 {
				n.t.Errorf("done: %v, dropped %v", got, r.Dropped)
			}
			return nil
		}, map[string]string{"10.6.0.2": "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			n := newAiling(t)
			n.fills(Backfill{
				Configs: []*ipam.Config{n.config("podnet", "10.6.0.0/24", ""), n.config("secret", "10.6.0.0/24", "")},
				Running: []backfill.Sandbox{n.runs("a", "10.6.0.2"), n.runs("b", "10.6.0.3")},
			})
			want := map[string]string{"10.6.0.2": "a", "10.6.0.3": "b"}
			n.expectHeld("podnet", want)
			n.expectHeld("secret", want)
			if err := c.settle(n); err != nil {
				t.Fatal(err)
			}
			left := maps.Clone(c.left)
			left["10.6.0.3"] = "b"
			n.expectHeld("podnet", left)
			n.expectHeld("secret", map[string]string{"10.6.0.3": "b"})
			if a := n.stored("podnet", "10.6.0.2"); len(a.Holders) > 0 && a.Holders[0].Guessed() {
				t.Errorf("it is a guess still: %+v", a.Holders[0])
			}
		})
	}
}

func (n *ailing) stored(network, addr string) record.Allocation {
	n.t.Helper()
	var a record.Allocation
	err := n.state(nil).Store.Read(func(tx *store.Tx) error {
		var err error
		a, _, err = tx.Network(network).Get(netip.MustParseAddr(addr))
		return err
	})
	if err != nil {
		n.t.Fatal(err)
	}
	return a
}

func TestWhatHostLocalHasNotRecordedIsFilledIn(t *testing.T) {
	n := newAiling(t)
	n.hostLocalAdds("podnet", "10.6.0.2", "a")
	if err := os.WriteFile(n.file("podnet", "10.6.0.2"), []byte("a"), 0o644); err != nil { // as before 0.7
		t.Fatal(err)
	}
	n.hostLocalAdds("podnet", "10.6.0.3", "another")
	r := n.fills(Backfill{
		Configs: []*ipam.Config{n.config("podnet", "10.6.0.0/24", "switch")},
		Running: []backfill.Sandbox{n.runs("a", "10.6.0.2"), n.runs("b", "10.6.0.3")},
	})
	if got := outcomes(r); got[backfill.Completed] != 1 || got[backfill.Conflict] != 1 {
		t.Errorf("done: %v", got)
	}
	h := n.stored("podnet", "10.6.0.2").Holders[0]
	want := record.Attachment{ContainerID: "a", IfName: "eth0"}
	if h.Attachment != want || len(h.Unknown) > 0 || h.Origin != record.OriginHostLocal || h.Pod.Name != "pod-a" || h.NetNS.Path != "/ns/a" {
		t.Errorf("it is %+v", h)
	}
	n.expectHeld("podnet", map[string]string{"10.6.0.2": "a", "10.6.0.3": "another"})
}

func (n *ailing) names() []string {
	n.t.Helper()
	var all []string
	err := filepath.WalkDir(n.dir, func(path string, _ os.DirEntry, err error) error {
		all = append(all, path)
		return err
	})
	if err != nil {
		n.t.Fatal(err)
	}
	return all
}

func TestOneNetworkThatFailsDoesNotHoldUpTheOthers(t *testing.T) {
	n := newAiling(t)
	n.mustAdd("podnet", "switch", "x")
	elsewhere := n.config("podnet", "10.6.0.0/24", "switch")
	elsewhere.LegacyParent = filepath.Join(n.dir, "elsewhere")
	report, err := n.state(nil).Backfill(Backfill{
		Configs:  []*ipam.Config{elsewhere, n.config("secret", "10.7.0.0/24", "")},
		Running:  []backfill.Sandbox{n.runs("a", "10.6.0.3"), n.runs("b", "10.7.0.2")},
		Complete: true,
	})
	if ipam.CodeOf(err) != ipam.CodeConfig {
		t.Errorf("error %v", err)
	}
	if got := outcomes(report); got[backfill.Added] != 1 {
		t.Errorf("done: %v", got)
	}
	n.expectHeld("secret", map[string]string{"10.7.0.2": "b"})
}

func TestAnAddressThatIsSetAsideHoldsUpNoOther(t *testing.T) {
	n := newAiling(t)
	n.hostLocalAdds("podnet", "10.6.0.2", "a")
	if err := os.WriteFile(n.file("podnet", "10.6.0.3"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	r := n.fills(Backfill{
		Configs: []*ipam.Config{n.config("podnet", "10.6.0.0/24", "switch")},
		Running: []backfill.Sandbox{n.runs("a", "10.6.0.2"), n.runs("b", "10.6.0.3"), n.runs("c", "10.6.0.4")},
	})
	if got := outcomes(r); got[backfill.Blocked] != 1 || got[backfill.Added] != 1 {
		t.Errorf("done: %v", got)
	}
	n.expectHeld("podnet", map[string]string{"10.6.0.2": "a", "10.6.0.4": "c"})
	if got := n.mustAdd("podnet", "switch", "d").String(); got != "10.6.0.5" {
		t.Errorf("d got %s", got)
	}
}

func TestANetworkThatCannotBeLookedAtHoldsUpNoOther(t *testing.T) {
	n := newAiling(t)
	n.mustAdd("podnet", "switch", "x")
	n.mustAdd("othernet", "switch", "y")
	for _, err := range []error{os.RemoveAll(n.file("podnet")), os.Symlink("othernet", n.file("podnet"))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	report, err := n.state(nil).Backfill(Backfill{
		Configs:  []*ipam.Config{n.config("podnet", "10.6.0.0/24", "switch"), n.config("othernet", "10.8.0.0/24", "switch")},
		Running:  []backfill.Sandbox{n.runs("a", "10.6.0.9"), n.runs("b", "10.8.0.9")},
		Complete: true,
	})
	if err == nil || !strings.Contains(err.Error(), "podnet") {
		t.Errorf("error %v", err)
	}
	if got := outcomes(report); got[backfill.Added] != 1 || len(report.Filled) != 1 {
		t.Errorf("done: %v, %v", report.Filled, err)
	}
}

func TestWhatIsNoNameIsNoPartOfAKey(t *testing.T) {
	n := newAiling(t)
	odd := n.runs("c", "10.6.0.4")
	odd.Interfaces[0].Name = "eth\x000"
	report, err := n.state(nil).Backfill(Backfill{
		Configs: []*ipam.Config{n.config("podnet", "10.6.0.0/24", "")},
		Running: []backfill.Sandbox{n.runs("a\x00b", "10.6.0.2"), n.runs("a\nb", "10.6.0.3"), odd},
	})
	if ipam.CodeOf(err) != ipam.CodeEnvironment || strings.Count(err.Error(), "a sandbox is left out") != 2 {
		t.Errorf("error %v", err)
	}
	if got := outcomes(report); got[backfill.Added] != 1 || len(report.Filled) != 1 {
		t.Errorf("done: %v", got)
	}
	if h := n.stored("podnet", "10.6.0.4").Holders[0]; h.IfName != "" || !slices.Contains(h.Unknown, record.UnknownIfName) {
		t.Errorf("it is %+v", h)
	}
}

// The runtime's list is older than the look at what is there. The cached result
// may be left of a DEL that is still on its way.
func TestAPodThatHasEndedMeanwhileIsNotRecorded(t *testing.T) {
	for name, prepare := range map[string]func(*ailing){
		"the runtime alone knew it": func(*ailing) {},
		"it has a cached result":    func(n *ailing) { n.cached("podnet", "10.6.0.2", "a") },
	} {
		t.Run(name, func(t *testing.T) {
			n := newAiling(t)
			prepare(n)
			b := Backfill{
				Configs: []*ipam.Config{n.config("podnet", "10.6.0.0/24", "")},
				Running: []backfill.Sandbox{n.runs("a", "10.6.0.2"), n.runs("b", "10.6.0.3")},
			}
			n.ended("a")
			if got := outcomes(n.fills(b)); got[backfill.Gone] != 1 || got[backfill.Added] != 1 {
				t.Errorf("done: %v", got)
			}
			n.expectHeld("podnet", map[string]string{"10.6.0.3": "b"})
		})
	}
}

// From another mount namespace no path leads anywhere: the pod may run.
func TestAPodWhoseNamespaceCannotBeSeenIsRecorded(t *testing.T) {
	n := newAiling(t)
	s := n.runs("a", "10.6.0.2")
	s.NetNS.Inode = 0
	n.ended("a")
	n.fills(Backfill{Configs: []*ipam.Config{n.config("podnet", "10.6.0.0/24", "")}, Running: []backfill.Sandbox{s}})
	n.expectHeld("podnet", map[string]string{"10.6.0.2": "a"})
}
