package model

import (
	"net/netip"
	"slices"

	"pgregory.net/rapid"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/store/record"
)

// check: CHECK succeeds where the attachment holds addresses of this boot, and
// prevResult, if there is one, has these. It writes nothing.
func (m *model) check(t *rapid.T) {
	att := anAttachment(t)
	_, held := m.together(m.stored, m.place)
	mine := m.living(m.stored, held).of(att)
	c, want := conf{target: m.target}, uint(0)
	if len(mine) == 0 {
		want = ipam.CodeNothingAllocated
	}
	switch rapid.SampledFrom([]string{"none", "what is held", "one more"}).Draw(t, "prevResult") {
	case "what is held":
		c.more = prevResult(mine)
	case "one more":
		other := m.anAddress(t)
		if c.more = prevResult(append(mine, other)); want == 0 && !slices.Contains(mine, other) {
			want = ipam.CodeCheckMismatch
		}
	}
	m.unchanged(t, "CHECK", func() {
		if err := m.plugin().Check(m.node.call(att, c)); codeOf(err) != want {
			t.Fatalf("CHECK of %s, %v: %v, want code %d", name(att), c.more, err, want)
		}
	})
}

// prevResult is the field of an earlier answer.
func prevResult(list []netip.Addr) map[string]any {
	ips := []map[string]string{}
	for _, addr := range list {
		ips = append(ips, map[string]string{"address": netip.PrefixFrom(addr, addr.BitLen()).String()})
	}
	return map[string]any{"prevResult": map[string]any{"cniVersion": "1.1.0", "ips": ips}}
}

// status: STATUS fails where no address is left to be given, and writes nothing.
func (m *model) status(t *rapid.T) {
	_, held := m.together(m.stored, m.place)
	full := slices.ContainsFunc(m.sets, func(s addressSet) bool {
		return !slices.ContainsFunc(s.addresses, func(addr netip.Addr) bool {
			a, taken := held[addr]
			return !taken || m.stale(m.stored, a) || m.dead(a)
		})
	})
	want := uint(0)
	if full {
		want = ipam.CodeUnavailable
		m.count.full++
	}
	m.unchanged(t, "STATUS", func() {
		if err := m.plugin().Status(m.call(record.Attachment{}, conf{target: m.target})); codeOf(err) != want {
			t.Fatalf("STATUS: %v, want code %d; held:\n%s", err, want, held.details())
		}
	})
}
