package damage

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// amount is how many trials of a kind there are.
type amount struct {
	pages int // of the small file
	lines int // of its journal
	flips int // of each kind of chance
	pairs int // of pages that are put in the place of each page
}

var everything = amount{flips: 1000, pairs: 12}

// perPage are the kinds that are tried with each page.
var perPage = []string{
	"page n zeroed", "page n is an older one", "page n is noise",
	"half of page n is an older one", "a sector of page n zeroed", "a number of page n is another",
}

var pairs = []string{"page n is page k", "page n is page k with its own id"}

// singles are the kinds of which there is one.
var singles = []string{
	whole, "gone", "empty", "zeroed", "garbage", "text", "an older copy", "another's", "longer", "tail zeroed",
	"both meta pages zeroed", "meta pages have changed places",
}

// byChance are the kinds of which there is no end.
var byChance = []string{
	"a flipped bit", "a flipped bit in use", "a flipped bit in a header", "a flipped bit in an element", "a flipped bit in the freelist",
}

var (
	journalPerLine = []string{"cut after line n", "cut in line n", "without line n", "line n twice", "lines n and n+1 have changed places", "line n of an older copy"}
	journalSingles = []string{whole, "gone", "empty", "zeroed", "garbage", "text", "an older copy", "another's", "noise appended", "a line of text appended", "another's header"}
	journalChance  = []string{"a flipped bit", "tail zeroed"}
	// besideJournal is how the checkpoint is when its journal is spoiled.
	besideJournal = []string{whole, "gone", "an older copy", "page n zeroed", "bit n of a meta page flipped", "cut k bytes off page n"}
)

// planner lists trials that are like one.
type planner struct {
	amount
	like trial
	r    *rand.Rand
	list []trial
}

// all lists the trials that are like one.
func (a amount) all(like trial, r *rand.Rand) []trial {
	p := planner{amount: a, like: like, r: r}
	for _, kind := range singles {
		p.withAndWithout(trial{Checkpoint: kind})
	}
	for page := range a.pages {
		p.page(page)
	}
	for bit := range (headerLen + metaLen) * 8 {
		for page := range 2 {
			p.withOrWithout(trial{Checkpoint: "bit n of a meta page flipped", N: bit, K: page})
		}
	}
	for range a.flips {
		for _, kind := range byChance {
			p.withOrWithout(trial{Checkpoint: kind})
		}
	}
	for _, kind := range besideJournal {
		p.journals(trial{Checkpoint: kind, N: r.IntN(max(a.pages, 1)), K: r.IntN(2)})
	}
	return p.list
}

func (p *planner) add(c trial) {
	c.Big, c.Processes = p.like.Big, p.like.Processes
	if c.Journal == "" {
		c.Journal = whole
	}
	if c.Lock == "" {
		c.Lock = whole
	}
	if c.untold() {
		return
	}
	c.Seed = p.r.Uint64N(1 << 32)
	c.OpenFirst = p.r.IntN(4) == 0
	c.Backup = p.r.IntN(4) == 0
	p.list = append(p.list, c)
}

// withAndWithout adds two trials, with the journal and without.
func (p *planner) withAndWithout(c trial) {
	p.add(c)
	c.Journal = "gone"
	p.add(c)
}

// withOrWithout adds one of them.
func (p *planner) withOrWithout(c trial) {
	if p.r.IntN(2) == 0 {
		c.Journal = "gone"
	}
	p.add(c)
}

// page adds all that is done to one page.
func (p *planner) page(page int) {
	for _, kind := range perPage {
		p.withAndWithout(trial{Checkpoint: kind, N: page})
	}
	for _, off := range []int{-1, 0, 1} {
		p.withAndWithout(trial{Checkpoint: "cut k bytes off page n", N: page, K: off})
	}
	others := p.r.Perm(p.pages)
	others = slices.DeleteFunc(others, func(k int) bool { return k == page })
	for _, k := range others[:min(p.pairs, len(others))] {
		for _, kind := range pairs {
			p.withOrWithout(trial{Checkpoint: kind, N: page, K: k})
		}
	}
}

// journals adds all that is done to the journal, and to the lock, beside one
// checkpoint.
func (p *planner) journals(c trial) {
	for _, c.Journal = range journalSingles {
		p.add(c)
		for _, lock := range slices.Sorted(maps.Keys(lockSpoilers)) {
			c := c
			c.Lock = lock
			p.add(c)
		}
	}
	for line := range p.lines {
		for _, c.Journal = range journalPerLine {
			c := c
			c.N = line
			p.add(c)
		}
	}
	for range p.flips / 10 {
		for _, c.Journal = range journalChance {
			p.add(c)
		}
	}
}

// sample keeps n trials, first one of each kind of damage to either file.
func sample(list []trial, n int, r *rand.Rand) []trial {
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	seen := map[string]bool{}
	var kept, rest []trial
	for _, c := range list {
		fresh := false
		for _, kind := range []string{"checkpoint: " + c.Checkpoint + c.withOrWithout(), "journal: " + c.Journal, "lock: " + c.Lock} {
			fresh = fresh || !seen[kind]
			seen[kind] = true
		}
		if fresh {
			kept = append(kept, c)
		} else {
			rest = append(rest, c)
		}
	}
	list = append(kept, rest...)
	return list[:min(len(list), n)]
}
