package ipam_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bolt-local/bolt-local/ipam"
)

// hostLocal writes reservations as a host-local of before 0.8.0 has left them:
// the container id alone.
func (n *node) hostLocal(t *testing.T, byAddr map[string]string) {
	t.Helper()
	dir := filepath.Join(n.dir, "n") // the configuration's dataDir is host-local's too
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for addr, id := range byAddr {
		if err := os.WriteFile(filepath.Join(dir, addr), []byte(id), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// cached writes libcni's cache file of an attachment.
func cached(t *testing.T, dir, id, ifname, netns, addr string) {
	t.Helper()
	doc := fmt.Sprintf(`{"kind":"cniCacheV1","containerId":%q,"ifName":%q,"networkName":"n","netns":%q,
		"result":{"cniVersion":"1.0.0","ips":[{"address":"%s/24"}]}}`, id, ifname, netns, addr)
	if err := os.WriteFile(filepath.Join(dir, "n-"+id+"-"+ifname), []byte(doc), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestDELOfAnUnknownIfname(t *testing.T) {
	files := map[string]string{"10.0.0.5": "old", "10.0.0.6": "old", "10.0.0.7": "other"}
	prev := map[string]any{"cniVersion": "1.0.0", "ips": []any{map[string]any{"address": "10.0.0.5/24"}}}
	for name, c := range map[string]struct {
		prepare func(t *testing.T, n *node, cache string)
		prev    any
		left    string // which of the old container's addresses stay
		told    bool
	}{
		"prevResult names one":             {nil, prev, "10.0.0.6", false},
		"the container's namespace is out": {nil, nil, "", false},
		"nobody knows, and it is alive": {func(t *testing.T, n *node, _ string) {
			n.spaces["/ns/old"] = 5
		}, nil, "10.0.0.5 10.0.0.6", true},
		"the cache names one": {func(t *testing.T, n *node, cache string) {
			n.spaces["/ns/old"] = 5
			cached(t, cache, "old", "eth0", "/elsewhere", "10.0.0.6")
		}, nil, "10.0.0.5", false},
		"the cache names another interface's": {func(t *testing.T, n *node, cache string) {
			n.spaces["/ns/old"] = 5
			cached(t, cache, "old", "net1", "/elsewhere", "10.0.0.6")
		}, nil, "10.0.0.5 10.0.0.6", true},
	} {
		t.Run(name, func(t *testing.T) {
			n, cache := newNode(t.TempDir()), t.TempDir()
			n.hostLocal(t, files)
			cfg := conf(net24 + `,"cniCacheDirs":["` + cache + `"]`)
			mustAdd(t, n, "new", cfg)
			if c.prepare != nil {
				c.prepare(t, n, cache)
			}
			del := cfg
			if c.prev != nil {
				del = with(cfg, "prevResult", c.prev)
			}
			n.warned = nil
			if err := n.plugin().Del(n.call("old", del)); err != nil {
				t.Fatal(err)
			}
			held := n.held(t)
			if held["10.0.0.7"] != "other" || held["10.0.0.2"] != "new" {
				t.Errorf("others were touched: %v", held)
			}
			var left []string
			for _, addr := range []string{"10.0.0.5", "10.0.0.6"} {
				if _, ok := held[addr]; ok {
					left = append(left, addr)
				}
				_, err := os.Stat(filepath.Join(n.dir, "n", addr))
				if _, ok := held[addr]; ok != (err == nil) {
					t.Errorf("%s: recorded %v, host-local's file: %v", addr, ok, err)
				}
			}
			if got := strings.Join(left, " "); got != c.left {
				t.Errorf("left: %q, want %q", got, c.left)
			}
			if told := strings.Contains(strings.Join(n.warned, "\n"), "are not known"); told != c.told {
				t.Errorf("told: %v, want %v: %q", told, c.told, n.warned)
			}
		})
	}
}

func TestAnImportIsCompletedFromTheCache(t *testing.T) {
	n, cache := newNode(t.TempDir()), t.TempDir()
	n.hostLocal(t, map[string]string{"10.0.0.5": "two", "10.0.0.6": "two", "10.0.0.7": "dead"})
	n.spaces["/ns/two"] = 7
	cached(t, cache, "two", "eth0", "/ns/two", "10.0.0.5")
	cached(t, cache, "two", "net-1", "/ns/two", "10.0.0.6")
	cached(t, cache, "dead", "eth0", "/ns/dead", "10.0.0.7")
	cfg := conf(net24 + `,"cniCacheDirs":["` + cache + `"]`)
	mustAdd(t, n, "new", cfg)

	// Each interface is now known, so the DEL of one leaves the other's.
	if err := n.plugin().Del(n.call("two", cfg)); err != nil {
		t.Fatal(err)
	}
	if held := n.held(t); held["10.0.0.5"] != "" || held["10.0.0.6"] != "two" || held["10.0.0.7"] != "dead" {
		t.Errorf("held: %v", held)
	}
}

func TestADDTakesAnUnknownIfnameOverOnAWitnessAlone(t *testing.T) {
	for name, witnessed := range map[string]bool{"with the cache": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			n, cache := newNode(t.TempDir()), t.TempDir()
			n.hostLocal(t, map[string]string{"10.0.0.5": "old"})
			cfg := conf(net24 + `,"cniCacheDirs":["` + cache + `"]`)
			mustAdd(t, n, "new", cfg) // the import; nothing is cached yet
			want := "10.0.0.3"
			if witnessed {
				cached(t, cache, "old", "eth0", "/ns/old", "10.0.0.5")
				want = "10.0.0.5"
			}
			mustAdd(t, n, "old", cfg, want)
		})
	}
}

func TestCHECKAndGCKnowAnUnknownIfname(t *testing.T) {
	n := newNode(t.TempDir())
	n.hostLocal(t, map[string]string{"10.0.0.5": "old", "10.0.0.6": "gone"})
	mustAdd(t, n, "new", conf(net24))
	result := func(addr string) map[string]any {
		return map[string]any{"cniVersion": "1.0.0", "ips": []any{map[string]any{"address": addr}}}
	}
	if err := n.plugin().Check(n.call("old", with(conf(net24), "prevResult", result("10.0.0.5/24")))); err != nil {
		t.Errorf("CHECK with its address: %v", err)
	}
	wantCode(t, n.plugin().Check(n.call("old", with(conf(net24), "prevResult", result("10.0.0.6/24")))), ipam.CodeNothingAllocated)

	valid := []any{
		map[string]any{"containerID": "old", "ifname": "whatever"},
		map[string]any{"containerID": "new", "ifname": "eth0"},
	}
	gc := with(conf(net24), "cni.dev/valid-attachments", valid)
	if err := n.plugin().GC(ipam.Call{Stdin: []byte(strings.ReplaceAll(gc, "$D", n.dir))}); err != nil {
		t.Fatal(err)
	}
	if held := n.held(t); held["10.0.0.5"] != "old" || held["10.0.0.6"] != "" {
		t.Errorf("held after GC: %v", held)
	}
}

func TestTheFirstCallMayBeTheDELOfHostLocalsPod(t *testing.T) {
	n := newNode(t.TempDir())
	n.hostLocal(t, map[string]string{"10.0.0.5": "old\r\neth0", "10.0.0.6": "living\r\neth0"})
	if err := n.plugin().Del(n.call("old", conf(net24))); err != nil {
		t.Fatal(err)
	}
	if held := n.held(t); len(held) != 1 || held["10.0.0.6"] != "living" {
		t.Errorf("held: %v", held)
	}
}

// host-local gave it another address in this boot: the one of an earlier boot is
// no second one.
func TestAnAddressOfAnEarlierBootIsNotHeldBesideAnother(t *testing.T) {
	n := newNode(t.TempDir())
	n.hostLocal(t, map[string]string{"10.0.0.9": "x\r\neth0"})
	mustAdd(t, n, "a", conf(net24), "10.0.0.2")
	n.boot++
	mustAdd(t, n, "b", conf(net24))
	n.hostLocal(t, map[string]string{"10.0.0.8": "a\r\neth0"})
	_, err := n.add("a", with(conf(net24), "args", map[string]any{"cni": map[string]any{"ips": []string{"10.0.0.2"}}}))
	wantCode(t, err, ipam.CodeHoldsAnother, "10.0.0.8")
	mustAdd(t, n, "a", conf(net24), "10.0.0.8")
}
