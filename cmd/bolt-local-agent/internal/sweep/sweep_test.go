package sweep

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/ipam/netns"
	"github.com/bolt-local/bolt-local/migrate"
	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/record"
)

const (
	now   = 1000 * time.Second
	grace = 600 * time.Second
)

// node has one network, and a runtime that answers what it is told to.
type node struct {
	t       *testing.T
	dir     string
	listing map[string]bool
	asked   int
	// between is called before the second listing.
	between func()
	err     error // of the runtime
}

func newNode(t *testing.T) *node { return &node{t: t, dir: t.TempDir(), listing: map[string]bool{}} }

func (n *node) state() migrate.State {
	namespaces := &netns.System{}
	plugin := &ipam.Plugin{Namespaces: namespaces}
	return migrate.State{
		Store:      store.New(n.dir, store.Options{Warn: func(s string) { n.t.Log(s) }}),
		Namespaces: namespaces, Stale: plugin.Stale, Warn: func(s string) { n.t.Log(s) },
	}
}

func (n *node) sweeper(change ...func(*Sweeper)) *Sweeper {
	s := &Sweeper{
		Options: Options{Grace: grace},
		State:   n.state,
		List: func(context.Context) (map[string]bool, error) {
			if n.asked++; n.asked == 2 && n.between != nil {
				n.between()
			}
			return maps.Clone(n.listing), n.err
		},
		BootTime: func() time.Duration { return now },
	}
	for _, c := range change {
		c(s)
	}
	return s
}

// pod is an allocation that is freed, unless it is changed.
func pod(addr string, change ...func(*record.Allocation, *record.Holder)) record.Allocation {
	a := record.Allocation{Addr: netip.MustParseAddr(addr)}
	id := "box" + addr[len(addr)-1:]
	h := record.Holder{
		Attachment: record.Attachment{ContainerID: id, IfName: "eth0"},
		Origin:     record.OriginAdd, BootTime: now - grace,
		Pod: record.Pod{UID: "uid", InfraContainerID: id},
	}
	for _, c := range change {
		c(&a, &h)
	}
	a.Holders = append(a.Holders, h)
	return a
}

