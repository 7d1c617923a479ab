package store

import (
	"encoding/json"
	"fmt"
	"net/netip"

	"github.com/bolt-local/bolt-local/store/record"
)

// maxCursors bounds the cursors of a network whose ranges change with each
// call, as runtimes do with runtimeConfig.ipRanges. Past it they begin anew: a
// lost cursor costs only the order.
const maxCursors = 64

// Put writes an allocation over whatever its address had before, in both
// indexes. One without a number gets that of the running boot, if a runtime verb
// of this boot has given it one.
func (n *Network) Put(a record.Allocation) error {
	old, existed, err := n.Get(a.Addr)
	if err != nil {
		return err
	}
	switch {
	case n.tx.nameless && a.Epoch == n.tx.epoch:
		a.Epoch = 0 // the newest number may be an earlier boot's
	case a.Epoch == 0 && n.tx.epochs.seen:
		a.Epoch = n.tx.epoch // else it would outlive the next reboot
	}
	value, err := record.Encode(n.name, a)
	if err != nil {
		return err
	}
	for _, h := range old.Holders {
		if !a.HeldBy(h.Attachment) {
			if err := n.tx.remove(n.path(bucketAttachments), attachmentKey(h.Attachment, a.Addr)); err != nil {
				return err
			}
		}
	}
	for _, h := range a.Holders {
		if !existed || !old.HeldBy(h.Attachment) {
			if err := n.tx.put(n.path(bucketAttachments), attachmentKey(h.Attachment, a.Addr), []byte{}); err != nil {
				return err
			}
		}
	}
	if err := n.tx.put(n.path(bucketAllocations), addrKey(a.Addr), value); err != nil {
		return err
	}
	return n.number(a.Addr, existed && old.Epoch == 0, a.Epoch == 0)
}

// Delete frees addr, which need not be allocated.
func (n *Network) Delete(addr netip.Addr) error {
	old, existed, err := n.Get(addr)
	if err != nil || !existed {
		return err
	}
	for _, h := range old.Holders {
		if err := n.tx.remove(n.path(bucketAttachments), attachmentKey(h.Attachment, addr)); err != nil {
			return err
		}
	}
	if err := n.tx.remove(n.path(bucketAllocations), addrKey(addr)); err != nil {
		return err
	}
	return n.number(addr, old.Epoch == 0, false)
}

// number keeps meta/unnumbered, the list of records with epoch 0.
func (n *Network) number(addr netip.Addr, was, is bool) error {
	path, key := []string{bucketMeta, bucketUnnumbered}, unnumberedKey(n.name, addr)
	switch {
	case is && !was:
		return n.tx.put(path, key, []byte{})
	case was && !is:
		return n.tx.remove(path, key)
	}
	return nil
}

// SetCursor remembers the last address given from set.
func (n *Network) SetCursor(set record.RangeSet, addr netip.Addr) error {
	path, key := n.path(bucketCursors), cursorKey(set)
	if b := n.tx.bucket(path); b != nil && b.Get(key) == nil {
		keys := 0
		_ = b.ForEach(func(_, _ []byte) error {
			keys++
			return nil
		})
		if keys >= maxCursors {
			if err := n.tx.removeAll(path, b); err != nil {
				return err
			}
		}
	}
	return n.tx.put(path, key, addrKey(addr))
}

// SetRanges remembers the range sets of an ADD, where they differ from those
// stored.
func (n *Network) SetRanges(sets []record.RangeSet) error {
	doc, err := json.Marshal(sets)
	if err != nil {
		return fmt.Errorf("encoding the ranges of network %s: %w", n.name, err)
	}
	return n.setDocument(keyRanges, doc)
}
