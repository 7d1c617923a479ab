package pages

import "bytes"

// salvager walks trees of which any page may be damaged.
type salvager struct {
	file
	seen    pageSet // pages that were read
	above   pageSet // pages from the root to the one that is being read
	free    pageSet // pages that the last transaction does not use
	led     pageSet // pages to which one leads that nothing led to
	again   uint64  // how many more pages may be read that were read before
	skipped int
	path    [][]byte
	visit   func(Found) error

	// Of the walk that goes on.
	reached, stale bool
	alone          bool // each page by itself, whatever it leads to
}

// newest tells whether the walk is of the newest tree.
func (s *salvager) newest() bool { return s.reached && !s.stale }

// skip counts a page of the newest tree.
func (s *salvager) skip() {
	if s.newest() {
		s.skipped++
	}
}

// open returns a branch or leaf page, if it is one by its header. An overflow
// count that cannot be is taken for as many pages as there are.
func (s *salvager) open(id uint64) (page, bool) {
	if id < firstPage || id >= s.end {
		return page{}, false
	}
	b := s.data[id*s.pageSize:]
	h := parseHeader(b)
	if h.id != id || h.typ != typeBranch && h.typ != typeLeaf {
		return page{}, false
	}
	n := min(uint64(h.overflow)+1, s.end-id)
	p := page{id: id, leaf: h.typ == typeLeaf, count: uint64(h.count), b: b[:n*s.pageSize]}
	return p, p.body() <= s.pageSize
}

// tree visits what the page with this id leads to. A page that does not begin
// with the key first is not the one that was meant, unless that is nil. A page
// to which the newest tree leads more than once is read each time: of those
// that lead to it all but one are not what they should be, and nobody knows
// which.
func (s *salvager) tree(id uint64, first []byte, depth int) error {
	p, ok := s.open(id)
	if !ok || depth > maxDepth || first != nil && !p.beginsWith(first) {
		s.skip()
		return nil
	}
	if s.seen.has(id) {
		s.skip()
		if !s.newest() || s.above.has(id) || s.again == 0 {
			return nil
		}
		s.again--
	}
	s.above.add(id)
	defer s.above.remove(id)
	return s.read(&p, depth)
}

// beginsWith tells whether the first key is key, as far as it can be read.
func (p *page) beginsWith(key []byte) bool {
	for i := range p.count {
		_, at := p.branchElement(i)
		if p.leaf {
			_, at = p.leafElement(i)
		}
		if p.holds(at) {
			c := bytes.Compare(p.key(at), key)
			return c == 0 || c > 0 && i > 0
		}
	}
	return false
}

// read visits what p holds and leads to.
func (s *salvager) read(p *page, depth int) error {
	s.seen.add(p.id)
	whole := p.whole(s.pageSize)
	if whole {
		for id := p.id + 1; id < p.id+s.pages(p); id++ {
			s.seen.add(id)
		}
	} else {
		s.skip()
	}
	if p.leaf {
		return s.leaf(p, !whole)
	}
	if s.alone {
		return nil
	}
	for i := range p.count {
		child, at := p.branchElement(i)
		if !p.holds(at) {
			s.skip()
			continue
		}
		if err := s.tree(child, p.key(at), depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (s *salvager) leaf(p *page, broken bool) error {
	for i := range p.count {
		flags, at := p.leafElement(i)
		if flags&^flagBucket != 0 || !p.holds(at) {
			continue
		}
		var err error
		if flags == flagBucket {
			err = s.bucket(p, p.key(at), p.value(at))
		} else {
			err = s.visit(Found{
				Path: s.path, Key: p.key(at), Value: p.value(at), Page: p.id,
				Reached: s.reached, Stale: s.stale, Broken: broken,
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *salvager) bucket(p *page, name, value []byte) error {
	b, ok := parseBucket(value, p.id)
	if !ok || p.inline || len(s.path) == maxNesting {
		s.skip()
		return nil
	}
	if b.root != 0 && s.alone {
		return nil
	}
	s.path = append(s.path, name)
	defer func() { s.path = s.path[:len(s.path)-1] }()
	if b.root != 0 {
		return s.tree(b.root, nil, 1)
	}
	whole := b.inline.whole(s.pageSize)
	if !whole {
		s.skip()
	}
	return s.leaf(&b.inline, !whole)
}
