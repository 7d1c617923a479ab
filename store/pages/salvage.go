package pages

import "bytes"

// Found is a key that can be read. It points into the data.
type Found struct {
	// Path is the names of the buckets that the key is in, outermost first. It
	// is used again for the next key. Where Reached is false, the outermost
	// names are missing, or all.
	Path       [][]byte
	Key, Value []byte

	// Reached: the tree that a meta page gives led here.
	Reached bool

	// Stale: the last transaction did not have it there. It may be the only
	// copy that is left, or one that was replaced or deleted since.
	Stale bool

	// Broken: its page is damaged elsewhere, and so may be this key.
	Broken bool

	Page uint64
}

// Salvage calls visit with every key that can be read from a damaged file:
//
//   - first what the newest good meta page leads to;
//   - if something is missing there, what the older one leads to beyond that
//     (Stale);
//   - what lies in pages to which nothing led (not Reached), even where both
//     meta pages are gone;
//   - at last what lies in pages that are free (Stale), if that is known.
//
// A key may come again, from another page or with another path: the first one
// is the best, but for a page to which several lead. Where a meta page is gone,
// nobody knows whether it was the newer one, and nothing is called stale.
// Salvage believes no checksum but those of the meta pages: what a key or a
// value means is the caller's to check.
//
// It returns how many pages it had to skip, or could read in part only, and if
// there are none, to how many in use nothing led: then a page that looks whole
// is another one than was meant. An error of visit ends it and is returned as it
// is. Data in which no page of bbolt can be seen is an error that wraps
// ErrDamaged. For the rest Salvage is as safe as Scan.
func Salvage(data []byte, visit func(Found) error) (skipped int, err error) {
	metas, bad := goodMetas(data)
	size := guessPageSize(data, metas)
	if size == 0 {
		return bad, damaged("it has no pages of bbolt")
	}
	s := salvager{
		file:    file{data: data, pageSize: size, end: uint64(len(data)) / size},
		skipped: bad,
		visit:   visit,
	}
	s.again = maxAgain * s.end
	for _, set := range []*pageSet{&s.seen, &s.above, &s.free, &s.led} {
		*set = newPageSet(s.end)
	}
	if len(metas) == 2 {
		s.readFree(metas[0])
	}
	for i, m := range metas {
		if i > 0 && s.skipped == 0 {
			break
		}
		s.reached, s.stale = true, i > 0
		if err := s.tree(m.Root, nil, 1); err != nil {
			return s.skipped, err
		}
		if i == 0 && s.skipped == 0 {
			s.skipped = s.cutOff()
		}
	}
	s.reached, s.stale = false, false
	return s.skipped, s.orphans()
}

// goodMetas returns the meta pages that can be believed, the newer one first,
// and how many are bad. Two that do not fit together are one: the newer.
func goodMetas(data []byte) (metas []Meta, bad int) {
	first, ok := metaAt(data, 0)
	if ok {
		metas = append(metas, first)
	}
	for _, size := range pageSizes {
		if ok && size != uint64(first.PageSize) {
			continue
		}
		if m, good := metaAt(data, size); good && uint64(m.PageSize) == size {
			metas = append(metas, m)
			break
		}
	}
	bad = 2 - len(metas)
	if len(metas) == 2 {
		m, fit := newer(metas[0], metas[1])
		switch {
		case !fit:
			return []Meta{m}, 1
		case m == metas[1]:
			metas[0], metas[1] = metas[1], metas[0]
		}
	}
	return metas, bad
}

// metaAt reads the meta page that begins at byte at.
func metaAt(data []byte, at uint64) (Meta, bool) {
	if uint64(len(data)) < at+headerLen+metaLen {
		return Meta{}, false
	}
	m, err := parseMeta(data[at+headerLen : at+headerLen+metaLen])
	return m, err == nil
}

// maxAgain bounds how often pages are read again, on average. One wrong page can
// lead to all others once more.
const maxAgain = 4

// pageSizes are the sizes to try, the most frequent first.
var pageSizes = []uint64{4096, 16384, 65536, 8192, 32768, 1024, 2048, minPageSize}

// guessPageSize takes a meta page's word, or the size with which most pages
// have their own id; 0 if there is none.
func guessPageSize(data []byte, metas []Meta) (size uint64) {
	if len(metas) > 0 {
		return uint64(metas[0].PageSize)
	}
	most := 0
	for _, candidate := range pageSizes {
		n := 0
		for id := uint64(firstPage); (id+1)*candidate <= uint64(len(data)); id++ {
			h := parseHeader(data[id*candidate:])
			if h.id == id && (h.typ == typeBranch || h.typ == typeLeaf) {
				n++
			}
		}
		if n > most {
			size, most = candidate, n
		}
	}
	return size
}

// readFree fills free with what m does not use and with the list of that itself,
// or leaves it empty.
func (s *salvager) readFree(m Meta) {
	free := newPageSet(s.end)
	for id := m.HighWater; id < s.end; id++ {
		free.add(id)
	}
	own, err := readFreelist(bytes.NewReader(s.data), m, func(id uint64) error {
		if id < s.end {
			free.add(id)
		}
		return nil
	})
	if err != nil {
		s.skipped++
		return
	}
	for id := m.Freelist; id < min(m.Freelist+own, s.end); id++ {
		free.add(id)
	}
	s.free = free
}

// cutOff counts the pages in use to which the newest tree did not lead.
func (s *salvager) cutOff() (n int) {
	for id := uint64(firstPage); id < s.end; id++ {
		if !s.seen.has(id) && !s.free.has(id) {
			n++
		}
	}
	return n
}

// orphans visits what lies in pages that were not seen. Pages to which others
// of them lead come with these, so that the names of their buckets are known.
func (s *salvager) orphans() error {
	inUse := func(id uint64) bool { return !s.free.has(id) }
	top := func(id uint64) bool { return inUse(id) && !s.led.has(id) }
	all := func(uint64) bool { return true }

	read := func(p *page) error { return s.read(p, 1) }
	if err := s.eachOrphan(inUse, s.markLed); err != nil {
		return err
	}
	if err := s.eachOrphan(top, read); err != nil {
		return err
	}
	if err := s.eachOrphan(inUse, read); err != nil { // those that lead to each other
		return err
	}
	s.stale, s.alone = true, true
	return s.eachOrphan(all, read)
}

func (s *salvager) eachOrphan(wanted func(id uint64) bool, fn func(p *page) error) error {
	var p page
	for id := uint64(firstPage); id < s.end; id++ {
		if s.seen.has(id) || !wanted(id) {
			continue
		}
		var ok bool
		if p, ok = s.open(id); !ok {
			continue
		}
		if err := fn(&p); err != nil {
			return err
		}
	}
	return nil
}

// markLed notes the pages to which p leads.
func (s *salvager) markLed(p *page) error {
	for i := range p.count {
		var to uint64
		if !p.leaf {
			to, _ = p.branchElement(i)
		} else if flags, at := p.leafElement(i); flags == flagBucket && p.holds(at) {
			b, _ := parseBucket(p.value(at), p.id)
			to = b.root
		}
		if to < s.end && to != p.id {
			s.led.add(to)
		}
	}
	return nil
}
