package disk

import (
	"cmp"
	"math/big"
	"math/rand/v2"
	"slices"
)

// SectorSize is what a disk writes whole or not at all, in bytes.
const SectorSize = 512

// Cut is a power cut at one moment: all that the disk may hold then.
type Cut struct {
	disk  *Disk
	parts []part
}

// part is one thing that may have persisted or not. Outcome 0 is that nothing
// of it has.
type part struct {
	of *Inode
	// index is that of an edit whose bytes are meant; partNames stands for how
	// many changes of a directory there are, partSizes for how many of a size.
	index    int
	outcomes int
	kept     int // the outcome in which all of it has persisted
}

const (
	partNames = -1
	partSizes = -2
)

// The outcomes of an edit's bytes beyond lost and kept: torn in one of the ways
// below, or, where the file becomes longer, bytes that nobody wrote.
const (
	lost = iota
	kept
	firstTears
)

// Cut is a power cut now. The disk must not change while it is used.
func (d *Disk) Cut() Cut {
	c := Cut{disk: d}
	for _, n := range d.reachable() {
		if len(n.renames) > 0 {
			c.parts = append(c.parts, part{n, partNames, len(n.renames) + 1, len(n.renames)})
		}
		sizes := 0
		for i, e := range n.edits {
			if e.size >= 0 {
				sizes++
			}
			if len(e.data) > 0 {
				c.parts = append(c.parts, part{n, i, e.outcomes(), kept})
			}
		}
		if sizes > 0 {
			c.parts = append(c.parts, part{n, partSizes, sizes + 1, sizes})
		}
	}
	return c
}

// Count is the number of outcomes. Different ones may leave the same tree.
func (c Cut) Count() *big.Int {
	n := big.NewInt(1)
	for _, p := range c.parts {
		n.Mul(n, big.NewInt(int64(p.outcomes)))
	}
	return n
}

// Outcome has one outcome of each part.
type Outcome []int

// Kept is the outcome in which everything has persisted: also what the next
// process finds where this one was killed.
func (c Cut) Kept() Outcome {
	o := make(Outcome, len(c.parts))
	for i, p := range c.parts {
		o[i] = p.kept
	}
	return o
}

// Lost is the outcome in which nothing has that was not synced.
func (c Cut) Lost() Outcome { return make(Outcome, len(c.parts)) }

// All returns every outcome if there are limit at most; else all extreme ones,
// and random ones to come to about limit.
func (c Cut) All(limit int, random *rand.Rand) []Outcome {
	if n := c.Count(); n.IsInt64() && n.Int64() <= int64(limit) {
		return c.every()
	}
	all := distinct(c.extremes())
	for range limit - len(all) {
		o := make(Outcome, len(c.parts))
		for i, p := range c.parts {
			o[i] = random.IntN(p.outcomes)
		}
		all = append(all, o)
	}
	return distinct(all)
}

func (c Cut) every() []Outcome {
	all := []Outcome{c.Lost()}
	for i, p := range c.parts {
		for _, o := range all[:len(all):len(all)] {
			for outcome := 1; outcome < p.outcomes; outcome++ {
				o = slices.Clone(o)
				o[i] = outcome
				all = append(all, o)
			}
		}
	}
	return all
}

// extremes are: nothing, everything, names without bytes and bytes without
// names, and each outcome of each part with nothing and with everything else.
func (c Cut) extremes() []Outcome {
	names, bytes := c.Lost(), c.Lost()
	for i, p := range c.parts {
		if p.index == partNames {
			names[i] = p.kept
		} else {
			bytes[i] = p.kept
		}
	}
	all := []Outcome{c.Lost(), c.Kept(), names, bytes}
	for i, p := range c.parts {
		for outcome := range p.outcomes {
			alone, but := c.Lost(), c.Kept()
			alone[i], but[i] = outcome, outcome
			all = append(all, alone, but)
		}
	}
	return all
}

func distinct(all []Outcome) []Outcome {
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(o Outcome) bool {
		key := make([]byte, 0, 2*len(o))
		for _, v := range o {
			key = append(key, byte(v), byte(v>>8))
		}
		if seen[string(key)] {
			return true
		}
		seen[string(key)] = true
		return false
	})
}

// everNamed lists what the directory's names lead to, or may have led to since
// the last sync.
func (n *Inode) everNamed() []*Inode {
	var all []*Inode
	add := func(names map[string]*Inode) {
		for _, child := range names {
			if child != nil {
				all = append(all, child)
			}
		}
	}
	add(n.durable.names)
	for _, r := range n.renames {
		add(r)
	}
	slices.SortFunc(all, func(a, b *Inode) int { return cmp.Compare(a.ID, b.ID) })
	return slices.Compact(all)
}
