package pages

import "bytes"

// Bounds of a walk. A tree of maxDepth levels has 2^31 leaves at least; buckets
// that lie in more than maxNesting others are taken for damage.
const (
	maxDepth   = 32
	maxNesting = 64
)

// Scan checks every page below m's high-water mark. Each is used once: as a
// meta page, for the freelist, free, or in one tree. A page of a tree has its
// own id, the type of its level, its elements in their places, and no more
// overflow pages than they need; keys ascend in the whole tree, and the key of
// a branch element is the first one below. Buckets in it are checked likewise.
//
// visit gets each key that is not a bucket, with the names of the buckets that
// it is in, outermost first. What it gets points into data, and path is used
// again for the next key: clone what is to be kept. An error of visit ends the
// scan and is returned as it is. When Scan fails, what visit got before may be
// damaged as well.
//
// Scan reads nothing outside data and needs a bit of memory for each page.
// Where data is a mapping of a file that somebody truncates meanwhile, the
// fault is the caller's to catch.
func Scan(data []byte, m Meta, visit func(path [][]byte, key, value []byte) error) error {
	if err := m.within(int64(len(data))); err != nil {
		return err
	}
	s := scanner{
		file:  file{data: data, pageSize: uint64(m.PageSize), end: m.HighWater},
		used:  newPageSet(m.HighWater),
		visit: visit,
	}
	s.used.add(0)
	s.used.add(1)
	pages, err := readFreelist(bytes.NewReader(data), m, func(id uint64) error { return s.use(id, 1) })
	if err != nil {
		return err
	}
	if err := s.use(m.Freelist, pages); err != nil {
		return err
	}
	if err := s.walk(m.Root, nil, &tree{}, 1); err != nil {
		return err
	}
	return s.complete()
}

type scanner struct {
	file
	used  pageSet
	path  [][]byte
	visit func(path [][]byte, key, value []byte) error
}

// tree is the tree of one bucket, as far as it was walked.
type tree struct {
	last  []byte // the last key, nil before the first
	depth int    // of its leaves, 0 before the first
}

// use takes n pages, which nothing else may have taken.
func (s *scanner) use(id, n uint64) error {
	for ; n > 0; n-- {
		if s.used.has(id) {
			return damaged("page %d is used twice", id)
		}
		s.used.add(id)
		id++
	}
	return nil
}

// complete: every page is used.
func (s *scanner) complete() error {
	for id := range s.end {
		if !s.used.has(id) {
			return damaged("page %d is neither in use nor free", id)
		}
	}
	return nil
}

// walk checks the page with this id and what is below it. Its first key has to
// be first, unless that is nil.
func (s *scanner) walk(id uint64, first []byte, t *tree, depth int) error {
	p, err := s.page(id)
	if err != nil {
		return err
	}
	if err := s.use(id, s.pages(&p)); err != nil {
		return err
	}
	if !p.leaf {
		return s.branch(&p, first, t, depth)
	}
	if t.depth == 0 {
		t.depth = depth
	}
	if t.depth != depth {
		return damaged("page %d is a leaf at level %d of its tree, others are at %d", id, depth, t.depth)
	}
	return s.leaf(&p, first, t)
}

func (s *scanner) branch(p *page, first []byte, t *tree, depth int) error {
	if depth == maxDepth {
		return damaged("page %d is a branch at level %d", p.id, depth)
	}
	next := p.body()
	for i := range p.count {
		child, at := p.branchElement(i)
		if at.key != next || !p.holds(at) {
			return damaged("page %d: element %d is not in its place", p.id, i)
		}
		key := p.key(at)
		if i == 0 && first != nil && !bytes.Equal(key, first) {
			return damaged("page %d does not begin with the key that led to it", p.id)
		}
		// That the keys of p ascend follows from those below.
		if err := s.walk(child, key, t, depth+1); err != nil {
			return err
		}
		next = at.end
	}
	return s.ends(p, next)
}

func (s *scanner) leaf(p *page, first []byte, t *tree) error {
	if p.count == 0 && first != nil {
		return damaged("page %d is empty", p.id)
	}
	next := p.body()
	for i := range p.count {
		flags, at := p.leafElement(i)
		if at.key != next || !p.holds(at) || flags&^flagBucket != 0 {
			return damaged("page %d: element %d is not in its place", p.id, i)
		}
		key, value := p.key(at), p.value(at)
		if i == 0 && first != nil && !bytes.Equal(key, first) {
			return damaged("page %d does not begin with the key that led to it", p.id)
		}
		if t.last != nil && bytes.Compare(t.last, key) >= 0 {
			return damaged("page %d: the key of element %d is out of order", p.id, i)
		}
		t.last = key
		var err error
		if flags == flagBucket {
			err = s.bucket(p, key, value)
		} else {
			err = s.plain(p, key, value)
		}
		if err != nil {
			return err
		}
		next = at.end
	}
	return s.ends(p, next)
}

// ends checks that p has no more elements and pages than it says and needs,
// where its last value ends at byte end: a commit frees as many pages as p says
// that it has.
func (s *scanner) ends(p *page, end uint64) error {
	if !p.fits(end, s.pageSize) {
		return damaged("page %d has %d bytes in use of %d", p.id, end, len(p.b))
	}
	return nil
}

// plain visits a key that is not a bucket. The root bucket has no such key.
func (s *scanner) plain(p *page, key, value []byte) error {
	if len(s.path) == 0 {
		return damaged("page %d: %q is not a bucket", p.id, key)
	}
	if p.lostFlag(value, s.pageSize) {
		return damaged("page %d: %q is not marked as the bucket that it is", p.id, key)
	}
	return s.visit(s.path, key, value)
}

// bucket checks the bucket that lies in p.
func (s *scanner) bucket(p *page, name, value []byte) error {
	b, ok := parseBucket(value, p.id)
	if !ok || p.inline { // bbolt keeps no bucket inline that has buckets in it
		return damaged("page %d: what it has for bucket %q is none", p.id, name)
	}
	if len(s.path) == maxNesting {
		return damaged("page %d: bucket %q lies in %d others", p.id, name, maxNesting)
	}
	s.path = append(s.path, name)
	var err error
	if b.root == 0 {
		err = s.leaf(&b.inline, nil, &tree{})
	} else {
		err = s.walk(b.root, nil, &tree{}, 1)
	}
	s.path = s.path[:len(s.path)-1]
	return err
}
