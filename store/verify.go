package store

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"

	"github.com/bolt-local/bolt-local/store/record"
)

// Verify holds the whole content against the invariants of the package comment
// and joins every violation that it finds. Each wraps ErrDamaged.
func (t *Tx) Verify() error {
	if t.bolt == nil {
		return nil
	}
	var errs []error
	unnumbered := map[string]bool{}
	for _, name := range t.Networks() {
		errs = append(errs, t.Network(name).verify(unnumbered))
	}
	if b := t.bucket([]string{bucketMeta, bucketUnnumbered}); b != nil {
		errs = append(errs, b.ForEach(func(k, _ []byte) error {
			if !unnumbered[string(k)] {
				return fmt.Errorf("%w: meta/unnumbered names %q, which has a number", ErrDamaged, k)
			}
			delete(unnumbered, string(k))
			return nil
		}))
	}
	for k := range unnumbered {
		errs = append(errs, fmt.Errorf("%w: %q has no number and is not in meta/unnumbered", ErrDamaged, k))
	}
	return errors.Join(errs...)
}

// verify checks one network and adds its records without a number to unnumbered.
func (n *Network) verify(unnumbered map[string]bool) error {
	type entry struct {
		att  record.Attachment
		addr netip.Addr
	}
	listed := map[entry]bool{}
	var errs []error
	if b := n.tx.bucket(n.path(bucketAttachments)); b != nil {
		errs = append(errs, b.ForEach(func(k, _ []byte) error {
			att, addr, err := parseAttachmentKey(k)
			if err != nil {
				return n.damaged(err)
			}
			listed[entry{att, addr}] = true
			return nil
		}))
	}
	errs = append(errs, n.Each(func(a record.Allocation) error {
		if a.Epoch == 0 {
			unnumbered[string(unnumberedKey(n.name, a.Addr))] = true
		}
		for _, h := range a.Holders {
			e := entry{h.Attachment, a.Addr}
			if !listed[e] {
				errs = append(errs, n.damaged(fmt.Errorf("%s is held by container %s, ifname %s, which does not list it", a.Addr, h.ContainerID, h.IfName)))
			}
			delete(listed, e)
		}
		return nil
	}))
	for e := range listed {
		errs = append(errs, n.damaged(fmt.Errorf("container %s, ifname %s lists %s, which it does not hold", e.att.ContainerID, e.att.IfName, e.addr)))
	}
	if b := n.tx.bucket(n.path(bucketCursors)); b != nil {
		errs = append(errs, b.ForEach(func(k, v []byte) error {
			if _, err := keyAddr(bytes.Clone(v)); err != nil {
				return n.damaged(fmt.Errorf("cursor %q: %w", k, err))
			}
			return nil
		}))
	}
	_, err := n.Ranges()
	return errors.Join(append(errs, err)...)
}
