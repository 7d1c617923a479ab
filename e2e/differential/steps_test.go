package differential

import (
	"encoding/json"
	"fmt"
	"net/netip"

	"github.com/containernetworking/cni/pkg/types"
)

// attachment is a container's interface.
type attachment struct{ id, ifname string }

// attachments are few, so that steps hit the same ones again.
var attachments = func() []attachment {
	var out []attachment
	for i := range 8 {
		for _, ifname := range []string{"eth0", "net1"} {
			out = append(out, attachment{fmt.Sprintf("c%d", i), ifname})
		}
	}
	return out
}()

// never is an address outside all ranges, of each family.
var never = []string{"203.0.113.9", "2001:db8:dead::9"}

// attachment chooses one, more often than not of those that are held.
func (g *generator) attachment(held map[attachment]json.RawMessage) attachment {
	var known []attachment
	for _, a := range attachments {
		if held[a] != nil {
			known = append(known, a)
		}
	}
	if len(known) == 0 || g.oneIn(4) {
		return attachments[g.IntN(len(attachments))]
	}
	return known[g.IntN(len(known))]
}

// step makes the next call. held are the answers to the ADDs of what is
// attached, old those of all times.
func (g *generator) step(version string, held, old map[attachment]json.RawMessage) step {
	n := g.IntN(100)
	hasCheck, hasGC := version >= "0.4.0", version >= "1.1.0"
	switch {
	case n < 15 && (hasCheck || n < 1):
		return g.check(held, old)
	case n < 20 && hasGC:
		return step{verb: "GC", request: request{valid: g.valid(held)}}
	case n < 45:
		return g.named("DEL", g.attachment(held))
	case n < 53:
		return g.add(g.attachment(held)) // a repeated one
	default:
		return g.add(g.attachment(nil))
	}
}

// named is a step for an attachment. Half of them say what kubelet's do.
func (g *generator) named(verb string, a attachment) step {
	s := step{verb: verb, id: a.id, ifname: a.ifname}
	if g.oneIn(2) {
		s.cniArgs = "IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=web-0"
	}
	return s
}

// add asks for addresses, once in three times.
func (g *generator) add(a attachment) step {
	s := g.named("ADD", a)
	if g.oneIn(3) {
		g.requestAddresses(&s)
	}
	return s
}

// check has with it what the last ADD of the attachment answered, or once in a
// while what another one's did.
func (g *generator) check(held, old map[attachment]json.RawMessage) step {
	a := g.attachment(held)
	s := g.named("CHECK", a)
	s.request.prevResult = old[a]
	if s.request.prevResult == nil || g.oneIn(4) {
		s.request.prevResult = old[g.attachment(old)]
	}
	return s
}

func join(args, more string) string {
	if args == "" {
		return more
	}
	return args + ";" + more
}

// valid lists some of what is attached, and something that is not.
func (g *generator) valid(held map[attachment]json.RawMessage) []types.GCAttachment {
	out := []types.GCAttachment{} // empty, not null
	for _, a := range attachments {
		if held[a] != nil && !g.oneIn(3) || g.oneIn(10) {
			out = append(out, types.GCAttachment{ContainerID: a.id, IfName: a.ifname})
		}
	}
	return out
}

// requestAddresses asks for addresses of some range sets, in each of the
// three ways.
func (g *generator) requestAddresses(s *step) {
	for _, set := range g.sets {
		for range 1 + g.IntN(8)/7 { // two of one set cannot be had
			if g.oneIn(2) {
				g.ask(s, g.wish(set))
			}
		}
	}
}

// wish is an address of the set, often a taken one; or the gateway, or one
// outside all ranges.
func (g *generator) wish(set []span) string {
	r := set[g.IntN(len(set))]
	switch g.IntN(10) {
	case 0:
		return r.gateway.String()
	case 1:
		return never[g.IntN(len(never))]
	default:
		return withLastByte(r.first, int(lastByte(r.first))+g.IntN(r.size())).String()
	}
}

// ask asks for an address in one way, or in two.
func (g *generator) ask(s *step, address string) {
	if g.oneIn(3) {
		bits := 24 // a prefix length means nothing here
		if netip.MustParseAddr(address).Is6() {
			bits = 64
		}
		address = fmt.Sprintf("%s/%d", address, bits)
	}
	for range 1 + g.IntN(5)/4 {
		switch g.IntN(3) {
		case 0:
			// Of two the last counts.
			s.cniArgs = join(s.cniArgs, "IP="+address)
		case 1:
			s.request.argsIPs = append(s.request.argsIPs, address)
		case 2:
			s.request.runtimeIPs = append(s.request.runtimeIPs, address)
		}
	}
}

// requested are all addresses that the step asks for.
func (s step) requested() map[netip.Addr]bool {
	out := map[netip.Addr]bool{}
	for _, text := range append(append([]string{}, s.request.argsIPs...), s.request.runtimeIPs...) {
		out[parseWish(text)] = true
	}
	if text := lastIPArg(s.cniArgs); text != "" {
		out[parseWish(text)] = true
	}
	return out
}
