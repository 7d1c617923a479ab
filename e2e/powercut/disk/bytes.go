package disk

// tears are the ways in which a write of several sectors is torn: which of n
// sectors have persisted.
var tears = []func(i, n int) bool{
	func(i, n int) bool { return i == 0 },
	func(i, n int) bool { return i == n-1 },
	func(i, n int) bool { return i < n/2 },
	func(i, n int) bool { return i > 0 },
}

// sectors are how many of them the edit's bytes touch.
func (e edit) sectors() int {
	return (e.off+len(e.data)-1)/SectorSize - e.off/SectorSize + 1
}

// outcomes counts those of the edit's bytes.
func (e edit) outcomes() int {
	n := firstTears + e.tears()
	if e.size >= 0 {
		n++ // what was on the disk before
	}
	return n
}

// tears counts the different ways to tear the edit.
func (e edit) tears() int {
	switch e.sectors() {
	case 1:
		return 0
	case 2:
		return 2 // the others are the same
	}
	return len(tears)
}

// stale is what stands for bytes that were on the disk before.
const stale = 0xa5

// put writes the edit's bytes into b as far as b reaches, by their outcome.
func (e edit) put(b []byte, outcome int) {
	write := func(i int, v byte) {
		if at := e.off + i; at < len(b) {
			b[at] = v
		}
	}
	tear := outcome - firstTears
	for i, v := range e.data {
		switch sector := (e.off+i)/SectorSize - e.off/SectorSize; {
		case outcome == lost:
		case outcome == kept:
			write(i, v)
		case tear == e.tears():
			write(i, stale)
		case tears[tear](sector, e.sectors()):
			write(i, v)
		}
	}
}

// content returns a file's bytes where so many changes of its size have
// persisted, and of each edit's bytes the outcome that is given.
func (n *Inode) content(sizes int, outcome func(edit int) int) []byte {
	b := resized(n.durable.bytes, len(n.durable.bytes))
	for i, e := range n.edits {
		if e.size >= 0 && sizes == 0 {
			if e.cuts {
				return b // what was written later went to blocks that nothing leads to
			}
		} else if e.size >= 0 {
			sizes--
			b = resized(b, e.size)
		}
		if len(e.data) > 0 {
			e.put(b, outcome(i))
		}
	}
	return b
}