func (n *node) store(all ...record.Allocation) {
	n.t.Helper()
	err := n.state().Store.Update(store.Op{Verb: "ADD", Creates: true, Runtime: true}, func(tx *store.Tx) error {
		for _, a := range all {
			if err := tx.Network("podnet").Put(a); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) held() []string {
	n.t.Helper()
	var all []string
	err := n.state().Store.Read(func(tx *store.Tx) error {
		all = nil
		return tx.Network("podnet").Each(func(a record.Allocation) error {
			all = append(all, a.Addr.String())
			return nil
		})
	})
	if err != nil {
		n.t.Fatal(err)
	}
	return all
}

func TestOnlyWhatTheRuntimeDoesNotKnowIsFreed(t *testing.T) {
	alive := (&netns.System{}).Identify("/proc/self/ns/net")
	for name, c := range map[string]struct {
		alloc  record.Allocation
		change func(*node, *Sweeper)
		stays  bool
		says   string // of why it is kept
	}{
		"its DEL was lost":                     {alloc: pod("10.0.0.1")},
		"its sandbox is listed":                {pod("10.0.0.1"), func(n *node, _ *Sweeper) { n.listing["box1"] = true }, true, ""},
		"its sandbox is listed, and not ready": {pod("10.0.0.1"), func(n *node, _ *Sweeper) { n.listing["box1"] = false }, true, ""},
		"its infra container is listed": {pod("10.0.0.1", func(_ *record.Allocation, h *record.Holder) { h.Pod.InfraContainerID = "infra" }),
			func(n *node, _ *Sweeper) { n.listing["infra"] = true }, true, ""},
		"its sandbox appears in the second listing": {pod("10.0.0.1"),
			func(n *node, _ *Sweeper) { n.between = func() { n.listing["box1"] = true } }, true, ""},
		"its sandbox was in the first listing alone": {pod("10.0.0.1"), func(n *node, _ *Sweeper) {
			n.listing["box1"] = true
			n.between = func() { delete(n.listing, "box1") }
		}, true, ""},
		"it is younger than the grace period": {pod("10.0.0.1", func(_ *record.Allocation, h *record.Holder) { h.BootTime++ }), nil, true, ""},
		"its time is of an earlier boot":      {pod("10.0.0.1", func(_ *record.Allocation, h *record.Holder) { h.BootTime = now + 1 }), nil, true, "its age is not recorded"},
		"its time is not recorded":            {pod("10.0.0.1", func(_ *record.Allocation, h *record.Holder) { h.BootTime = 0 }), nil, true, "its age is not recorded"},
		"its pod has a uid alone":             {alloc: pod("10.0.0.1", func(_ *record.Allocation, h *record.Holder) { h.Pod = record.Pod{UID: "u"} })},
		"podman made it":                      {pod("10.0.0.1", func(_ *record.Allocation, h *record.Holder) { h.Pod = record.Pod{Name: "web"} }), nil, true, ""},
		"its network is named": {pod("10.0.0.1", func(_ *record.Allocation, h *record.Holder) { h.Pod = record.Pod{} }),
			func(_ *node, s *Sweeper) { s.Networks = []string{"podnet"} }, false, ""},
		"another network is named": {pod("10.0.0.1", func(_ *record.Allocation, h *record.Holder) { h.Pod = record.Pod{} }),
			func(_ *node, s *Sweeper) { s.Networks = []string{"othernet"} }, true, ""},
		"its network namespace was recorded in another mount namespace": {pod("10.0.0.1", func(_ *record.Allocation, h *record.Holder) {
			h.NetNS = record.NetNS{Path: "/run/netns/gone", Inode: 7, MountNS: 1}
		}), nil, true, "cannot be told from this mount namespace: run the agent in that of the runtime, or free it by `bolt-local release --force --network podnet --ip 10.0.0.1 --data-dir /"},
		"its network namespace is gone": {alloc: pod("10.0.0.1", func(_ *record.Allocation, h *record.Holder) {
			h.NetNS = record.NetNS{Path: "/run/netns/gone", Inode: 7, MountNS: alive.MountNS}
		})},
		"its network namespace is alive": {pod("10.0.0.1", func(_ *record.Allocation, h *record.Holder) { h.NetNS = alive }), nil, true, "is alive"},
		"it was given again meanwhile": {pod("10.0.0.1"), func(n *node, _ *Sweeper) {
			n.between = func() { n.store(pod("10.0.0.1", func(_ *record.Allocation, h *record.Holder) { h.BootTime = now })) }
		}, true, ""},
		"it is a dry run":             {pod("10.0.0.1"), func(_ *node, s *Sweeper) { s.DryRun = true }, true, ""},
		"the runtime does not answer": {pod("10.0.0.1"), func(n *node, _ *Sweeper) { n.err = errors.New("down") }, true, ""},
		"the runtime dies after the first listing": {pod("10.0.0.1"), func(n *node, _ *Sweeper) {
			n.between = func() { n.err = errors.New("down") }
		}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			n.store(c.alloc, pod("10.0.0.9"))
			n.listing["box9"] = true
			s := n.sweeper()
			if c.change != nil {
				c.change(n, s)
			}
			swept, err := s.Run(t.Context())
			if !errors.Is(err, n.err) {
				t.Errorf("error %v, want %v", err, n.err)
			}
			want := []string{"10.0.0.1", "10.0.0.9"}
			if !c.stays {
				want = want[1:]
			}
			if got := n.held(); !slices.Equal(got, want) {
				t.Errorf("held %v, want %v", got, want)
			}
			if planned := s.DryRun || !c.stays; planned != (len(swept.Freed) == 1) {
				t.Errorf("freed %v", swept.Freed)
			}
			if c.says == "" && len(swept.Kept) > 0 || c.says != "" && (len(swept.Kept) != 1 || !strings.Contains(swept.Kept[0], c.says)) {
				t.Errorf("kept %v, want %q", swept.Kept, c.says)
			}
		})
	}
}

// The grace period of what carries no time, or that of an earlier boot's clock,
// begins when this process first sees it.
func TestWhatCarriesNoTimeOfThisBootIsAsOldAsItIsKnown(t *testing.T) {
	for name, recorded := range map[string]time.Duration{"no time": 0, "one that is yet to come": 100 * now} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			n.store(pod("10.0.0.1", func(_ *record.Allocation, h *record.Holder) { h.BootTime = recorded }))
			clock := now
			s := n.sweeper(func(s *Sweeper) { s.BootTime = func() time.Duration { return clock } })
			for _, step := range []struct {
				later time.Duration
				held  int
			}{{0, 1}, {grace - 1, 1}, {1, 0}} {
				clock += step.later
				if _, err := s.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
				if got := n.held(); len(got) != step.held {
					t.Errorf("%s later: held %v", clock-now, got)
				}
			}
		})
	}
}

// With a cancelled context the wait between the listings ends, and nothing is
// freed.
func TestARunThatIsInterruptedFreesNothing(t *testing.T) {
	n := newNode(t)
	n.store(pod("10.0.0.1"))
	ctx, cancel := context.WithCancel(t.Context())
	s := n.sweeper(func(s *Sweeper) {
		s.ConfirmAfter = time.Hour
		list := s.List
		s.List = func(ctx context.Context) (map[string]bool, error) { defer cancel(); return list(ctx) }
	})
	swept, err := s.Run(ctx)
	if !errors.Is(err, context.Canceled) || len(swept.Freed) > 0 {
		t.Errorf("freed %v, %v", swept.Freed, err)
	}
	if diff := cmp.Diff([]string{"10.0.0.1"}, n.held()); diff != "" {
		t.Error(diff)
	}
}

