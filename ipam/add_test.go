package ipam_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/store"
)

func TestAddGoesRoundRobin(t *testing.T) {
	n := newNode(t.TempDir())
	small := conf(`"subnet":"10.0.0.0/29"`) // .2 to .6
	for i, want := range []string{"10.0.0.2", "10.0.0.3", "10.0.0.4"} {
		id := fmt.Sprint("a", i)
		mustAdd(t, n, id, small, want)
		if err := n.plugin().Del(n.call(id, small)); err != nil {
			t.Fatal(err)
		}
	}
	n.boot++ // the cursor outlives a boot
	mustAdd(t, n, "b", small, "10.0.0.5")
	mustAdd(t, n, "c", small, "10.0.0.6")
	mustAdd(t, n, "d", small, "10.0.0.2")
}

func TestAddGivesTheOnlyAddressAgain(t *testing.T) {
	n := newNode(t.TempDir())
	mustAdd(t, n, "a", conf(net30), "10.0.0.2")
	_, err := n.add("b", conf(net30))
	wantCode(t, err, ipam.CodeTryAgain, "no IP addresses available in range set: 10.0.0.1-10.0.0.2", "1 held")
	if err := n.plugin().Del(n.call("a", conf(net30))); err != nil {
		t.Fatal(err)
	}
	mustAdd(t, n, "b", conf(net30), "10.0.0.2")
}

func TestRepeatedAddGivesTheSameAnswer(t *testing.T) {
	n := newNode(t.TempDir())
	n.spaces["/ns/a"] = 1
	mustAdd(t, n, "a", conf(dual), "10.0.0.2", "fd00::2")
	mustAdd(t, n, "a", conf(dual), "10.0.0.2", "fd00::2")
	if got := n.held(t); len(got) != 2 {
		t.Errorf("held = %v", got)
	}
}

// nomad repeats ADD for a key with a new namespace and no DEL between. The old
// one being gone must not make the living pod's address free.
func TestRepeatedAddRecordsTheNewNamespace(t *testing.T) {
	n := newNode(t.TempDir())
	n.spaces["/ns/a"] = 1
	mustAdd(t, n, "a", conf(net30), "10.0.0.2")
	n.spaces["/ns/a"] = 2
	mustAdd(t, n, "a", conf(net30), "10.0.0.2")
	_, err := n.add("b", conf(net30))
	wantCode(t, err, ipam.CodeTryAgain)
}

func TestRepeatedAddFillsMissingRangeSets(t *testing.T) {
	n := newNode(t.TempDir())
	mustAdd(t, n, "a", conf(net24), "10.0.0.2")
	mustAdd(t, n, "a", conf(dual), "10.0.0.2", "fd00::2")
}

func TestAddRefusesWhatTheAttachmentCannotHave(t *testing.T) {
	taken := func(n *node, t *testing.T) {
		mustAdd(t, n, "b", with(conf(net24), "args", ipsArg("10.0.0.50")), "10.0.0.50")
		mustAdd(t, n, "a", conf(net24), "10.0.0.51")
	}
	for name, c := range map[string]struct {
		id, conf string
		code     uint
		words    []string
	}{
		"another than it holds":    {"a", with(conf(net24), "args", ipsArg("10.0.0.60")), ipam.CodeHoldsAnother, []string{"10.0.0.60", "10.0.0.51"}},
		"one that is taken":        {"c", with(conf(net24), "args", ipsArg("10.0.0.50")), ipam.CodeRequestedTaken, []string{"10.0.0.50", "container b", "eth0", "2026-11-29"}},
		"the gateway":              {"c", with(conf(net24), "args", ipsArg("10.0.0.1")), ipam.CodeRequestedUnusable, []string{"10.0.0.1", "gateway"}},
		"one outside all ranges":   {"c", with(conf(net24), "args", ipsArg("10.1.0.9")), ipam.CodeRequestedUnusable, []string{"10.1.0.9", "outside"}},
		"one that is excluded":     {"c", with(conf(net24+`,"exclude":["10.0.0.8/29"]`), "args", ipsArg("10.0.0.9")), ipam.CodeRequestedUnusable, []string{"10.0.0.9", "exclude"}},
		"two of one set":           {"c", with(conf(net24), "args", ipsArg("10.0.0.7", "10.0.0.8")), ipam.CodeRequestedUnusable, []string{"10.0.0.7", "10.0.0.8"}},
		"one outside today's":      {"a", conf(`"subnet":"10.7.0.0/24"`), ipam.CodeHoldsAnother, []string{"10.0.0.51"}},
		"the plugin's own network": {"/own", conf(net24), ipam.CodeNetNS, nil},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t.TempDir())
			taken(n, t)
			before := n.held(t)
			call := n.call(c.id, c.conf)
			if c.id == "/own" {
				call.ContainerID, call.NetNS = "c", "/own"
			}
			_, err := n.addWith(call)
			wantCode(t, err, c.code, c.words...)
			if after := n.held(t); fmt.Sprint(after) != fmt.Sprint(before) {
				t.Errorf("held %v, then %v", before, after)
			}
		})
	}
}

