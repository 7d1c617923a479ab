package backfill

import (
	"net/netip"
	"slices"
	"time"

	"github.com/bolt-local/bolt-local/store/record"
)

// Sandbox is one that runs, as its runtime tells.
type Sandbox struct {
	ID string
	// NetNS was identified before the runtime was asked whether the sandbox still
	// runs. The path is "" where the runtime does not say, and the inode 0 where it
	// leads to nothing in this mount namespace.
	NetNS record.NetNS
	Pod   record.Pod
	// CreatedAt is the wall clock, for people.
	CreatedAt  time.Time
	Interfaces []Interface
}

// Interface is one of a sandbox, with its addresses.
type Interface struct {
	Name  string // "" where the runtime does not say
	Addrs []netip.Addr
}

// Cached is what a cache of results ascribes to an attachment.
type Cached struct {
	Holder record.Holder
	Addrs  []netip.Addr
	// Alive: its network namespace is there.
	Alive bool
}

// Network is one in which addresses are looked for.
type Network struct {
	Name   string
	Sets   []record.RangeSet
	Cached []Cached
	// Unread is why one of its cached results is not in Cached, nil where all are.
	Unread error
	// Bare: it keeps a holder's names, and nothing else of it.
	Bare bool
	// Stored is what the checkpoint has of an address.
	Stored func(netip.Addr) (record.Allocation, bool)
	// Holders are the ids of the containers that hold something in the checkpoint.
	Holders map[string]bool
}

// gives tells whether addr lies in one of the ranges.
func (n Network) gives(addr netip.Addr) bool { return record.InSets(n.Sets, addr) }

// knows tells whether the checkpoint is certain that a container holds addr.
func (n Network) knows(addr netip.Addr, containerID string) bool {
	a, held := n.Stored(addr)
	return held && slices.ContainsFunc(a.Holders, func(h record.Holder) bool {
		return h.ContainerID == containerID && !h.Guessed()
	})
}

// Claim is an address that an attachment uses in a network.
type Claim struct {
	Network string
	Addr    netip.Addr
	Holder  record.Holder
}

// Claims lists what the sandboxes that run, and living attachments of which the
// caches alone know, use in the networks' ranges, ordered by network and address.
// notReady are the ids of sandboxes that do not run any more: nothing is claimed
// for them. See [Unrecorded].
func Claims(networks []Network, running []Sandbox, notReady []string) []Claim {
	c := claimer{networks: networks, running: map[string]Sandbox{}, stopped: map[string]bool{}, seen: map[key]bool{}}
	for _, s := range running {
		c.running[s.ID] = s
	}
	for _, id := range notReady {
		c.stopped[id] = true
	}
	for _, n := range networks {
		c.cached(n)
	}
	for _, s := range running {
		c.sandbox(s)
	}
	slices.SortStableFunc(c.claims, func(a, b Claim) int {
		if d := slices.IndexFunc(networks, named(a.Network)) - slices.IndexFunc(networks, named(b.Network)); d != 0 {
			return d
		}
		return a.Addr.Compare(b.Addr)
	})
	return c.claims
}

func named(name string) func(Network) bool {
	return func(n Network) bool { return n.Name == name }
}

type key struct {
	containerID string
	addr        netip.Addr
}

type claimer struct {
	networks []Network
	running  map[string]Sandbox
	stopped  map[string]bool

	claims []Claim
	seen   map[key]bool // what was claimed by a cache, which knows the network
}

// cached claims what a network's cache ascribes to attachments that live.
func (c *claimer) cached(n Network) {
	for _, e := range n.Cached {
		s, runs := c.running[e.Holder.ContainerID]
		if c.stopped[e.Holder.ContainerID] || !runs && !e.Alive {
			continue
		}
		for _, addr := range e.Addrs {
			if !n.gives(addr) || runs && !e.Alive && s.contradicts(e.Holder.IfName, addr) {
				continue
			}
			h := e.Holder
			h.Origin = record.OriginCNICache
			if runs {
				h = complete(h, s)
			}
			c.seen[key{e.Holder.ContainerID, addr}] = true
			c.claims = append(c.claims, Claim{n.Name, addr, h})
		}
	}
}

// contradicts tells whether the runtime has other addresses for an interface.
// What it says nothing of may be another plugin's, such as multus'.
func (s Sandbox) contradicts(ifName string, addr netip.Addr) bool {
	for _, i := range s.Interfaces {
		if i.Name == ifName && len(i.Addrs) > 0 {
			return !slices.Contains(i.Addrs, addr)
		}
	}
	return false
}

// complete adds what a sandbox tells to what a cache does.
func complete(h record.Holder, s Sandbox) record.Holder {
	if h.NetNS.Inode == 0 && s.NetNS.Path != "" {
		h.NetNS = s.NetNS
	}
	if h.Pod == (record.Pod{}) {
		h.Pod = s.Pod
	}
	h.AllocatedAt = s.CreatedAt
	return h
}

// sandbox claims what the runtime alone tells.
func (c *claimer) sandbox(s Sandbox) {
	for _, i := range s.Interfaces {
		for _, addr := range i.Addrs {
			if !c.seen[key{s.ID, addr}] {
				c.told(s, i.Name, addr)
			}
		}
	}
}

// told claims an address that the runtime alone tells of: in the network in which
// it is stored, else in each that may have given it.
func (c *claimer) told(s Sandbox, ifname string, addr netip.Addr) {
	may := slices.DeleteFunc(slices.Clone(c.networks), func(n Network) bool { return !n.gives(addr) })
	certain := slices.DeleteFunc(slices.Clone(may), func(n Network) bool { return !n.knows(addr, s.ID) })
	if len(certain) > 0 {
		may = certain
	}
	for _, n := range may {
		h := complete(record.Holder{
			Attachment: record.Attachment{ContainerID: s.ID, IfName: ifname},
			Origin:     record.OriginCRI,
		}, s)
		if ifname == "" {
			h.Unknown = append(h.Unknown, record.UnknownIfName)
		}
		if len(certain) == 0 {
			h.Unknown = append(h.Unknown, record.UnknownNetwork)
		}
		c.claims = append(c.claims, Claim{n.Name, addr, h})
	}
}

// Storable is a claim without what the network does not keep.
func (n Network) Storable(c Claim) Claim {
	if n.Bare {
		c.Holder = record.Holder{Attachment: c.Holder.Attachment, Origin: c.Holder.Origin}
	}
	return c
}

// Guess is one that turned out to be wrong: another network has the address.
type Guess struct {
	Network     string
	Addr        netip.Addr
	ContainerID string
}

// Wrong lists the guesses that are stored and void: a claim, which is stored and no
// guess itself, says that another network has the address.
func Wrong(networks []Network, claims []Claim) []Guess {
	var wrong []Guess
	for _, c := range claims {
		if c.Holder.Guessed() {
			continue
		}
		for _, n := range networks {
			if a, held := n.Stored(c.Addr); held && n.Name != c.Network && a.Guesses(c.Holder.ContainerID) {
				wrong = append(wrong, Guess{n.Name, c.Addr, c.Holder.ContainerID})
			}
		}
	}
	return wrong
}
