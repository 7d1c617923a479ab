// Package pages reads a bbolt file (format 2) without bbolt, to tell whether it
// is sound before bbolt maps it: bbolt trusts what it reads, and on a damaged
// file it panics, never ends, or tells what is not so. It knows bbolt's layout
// and nothing of what the keys and values mean.
//
//	page 0, 1   meta pages; a commit writes the one that is two transactions old
//	page 2...   branch pages, leaf pages, and the freelist, in any order
//
//	page        header (16 bytes: own id, type, count, overflow), then count
//	            elements of 16 bytes, then keys and values. A page that is too
//	            small for them goes on in the overflow pages behind it.
//	meta        magic, version, page size, flags, root bucket, freelist's page,
//	            high-water mark (ids in use are below it), transaction, checksum
//	branch      count × (position, key length, child page), the keys
//	leaf        count × (flags, position, key length, value length), each key and its value
//	freelist    count ids, ascending; for 0xFFFF and more the first element is the count
//	bucket      a leaf element with flag 1; its value is the bucket's root page and
//	            its sequence. For a root of 0 a leaf page follows: an inline bucket.
//
// Numbers have the byte order of the machine, and positions count from the
// element that has them. bbolt always writes keys and values without a gap, in
// the order of their elements, takes no more pages than they need, and gives a
// branch element the first key of its child. All this is held against each
// page: it exposes most flipped bits. What it cannot expose is a flip within a
// value, or in a key of a leaf that stays in order: that needs a checksum in
// the value.
package pages