func ipsArg(ips ...string) any { return map[string]any{"cni": map[string]any{"ips": ips}} }

// host-local releases the live addresses in the last two cases
// (field reports M4 and M5).
func TestAFailedAddKeepsWhatTheAttachmentHolds(t *testing.T) {
	for name, c := range map[string]struct{ conf string }{
		"the v4 range moved behind a new one": {conf(`"ranges":[[{"subnet":"fd00::/127","gateway":"fd00::"}],[{"subnet":"10.9.0.0/24"}]]`)},
		"a requested v6 address is taken":     {with(conf(dual), "runtimeConfig", map[string]any{"ips": []string{"10.0.0.77", "fd00::2"}})},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t.TempDir())
			mustAdd(t, n, "b", conf(dual), "10.0.0.2", "fd00::2")
			mustAdd(t, n, "a", conf(dual), "10.0.0.3", "fd00::3")
			before := n.held(t)
			if _, err := n.add("a", c.conf); err == nil {
				t.Fatal("the ADD succeeded")
			}
			if after := n.held(t); fmt.Sprint(after) != fmt.Sprint(before) {
				t.Errorf("held %v, then %v", before, after)
			}
		})
	}
}

func TestBothFamiliesOrNone(t *testing.T) {
	n := newNode(t.TempDir())
	c := conf(`"ranges":[[{"subnet":"10.0.0.0/24"}],[{"subnet":"fd00::/128"}]]`)
	mustAdd(t, n, "a", c, "10.0.0.2", "fd00::")
	for range 5 {
		_, err := n.add("b", c)
		wantCode(t, err, ipam.CodeTryAgain, "range 1", "fd00::")
	}
	if got := n.held(t); len(got) != 2 {
		t.Errorf("held = %v", got)
	}
	mustAdd(t, n, "c", conf(net24), "10.0.0.3") // the cursor has not moved either
}

func TestAfterARebootEverythingIsFree(t *testing.T) {
	n := newNode(t.TempDir())
	n.spaces["/ns/a"] = 1
	mustAdd(t, n, "a", conf(net30), "10.0.0.2")
	n.boot++
	clear(n.spaces)
	mustAdd(t, n, "b", conf(net30), "10.0.0.2")
	if got := n.held(t); got["10.0.0.2"] != "b" {
		t.Errorf("held = %v", got)
	}
	if err := n.plugin().Del(n.call("a", conf(net30))); err != nil { // the late DEL
		t.Fatal(err)
	}
	if got := n.held(t); got["10.0.0.2"] != "b" {
		t.Errorf("a late DEL took it away: %v", got)
	}
}

func TestAfterARebootTheSameContainerGetsItsAddressAgain(t *testing.T) {
	n := newNode(t.TempDir())
	mustAdd(t, n, "a", conf(net24), "10.0.0.2")
	mustAdd(t, n, "b", conf(net24), "10.0.0.3")
	n.boot++
	mustAdd(t, n, "b", conf(net24), "10.0.0.3")
	mustAdd(t, n, "x", with(conf(net24), "args", ipsArg("10.0.0.2")), "10.0.0.2")
	mustAdd(t, n, "a", conf(net24), "10.0.0.4")
}

func TestARecordWhoseNamespaceIsAliveIsNotOfAnEarlierBoot(t *testing.T) {
	n := newNode(t.TempDir())
	n.spaces["/ns/a"] = 1
	mustAdd(t, n, "a", conf(net30), "10.0.0.2")
	n.boot++ // as a container sees it
	_, err := n.add("b", conf(net30))
	wantCode(t, err, ipam.CodeTryAgain)
}

func TestTheLastResortTakesBackOnlyTheDead(t *testing.T) {
	n := newNode(t.TempDir())
	c := conf(`"subnet":"10.0.0.0/29"`)
	for i := range 5 {
		id := fmt.Sprint("p", i)
		n.spaces["/ns/"+id] = uint64(i + 1)
		mustAdd(t, n, id, c)
	}
	_, err := n.add("q", c)
	wantCode(t, err, ipam.CodeTryAgain)
	delete(n.spaces, "/ns/p2")
	n.warned = nil
	mustAdd(t, n, "q", c, "10.0.0.4")
	if len(n.warned) != 1 {
		t.Errorf("warnings: %q", n.warned)
	}
	_, err = n.add("r", c)
	wantCode(t, err, ipam.CodeTryAgain)
}

func TestAnAddressOutsideTodaysRangesIsReplacedOnlyIfItsNamespaceIsDead(t *testing.T) {
	n := newNode(t.TempDir())
	n.spaces["/ns/a"] = 1
	mustAdd(t, n, "a", conf(net24), "10.0.0.2")
	moved := conf(`"subnet":"10.7.0.0/24"`)
	_, err := n.add("a", moved)
	wantCode(t, err, ipam.CodeHoldsAnother)
	n.spaces["/ns/a"] = 2
	mustAdd(t, n, "a", moved, "10.7.0.2")
	if got := n.held(t); len(got) != 1 {
		t.Errorf("held = %v", got)
	}
}

