package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bolt-local/bolt-local/store/record"
)

// living is the inode of the namespaces that are there.
const living = 77

func alive(ns record.NetNS) bool { return ns.Inode == living }

// claimOf is what source says of an address in podnet. A holder is written as
// container/ifname, with a + where its namespace is there.
func claimOf(source, addr string, holders ...string) claim {
	return claim{network: "podnet", source: source, alloc: record.Allocation{Addr: ip(addr), Epoch: 3, Holders: holdersOf(holders)}}
}

func holdersOf(texts []string) []record.Holder {
	var all []record.Holder
	for _, text := range texts {
		name, lives := strings.CutSuffix(text, "+")
		id, ifname, _ := strings.Cut(name, "/")
		h := record.Holder{Attachment: record.Attachment{ContainerID: id, IfName: ifname}, Origin: record.OriginAdd}
		if lives {
			h.NetNS.Inode = living
		}
		all = append(all, h)
	}
	return all
}

// line is an allocation as the tables below have it.
func (v Vouched) line() string {
	var holders []string
	for _, h := range v.Allocation.Holders {
		text := h.ContainerID + "/" + h.IfName
		if alive(h.NetNS) {
			text += "+"
		}
		holders = append(holders, text)
	}
	text := fmt.Sprintf("%s %s %s by %s", v.Network, v.Allocation.Addr, strings.Join(holders, " "), strings.Join(v.Sources, ", "))
	if v.Contested != "" {
		text += ", contested"
	}
	return text
}

