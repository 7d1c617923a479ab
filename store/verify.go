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
	v := verifier{tx: t, numbered: map[string]bool{}}
	for _, name := range t.Networks() {
		v.network(t.Network(name))
	}
	v.unnumbered()
	return errors.Join(v.errs...)
}

type verifier struct {
	tx   *Tx
	errs []error
	// numbered has the key in meta/unnumbered of every record that can be read,
	// and whether the record has a number.
	numbered map[string]bool
}

func (v *verifier) fail(n *Network, format string, args ...any) {
	v.errs = append(v.errs, n.damaged(fmt.Errorf(format, args...)))
}

type indexEntry struct {
	att  record.Attachment
	addr netip.Addr
}

// network checks one network.
func (v *verifier) network(n *Network) {
	listed := v.attachments(n)
	unreadable := map[netip.Addr]bool{}
	_ = n.EachReadable(func(a record.Allocation, err error) error {
		if err != nil {
			v.errs = append(v.errs, err)
			unreadable[a.Addr] = true
			return nil
		}
		v.numbered[string(unnumberedKey(n.name, a.Addr))] = a.Epoch != 0
		for _, h := range a.Holders {
			e := indexEntry{h.Attachment, a.Addr}
			if !listed[e] {
				v.fail(n, "%s is held by container %s, ifname %s, which does not list it", a.Addr, h.ContainerID, h.IfName)
			}
			delete(listed, e)
		}
		return nil
	})
	for e := range listed {
		if !unreadable[e.addr] {
			v.fail(n, "container %s, ifname %s lists %s, which it does not hold", e.att.ContainerID, e.att.IfName, e.addr)
		}
	}
	if b := v.tx.bucket(n.path(bucketCursors)); b != nil {
		_ = b.ForEach(func(k, value []byte) error {
			if len(value) != addrLen {
				v.fail(n, "cursor %q: its address has a length of %d, not %d", k, len(value), addrLen)
			}
			return nil
		})
	}
	if _, err := n.Ranges(); err != nil {
		v.errs = append(v.errs, err)
	}
	if _, err := n.Migration(); err != nil {
		v.errs = append(v.errs, err)
	}
}

// attachments reads the index of attachments.
func (v *verifier) attachments(n *Network) map[indexEntry]bool {
	listed := map[indexEntry]bool{}
	b := v.tx.bucket(n.path(bucketAttachments))
	if b == nil {
		return listed
	}
	_ = b.ForEach(func(k, _ []byte) error {
		att, addr, err := parseAttachmentKey(k)
		if err != nil {
			v.fail(n, "%w", err)
			return nil
		}
		listed[indexEntry{att, addr}] = true
		return nil
	})
	return listed
}

// unnumbered checks that meta/unnumbered names the records with epoch 0 and
// nothing else.
func (v *verifier) unnumbered() {
	named := map[string]bool{}
	if b := v.tx.bucket([]string{bucketMeta, bucketUnnumbered}); b != nil {
		_ = b.ForEach(func(k, _ []byte) error {
			named[string(k)] = true
			if numbered, readable := v.numbered[string(k)]; readable && numbered {
				v.failKey(k, "is in meta/unnumbered, but has a number")
			} else if !readable {
				v.failKey(k, "is in meta/unnumbered, but there is no such record")
			}
			return nil
		})
	}
	for k, numbered := range v.numbered {
		if !numbered && !named[k] {
			v.failKey([]byte(k), "has no number, but is not in meta/unnumbered")
		}
	}
}

// failKey tells of the record that a key of meta/unnumbered names.
func (v *verifier) failKey(key []byte, what string) {
	network, addr, ok := bytes.Cut(key, []byte{0})
	if a, err := keyAddr(addr); ok && err == nil {
		v.fail(v.tx.Network(string(network)), "%s %s", a, what)
		return
	}
	v.errs = append(v.errs, fmt.Errorf("%w: %s: the key %q %s", ErrDamaged, v.tx.store.Path(), key, what))
}