// foreign takes this process's own namespace for another's.
type foreign struct{ *netns.System }

func (foreign) IsOwn(record.NetNS) bool { return false }

// What was imported has no namespace; libcni's cache may know it.
func TestANamespaceThatTheCacheKnowsIsAlive(t *testing.T) {
	for name, c := range map[string]struct {
		ifname string
		late   bool // it is written after the first listing
	}{
		"of an interface": {"eth0", false},
		"of a container whose interface is not known":           {"", false},
		"of an interface, late":                                 {"eth0", true},
		"of a container whose interface is not known, and late": {"", true},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			n.store(pod("10.0.0.1", func(_ *record.Allocation, h *record.Holder) { h.IfName = c.ifname }),
				pod("10.0.0.2", func(_ *record.Allocation, h *record.Holder) { h.IfName, h.Pod = "", record.Pod{} })) // of which the cache is asked first
			dir := t.TempDir()
			if c.late {
				n.between = func() { cachedResult(t, dir) }
			} else {
				cachedResult(t, dir)
			}
			swept, err := n.sweeper(func(s *Sweeper) {
				s.Cache.Dirs = []string{dir}
				s.State = func() migrate.State {
					state := n.state()
					state.Namespaces = foreign{&netns.System{}}
					return state
				}
			}).Run(t.Context())
			if err != nil || len(swept.Freed) > 0 || len(swept.Kept) != 1 || len(n.held()) != 2 {
				t.Errorf("freed %v, kept %v, %v", swept.Freed, swept.Kept, err)
			}
		})
	}
}

// cachedResult writes that of box1 in podnet, and returns its path.
func cachedResult(t *testing.T, dir string) string {
	t.Helper()
	doc := `{"kind":"cniCacheV1","containerId":"box1","ifName":"eth0","networkName":"podnet","netns":"/proc/self/ns/net","result":{"cniVersion":"1.0.0","ips":[{"address":"10.0.0.1/24"}]}}`
	path := filepath.Join(dir, "podnet-box1-eth0")
	if err := os.WriteFile(path, []byte(doc), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestACacheIsReadOnceForAllHoldersOfANetwork(t *testing.T) {
	dir := t.TempDir()
	path := cachedResult(t, dir)
	n := newNode(t)
	s := n.sweeper(func(s *Sweeper) { s.Cache.Dirs = []string{dir} })
	if _, err := s.look(); err != nil {
		t.Fatal(err)
	}
	c := candidate{network: "podnet", holder: record.Holder{Attachment: record.Attachment{ContainerID: "box1"}}}
	other := candidate{network: "podnet", holder: record.Holder{Attachment: record.Attachment{ContainerID: "box2"}}}
	if got := s.cached(other); len(got) != 0 {
		t.Errorf("of another container: %v", got)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if got := s.cached(c); len(got) != 1 {
		t.Errorf("the cache was read anew: %v", got)
	}
}

func TestADamagedCheckpointIsHealedBefore(t *testing.T) {
	for name, dryRun := range map[string]bool{"": false, "but not in a dry run": true} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			n.store(pod("10.0.0.1"), pod("10.0.0.9"))
			n.listing["box9"] = true
			path := n.state().Store.Path()
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			swept, err := n.sweeper(func(s *Sweeper) { s.DryRun = dryRun }).Run(t.Context())
			if dryRun {
				if info, statErr := os.Stat(path); !errors.Is(err, store.ErrDamaged) || statErr != nil || info.Size() != 0 {
					t.Errorf("error %v; the file: %v, %v", err, info, statErr)
				}
				return
			}
			if got := n.held(); err != nil || len(swept.Freed) != 1 || !slices.Equal(got, []string{"10.0.0.9"}) {
				t.Errorf("freed %v, held %v, %v", swept.Freed, got, err)
			}
		})
	}
}

func TestANetworkThatIsNamedAndNotStoredIsTold(t *testing.T) {
	n := newNode(t)
	n.store(pod("10.0.0.1"))
	s := n.sweeper(func(s *Sweeper) { s.Networks = []string{"typo", "podnet"} })
	swept, err := s.Run(t.Context())
	if err != nil || len(swept.Freed) != 1 {
		t.Errorf("freed %v, %v", swept.Freed, err)
	}
	if len(swept.Unstored) != 1 || !strings.HasPrefix(swept.Unstored[0].Error(), "network typo is not stored in "+n.dir) || !strings.HasSuffix(swept.Unstored[0].Error(), ", which has podnet") {
		t.Errorf("unstored: %v", swept.Unstored)
	}
}