func TestClaimsAreBroughtTogether(t *testing.T) {
	for name, c := range map[string]struct {
		claims []claim
		want   []string
	}{
		"none": {nil, nil},
		"one":  {[]claim{claimOf("journal", "10.0.0.2", "a/eth0")}, []string{"podnet 10.0.0.2 a/eth0 by journal"}},
		"two sources that agree": {
			[]claim{claimOf("journal", "10.0.0.2", "a/eth0"), claimOf("file", "10.0.0.2", "a/eth0")},
			[]string{"podnet 10.0.0.2 a/eth0 by journal, file"}},
		"one source twice": {
			[]claim{claimOf("file", "10.0.0.2", "a/eth0"), claimOf("file", "10.0.0.2", "a/eth0")},
			[]string{"podnet 10.0.0.2 a/eth0 by file"}},
		"the better source tells of the holder": {
			[]claim{claimOf("journal", "10.0.0.2", "a/eth0+"), claimOf("file", "10.0.0.2", "a/eth0")},
			[]string{"podnet 10.0.0.2 a/eth0+ by journal, file"}},
		"addresses in their order": {
			[]claim{claimOf("x", "10.0.0.10", "a/eth0"), claimOf("x", "fd00::2", "a/eth0"), claimOf("x", "10.0.0.9", "b/eth0")},
			[]string{"podnet 10.0.0.9 b/eth0 by x", "podnet 10.0.0.10 a/eth0 by x", "podnet fd00::2 a/eth0 by x"}},
		"the same address in two networks": {
			[]claim{claimOf("x", "10.0.0.2", "a/eth0"), {"other", claimOf("", "10.0.0.2", "b/eth0").alloc, "y"}},
			[]string{"other 10.0.0.2 b/eth0 by y", "podnet 10.0.0.2 a/eth0 by x"}},
		"an ifname that one does not know, first": {
			[]claim{claimOf("directory", "10.0.0.2", "a/"), claimOf("cache", "10.0.0.2", "a/eth0+")},
			[]string{"podnet 10.0.0.2 a/eth0+ by directory, cache"}},
		"an ifname that one does not know, last": {
			[]claim{claimOf("cache", "10.0.0.2", "a/eth0+"), claimOf("directory", "10.0.0.2", "a/")},
			[]string{"podnet 10.0.0.2 a/eth0+ by cache, directory"}},
		"two holders, both known to one source": {
			[]claim{claimOf("journal", "10.0.0.2", "a/eth0", "b/eth0")},
			[]string{"podnet 10.0.0.2 a/eth0 b/eth0 by journal, contested"}},
		"sources that contradict, the better one is of the dead": {
			[]claim{claimOf("journal", "10.0.0.2", "a/eth0"), claimOf("file", "10.0.0.2", "b/eth0+")},
			[]string{"podnet 10.0.0.2 b/eth0+ by journal, file"}},
		"sources that contradict, the better one is of the living": {
			[]claim{claimOf("journal", "10.0.0.2", "a/eth0+"), claimOf("file", "10.0.0.2", "b/eth0")},
			[]string{"podnet 10.0.0.2 a/eth0+ by journal, file"}},
		"sources that contradict, of nobody is anything known": {
			[]claim{claimOf("journal", "10.0.0.2", "a/eth0"), claimOf("file", "10.0.0.2", "b/eth0")},
			[]string{"podnet 10.0.0.2 a/eth0 b/eth0 by journal, file, contested"}},
		"sources that contradict, both live": {
			[]claim{claimOf("journal", "10.0.0.2", "a/eth0+"), claimOf("file", "10.0.0.2", "b/eth0+")},
			[]string{"podnet 10.0.0.2 a/eth0+ b/eth0+ by journal, file, contested"}},
		"two holders, known to one source, one is of the living": {
			[]claim{claimOf("journal", "10.0.0.2", "a/eth0+", "b/eth0"), claimOf("file", "10.0.0.2", "c/eth0")},
			[]string{"podnet 10.0.0.2 a/eth0+ b/eth0 by journal, file, contested"}},
		"three holders, two of them live": {
			[]claim{claimOf("x", "10.0.0.2", "a/eth0+"), claimOf("y", "10.0.0.2", "b/eth0"), claimOf("z", "10.0.0.2", "c/eth0+")},
			[]string{"podnet 10.0.0.2 a/eth0+ c/eth0+ by x, y, z, contested"}},
		"two interfaces of one container": {
			[]claim{claimOf("x", "10.0.0.2", "a/eth0"), claimOf("y", "10.0.0.2", "a/net1")},
			[]string{"podnet 10.0.0.2 a/eth0 a/net1 by x, y, contested"}},
		"two addresses of one attachment": {
			[]claim{claimOf("x", "10.0.0.2", "a/eth0"), claimOf("y", "10.0.0.3", "a/eth0")},
			[]string{"podnet 10.0.0.2 a/eth0 by x", "podnet 10.0.0.3 a/eth0 by y"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, v := range settle(c.claims, alive) {
				got = append(got, v.line())
				if v.Allocation.Epoch != 0 {
					t.Errorf("%s has the number %d of a boot", v.Allocation.Addr, v.Allocation.Epoch)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("settled (-want +got):\n%s", diff)
			}
		})
	}
}

// What host-local's file is for has to go with the holder whose name another
// source completes.
func TestACompletedHolderKeepsItsMark(t *testing.T) {
	inDirectory := claimOf("directory", "10.0.0.2", "a/")
	inDirectory.alloc.Holders[0].Mark = "12:34"
	for name, claims := range map[string][]claim{
		"the directory first": {inDirectory, claimOf("cache", "10.0.0.2", "a/eth0")},
		"the directory last":  {claimOf("cache", "10.0.0.2", "a/eth0"), inDirectory},
	} {
		t.Run(name, func(t *testing.T) {
			all := settle(claims, alive)
			if h := all[0].Allocation.Holders; len(h) != 1 || h[0].IfName != "eth0" || h[0].Mark != "12:34" {
				t.Errorf("holders %+v", h)
			}
		})
	}
}

func TestClaimsAreThoseOfThisBoot(t *testing.T) {
	const older, newer = "boot-001", "boot-002"
	record4 := func(epoch uint64, holder string) record.Allocation {
		return record.Allocation{Addr: ip("10.0.0.4"), Epoch: epoch, Holders: holdersOf([]string{holder})}
	}
	for name, c := range map[string]struct {
		alloc record.Allocation
		boot  string
		want  bool
	}{
		"of this boot":                                {record4(2, "a/eth0"), newer, true},
		"of no boot yet":                              {record4(0, "a/eth0"), newer, true},
		"of the boot before":                          {record4(1, "a/eth0"), newer, false},
		"of the boot before, but it lives":            {record4(1, "a/eth0+"), newer, true},
		"of the newest, in a boot that has no number": {record4(2, "a/eth0"), "boot-003", false},
		"of no boot yet, in a boot without a number":  {record4(0, "a/eth0"), "boot-003", true},
		"of the newest, and the boot cannot be read":  {record4(2, "a/eth0"), "", true},
		"of the newest, and an older boot is shown":   {record4(2, "a/eth0"), older, true},
	} {
		t.Run(name, func(t *testing.T) {
			content := newContent()
			content.beginEpoch(older)
			content.beginEpoch(newer)
			value, err := record.Encode("podnet", c.alloc)
			if err != nil {
				t.Fatal(err)
			}
			content.put([]string{bucketNetworks, "podnet", bucketAllocations}, string(addrKey(c.alloc.Addr)), value)
			got := content.claims("x", c.boot, alive)
			if is := len(got) == 1; is != c.want {
				t.Errorf("claims %+v", got)
			}
		})
	}
}

func TestWhatIsNoRecordClaimsNothing(t *testing.T) {
	sound, err := record.Encode("podnet", record.Allocation{Addr: ip("10.0.0.4"), Holders: holdersOf([]string{"a/eth0"})})
	if err != nil {
		t.Fatal(err)
	}
	spoilt := slices.Clone(sound)
	spoilt[len(spoilt)-1] ^= 1
	for name, c := range map[string]struct {
		network, key string
		value        []byte
	}{
		"a spoilt record":               {"podnet", string(addrKey(ip("10.0.0.4"))), spoilt},
		"a record of another address":   {"podnet", string(addrKey(ip("10.0.0.5"))), sound},
		"a record of another network":   {"other", string(addrKey(ip("10.0.0.4"))), sound},
		"a key that is no address":      {"podnet", "10.0.0.4", sound},
		"an empty record":               {"podnet", string(addrKey(ip("10.0.0.4"))), nil},
		"a record that is cut in front": {"podnet", string(addrKey(ip("10.0.0.4"))), sound[:4]},
	} {
		t.Run(name, func(t *testing.T) {
			content := newContent()
			content.put([]string{bucketNetworks, c.network, bucketAllocations}, c.key, c.value)
			if got := content.claims("x", "boot-001", alive); len(got) > 0 {
				t.Errorf("claims %+v", got)
			}
		})
	}
}
