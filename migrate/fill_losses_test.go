package migrate

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/backfill"
	"github.com/bolt-local/bolt-local/store"
)

func TestAfterALossADDIsServedOnceEveryPodIsKnown(t *testing.T) {
	for name, lose := range map[string]func(*ailing){
		"the data directory is gone": func(n *ailing) {
			for _, name := range []string{store.CheckpointFile, store.JournalFile, store.LockFile, "deferred"} {
				if err := os.RemoveAll(n.file(name)); err != nil {
					n.t.Fatal(err)
				}
			}
		},
		"nothing of it can be read": (*ailing).lostAll,
	} {
		t.Run(name, func(t *testing.T) {
			n := newAiling(t)
			a, b := n.mustAdd("podnet", "", "a"), n.mustAdd("podnet", "", "b")
			lose(n)
			n.refused("ADD", second(n.add("podnet", "", "c")))
			fill := Backfill{
				Configs: []*ipam.Config{n.config("podnet", "10.6.0.0/24", "")},
				Running: []backfill.Sandbox{n.runs("a", a.String()), n.runs("b", b.String())},
			}
			before := n.names()
			dry := fill
			dry.DryRun = true
			if r := n.fills(dry); r.Repaired == nil || outcomes(r)[backfill.Added] != 2 {
				t.Errorf("a dry run would do %+v", r)
			}
			if after := n.names(); !slices.Equal(before, after) {
				t.Errorf("a dry run has left %q, there was %q", after, before)
			}
			r := n.fills(fill)
			if r.Repaired == nil || r.Accepted || r.Lost == "" {
				t.Errorf("of an incomplete list: %+v", r)
			}
			n.refused("ADD", second(n.add("podnet", "", "c")))
			fill.Missing = "/etc/cni/net.d/10-a.conf is left out"
			if r := n.fills(fill); r.Accepted || !strings.HasPrefix(r.Lost, fill.Missing) {
				t.Errorf("of a list that lacks something: %+v", r)
			}
			fill.Complete = true
			if r := n.fills(fill); !r.Accepted || outcomes(r)[backfill.Known] != 2 {
				t.Errorf("of a complete list: %+v", r)
			}
			if got := n.mustAdd("podnet", "", "c"); got == a || got == b {
				t.Errorf("c got %s", got)
			}
			if r := n.fills(fill); r.Accepted || r.Repaired != nil {
				t.Errorf("once more: %+v", r)
			}
		})
	}
}

func TestALossIsAcceptedOnlyIfEveryRunningPodIsPlaced(t *testing.T) {
	for name, change := range map[string]func(*ailing, *Backfill){
		"no network is configured": func(_ *ailing, b *Backfill) { b.Configs = nil },
		"the network's ranges are not known": func(_ *ailing, b *Backfill) {
			b.Configs[0].RangeSets = nil
		},
		"an address lies elsewhere": func(n *ailing, b *Backfill) { b.Running = append(b.Running, n.runs("c", "192.0.2.1")) },
		"a sandbox has no address": func(n *ailing, b *Backfill) {
			s := n.runs("c", "10.6.0.9")
			s.Interfaces = nil
			b.Running = append(b.Running, s)
		},
		"not everything could be read": func(_ *ailing, b *Backfill) { b.Complete = false },
		"the caller is in doubt": func(_ *ailing, b *Backfill) {
			b.Doubt = func(string) string { return "not yet" }
		},
		"the caller is in doubt, of a dry run": func(_ *ailing, b *Backfill) {
			b.DryRun = true
			b.Doubt = func(string) string { return "not yet" }
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := newAiling(t)
			a := n.mustAdd("podnet", "", "a")
			n.lostAll()
			fill := Backfill{
				Configs:  []*ipam.Config{n.config("podnet", "10.6.0.0/24", "")},
				Running:  []backfill.Sandbox{n.runs("a", a.String())},
				Complete: true,
			}
			change(n, &fill)
			if r := n.fills(fill); r.Accepted || r.Lost == "" {
				t.Errorf("%+v", r)
			}
			n.refused("ADD", second(n.add("podnet", "", "b")))
		})
	}
}

// A backup brings back whom the address was taken from since.
func TestOfAnAddressThatAnotherIsRecordedForTheRunningPodIsNotForgotten(t *testing.T) {
	for name, c := range map[string]struct {
		netns    string // of the one that is recorded
		accepted bool
		want     string
	}{
		"the other's namespace is gone":      {netns: "/ns/a", accepted: true, want: "b"},
		"nobody knows the other's namespace": {netns: "/elsewhere", want: "a"},
	} {
		t.Run(name, func(t *testing.T) {
			n := newAiling(t)
			call := n.call("podnet", "", "a")
			call.NetNS = c.netns
			if _, err := n.plugin().Add(call); err != nil {
				t.Fatal(err)
			}
			backup := n.backup()
			n.ended("a")
			n.lostAll()
			n.repaired(store.Repair{Backup: backup})
			r := n.fills(Backfill{
				Configs:  []*ipam.Config{n.config("podnet", "10.6.0.0/24", "")},
				Running:  []backfill.Sandbox{n.runs("b", "10.6.0.2")},
				Complete: true,
			})
			if r.Accepted != c.accepted || (r.Lost == "") != c.accepted {
				t.Errorf("accepted %v, lost %q", r.Accepted, r.Lost)
			}
			n.expectHeld("podnet", map[string]string{"10.6.0.2": c.want})
		})
	}
}

