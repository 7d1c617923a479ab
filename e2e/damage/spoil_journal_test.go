package damage

import (
	"bytes"
	"math/rand/v2"
)

var journalSpoilers = map[string]spoiler{
	whole:           asItIs,
	"gone":          gone,
	"empty":         empty,
	"zeroed":        zeros,
	"garbage":       garbage,
	"text":          text,
	"an older copy": anOlderCopy,
	"another's":     anotherNodes,
	"tail zeroed":   tailZeroed,
	"a flipped bit": aFlippedBit,
	"cut after line n": func(f spoiled, n, _ int, _ *rand.Rand) []byte {
		return joined(lines(f.now)[:1+n%(len(lines(f.now))-1)])
	},
	"cut in line n": func(f spoiled, n, _ int, r *rand.Rand) []byte {
		all := lines(f.now)
		n %= len(all)
		return append(joined(all[:n]), all[n][:r.IntN(len(all[n]))]...)
	},
	"without line n": func(f spoiled, n, _ int, _ *rand.Rand) []byte {
		all := lines(f.now)
		n %= len(all)
		return append(joined(all[:n]), joined(all[n+1:])...)
	},
	"line n twice": func(f spoiled, n, _ int, _ *rand.Rand) []byte {
		all := lines(f.now)
		n %= len(all)
		return append(joined(all[:n+1]), joined(all[n:])...)
	},
	"lines n and n+1 have changed places": func(f spoiled, n, _ int, _ *rand.Rand) []byte {
		all := lines(f.now)
		n %= len(all) - 1
		all[n], all[n+1] = all[n+1], all[n]
		return joined(all)
	},
	"line n of an older copy": func(f spoiled, n, _ int, _ *rand.Rand) []byte {
		all, older := lines(f.now), lines(f.older)
		n %= len(all)
		all[n] = older[n%len(older)]
		return joined(all)
	},
	"noise appended": func(f spoiled, _, _ int, r *rand.Rand) []byte {
		return append(bytes.Clone(f.now), noise(1+r.IntN(200), r)...)
	},
	"a line of text appended": func(f spoiled, _, _ int, _ *rand.Rand) []byte {
		return append(bytes.Clone(f.now), "{} 999999 00000000\n"...)
	},
	"another's header": func(f spoiled, _, _ int, _ *rand.Rand) []byte {
		return append(bytes.Clone(lines(f.anothers)[0]), joined(lines(f.now)[1:])...)
	},
}

// lines are the lines with their newlines.
func lines(b []byte) [][]byte {
	all := bytes.SplitAfter(b, []byte("\n"))
	return all[:len(all)-1]
}

func joined(lines [][]byte) []byte { return bytes.Join(lines, nil) }