func TestAnAddWhoseCallerHasDiedChangesNothing(t *testing.T) {
	n := newNode(t.TempDir())
	n.parent = true
	_, err := n.add("a", conf(net24))
	wantCode(t, err, ipam.CodeCallerGone)
	if got := n.held(t); len(got) != 0 {
		t.Errorf("held = %v", got)
	}
}

func TestSmallNetworksGiveBothAddresses(t *testing.T) {
	for subnet, want := range map[string][]string{
		"10.0.0.0/31": {"10.0.0.0", "10.0.0.1"},
		"10.0.0.7/32": {"10.0.0.7"},
		"fd00::/127":  {"fd00::", "fd00::1"},
		"fd00::1/128": {"fd00::1"},
	} {
		t.Run(subnet, func(t *testing.T) {
			n := newNode(t.TempDir())
			c := conf(`"subnet":"` + subnet + `"`)
			for i, w := range want {
				mustAdd(t, n, fmt.Sprint("a", i), c, w)
			}
			_, err := n.add("z", c)
			wantCode(t, err, ipam.CodeTryAgain)
		})
	}
}

// plugins#596: host-local looped for ever on these.
func TestAFullSetOfRangesEndsForEveryCursor(t *testing.T) {
	c := conf(`"ranges":[[{"subnet":"10.0.0.0/30","rangeStart":"10.0.0.1","rangeEnd":"10.0.0.2","gateway":"10.9.9.9"},{"subnet":"10.0.1.0/30","gateway":"10.9.9.9"}]]`)
	all := []string{"10.0.0.1", "10.0.0.2", "10.0.1.1", "10.0.1.2"}
	for _, last := range all {
		t.Run(last, func(t *testing.T) {
			n := newNode(t.TempDir())
			for _, a := range all {
				if a != last {
					mustAdd(t, n, "c"+a, with(c, "args", ipsArg(a)), a)
				}
			}
			mustAdd(t, n, "last", with(c, "args", ipsArg(last)), last)
			_, err := n.add("z", c)
			wantCode(t, err, ipam.CodeTryAgain)
		})
	}
}

func TestAnAddressThatIsAGatewayTodayIsNotGivenAgain(t *testing.T) {
	n := newNode(t.TempDir())
	mustAdd(t, n, "a", conf(net24), "10.0.0.2")
	_, err := n.add("a", conf(net24+`,"gateway":"10.0.0.2"`))
	wantCode(t, err, ipam.CodeHoldsAnother, "10.0.0.2", "gateway")
	n.boot++
	mustAdd(t, n, "a", conf(net24+`,"gateway":"10.0.0.2"`), "10.0.0.3")
	if got := n.held(t); len(got) != 1 {
		t.Errorf("held = %v", got)
	}
}

func TestAContainerIDTooLongForAKeyIsRefused(t *testing.T) {
	n := newNode(t.TempDir())
	mustAdd(t, n, strings.Repeat("a", 30000), conf(net24), "10.0.0.2")
	_, err := n.add(strings.Repeat("a", 30001), conf(net24))
	wantCode(t, err, ipam.CodeEnvironment, "CNI_CONTAINERID", "30000")
}

// A damaged record is damage also where an ADD comes upon it while it walks.
func TestADamagedRecordIsToldAsDamage(t *testing.T) {
	n := newNode(t.TempDir())
	mustAdd(t, n, "a", conf(net24), "10.0.0.2")
	n.flipRecord(t, "10.0.0.2")
	if err := os.Remove(filepath.Join(filepath.Dir(n.store.Path()), store.JournalFile)); err != nil { // it would be healed
		t.Fatal(err)
	}
	for name, call := range map[string]func() error{
		"ADD that asks for it": func() error { _, err := n.add("b", with(conf(net24), "args", ipsArg("10.0.0.2"))); return err },
		"ADD of its holder":    func() error { _, err := n.add("a", conf(net24)); return err },
		"CHECK of its holder":  func() error { return n.plugin().Check(n.call("a", conf(net24))) },
		"GC":                   func() error { return n.plugin().GC(n.call("", gcConf("cni.dev/valid-attachments", attachments()))) },
	} {
		t.Run(name, func(t *testing.T) { wantCode(t, call(), ipam.CodeDamaged, n.store.Path(), "10.0.0.2") })
	}
}

// flipRecord changes a bit of a stored record and leaves all else right.
func (n *node) flipRecord(t *testing.T, addr string) {
	t.Helper()
	db, err := bolt.Open(n.store.Path(), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		key := netip.MustParseAddr(addr).As16()
		b := tx.Bucket([]byte("networks")).Bucket([]byte("n")).Bucket([]byte("allocations"))
		value := bytes.Clone(b.Get(key[:]))
		value[len(value)-2] ^= 1
		stamp := tx.Bucket([]byte("meta")).Bucket([]byte("stamp"))
		return errors.Join(b.Put(key[:], value), stamp.Put([]byte("1"), binary.BigEndian.AppendUint64(nil, uint64(tx.ID()))))
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}