func TestAfterARepairThatHadEverythingNothingIsRefused(t *testing.T) {
	n := newAiling(t)
	n.mustAdd("podnet", "", "a")
	n.damaged(false)
	r := n.fills(Backfill{Configs: []*ipam.Config{n.config("podnet", "10.6.0.0/24", "")}}) // which is not complete
	if r.Repaired == nil || r.Accepted || r.Lost != "" {
		t.Errorf("%+v", r)
	}
	n.mustAdd("podnet", "", "b")
}

func TestWhatCouldNotBeAcceptedIsNotSaidToBe(t *testing.T) {
	n := newAiling(t)
	a := n.mustAdd("podnet", "", "a")
	n.lostAll()
	state := n.state(nil)
	state.Store = store.New(n.dir, store.Options{Writer: "1", Warn: state.Warn, BootID: func() string { return n.boot }, LockTimeout: 50 * time.Millisecond})
	another := flock.New(n.file(store.LockFile))
	r, err := state.Backfill(Backfill{
		Configs:  []*ipam.Config{n.config("podnet", "10.6.0.0/24", "")},
		Running:  []backfill.Sandbox{n.runs("a", a.String())},
		Complete: true,
		Doubt: func(string) string { // another process takes the lock now
			if err := another.Lock(); err != nil {
				t.Fatal(err)
			}
			return ""
		},
	})
	if err := another.Unlock(); err != nil {
		t.Fatal(err)
	}
	if err == nil || r.Accepted {
		t.Errorf("accepted %v, error %v", r.Accepted, err)
	}
	n.refused("ADD", second(n.add("podnet", "", "b")))
}

// A person who fills one network, or reads one error, waits for ADD all the same.
func TestThatADDStaysRefusedIsSaidWhateverElseHasHappened(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*ailing, *Backfill)
		want   string
	}{
		"one network was filled": {func(_ *ailing, b *Backfill) { b.Network = "podnet" }, "network podnet alone was filled"},
		"a sandbox is left out": {func(n *ailing, b *Backfill) {
			b.Running = append(b.Running, n.runs("a\x00b", "10.6.0.9"))
		}, "not all of it could be recorded"},
	} {
		t.Run(name, func(t *testing.T) {
			n := newAiling(t)
			a := n.mustAdd("podnet", "", "a")
			n.lostAll()
			b := Backfill{
				Configs:  []*ipam.Config{n.config("podnet", "10.6.0.0/24", "")},
				Running:  []backfill.Sandbox{n.runs("a", a.String())},
				Complete: true,
			}
			c.change(n, &b)
			r, err := n.state(nil).Backfill(b)
			if r.Repaired == nil || r.Accepted || !strings.HasPrefix(r.Lost, c.want) {
				t.Errorf("accepted %v, lost %q, want %q; error %v", r.Accepted, r.Lost, c.want, err)
			}
			n.refused("ADD", second(n.add("podnet", "", "b")))
		})
	}
}

// The reason is the same each time.
func TestEachLossIsAnother(t *testing.T) {
	n := newAiling(t)
	a := n.mustAdd("podnet", "", "a")
	var asked []string
	b := Backfill{
		Configs:  []*ipam.Config{n.config("podnet", "10.6.0.0/24", "")},
		Running:  []backfill.Sandbox{n.runs("a", a.String())},
		Complete: true,
		Doubt: func(loss string) string {
			asked = append(asked, loss)
			return "not yet"
		},
	}
	n.lostAll()
	n.fills(b)
	n.fills(b)
	n.lostAll()
	n.repaired(store.Repair{}) // another process has found it
	n.fills(b)
	if len(asked) != 3 || asked[0] == "" || asked[0] != asked[1] || asked[1] == asked[2] {
		t.Errorf("asked about %q", asked)
	}
}

func TestALossThatIsNewerThanTheLookIsNotAccepted(t *testing.T) {
	n := newAiling(t)
	a := n.mustAdd("podnet", "", "a")
	n.lostAll()
	r, err := n.state(nil).Backfill(Backfill{
		Configs:  []*ipam.Config{n.config("podnet", "10.6.0.0/24", "")},
		Running:  []backfill.Sandbox{n.runs("a", a.String())},
		Complete: true,
		Doubt: func(string) string {
			n.lostAll()
			n.repaired(store.Repair{})
			return ""
		},
	})
	if !errors.Is(err, store.ErrLost) || r.Accepted {
		t.Errorf("accepted %v, error %v", r.Accepted, err)
	}
	n.refused("ADD", second(n.add("podnet", "", "b")))
}
