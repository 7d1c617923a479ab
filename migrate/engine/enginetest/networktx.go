package enginetest

import (
	"encoding/json"
	"errors"
	"maps"
	"net/netip"
	"slices"

	"github.com/bolt-local/bolt-local/migrate/form"
	"github.com/bolt-local/bolt-local/store/record"
)

var errReadOnly = errors.New("this transaction only reads")

// networkTx is a transaction on a copy of a network file.
type networkTx struct {
	networkState
	epoch    uint64
	readOnly bool
}

// networkState is what a transaction changes.
type networkState struct {
	migration []byte
	ranges    []record.RangeSet
	cursors   map[string]netip.Addr
	records   map[netip.Addr]record.Allocation
}

var _ form.New = (*networkTx)(nil)

// Whole implements [ipam.Reader]: nothing is ever lost.
func (tx *networkTx) Whole() error { return nil }

func openTx(doc networkDoc, boot string) (*networkTx, error) {
	tx := &networkTx{networkState: networkState{
		migration: doc.Migration,
		ranges:    doc.Ranges,
		cursors:   map[string]netip.Addr{},
		records:   map[netip.Addr]record.Allocation{},
	}, epoch: uint64(len(doc.Boots))}
	if !slices.Contains(doc.Boots, boot) {
		tx.epoch++ // all that is stored is of an earlier boot
	}
	maps.Copy(tx.cursors, doc.Cursors)
	for addr, value := range doc.Records {
		a, err := record.Decode(Network, addr, value)
		if err != nil {
			return nil, err
		}
		tx.records[addr] = a
	}
	return tx, nil
}

func (tx *networkTx) encode(boots []string) ([]byte, error) {
	doc := networkDoc{Boots: boots, Migration: tx.migration, Ranges: tx.ranges, Cursors: tx.cursors, Records: map[netip.Addr][]byte{}}
	for addr, a := range tx.records {
		value, err := record.Encode(Network, a)
		if err != nil {
			return nil, err
		}
		doc.Records[addr] = value
	}
	return json.Marshal(doc)
}

// number gives the records that have no epoch this one.
func (tx *networkTx) number() {
	for addr, a := range tx.records {
		if a.Epoch == 0 {
			a.Epoch = tx.epoch
			tx.records[addr] = a
		}
	}
}

// Try implements [form.New].
func (tx *networkTx) Try(fn func() error) error {
	before := tx.networkState
	before.cursors, before.records = maps.Clone(before.cursors), maps.Clone(before.records)
	err := fn()
	if err != nil {
		tx.networkState = before
	}
	return err
}

func (tx *networkTx) Epoch() uint64 { return tx.epoch }

func (tx *networkTx) Get(addr netip.Addr) (record.Allocation, bool, error) {
	a, ok := tx.records[addr]
	return own(a), ok, nil
}

// own is a with holders that nobody shares.
func own(a record.Allocation) record.Allocation {
	a.Holders = slices.Clone(a.Holders)
	return a
}

func (tx *networkTx) HeldBy(att record.Attachment) ([]record.Allocation, error) {
	var held []record.Allocation
	err := tx.Each(func(a record.Allocation) error {
		if a.HeldBy(att) {
			held = append(held, a)
		}
		return nil
	})
	return held, err
}

func (tx *networkTx) Each(fn func(record.Allocation) error) error {
	for _, addr := range slices.SortedFunc(maps.Keys(tx.records), netip.Addr.Compare) {
		if err := fn(own(tx.records[addr])); err != nil {
			return err
		}
	}
	return nil
}

func (tx *networkTx) FirstFree(lo, hi netip.Addr, stale func(record.Allocation) bool) (netip.Addr, bool, error) {
	for addr := lo; addr.Compare(hi) <= 0; addr = addr.Next() {
		a, taken := tx.records[addr]
		if !taken || (a.Epoch != 0 && a.Epoch < tx.epoch && stale(own(a))) {
			return addr, true, nil
		}
	}
	return netip.Addr{}, false, nil
}

func (tx *networkTx) Cursor(set record.RangeSet) netip.Addr { return tx.cursors[set.String()] }

func (tx *networkTx) Ranges() ([]record.RangeSet, error) { return tx.ranges, nil }

func (tx *networkTx) Migration() ([]byte, error) { return slices.Clone(tx.migration), nil }

// write calls fn where the transaction may write.
func (tx *networkTx) write(fn func()) error {
	if tx.readOnly {
		return errReadOnly
	}
	fn()
	return nil
}

func (tx *networkTx) Put(a record.Allocation) error {
	return tx.write(func() { tx.records[a.Addr] = own(a) })
}

func (tx *networkTx) Delete(addr netip.Addr) error {
	return tx.write(func() { delete(tx.records, addr) })
}

func (tx *networkTx) SetCursor(set record.RangeSet, addr netip.Addr) error {
	return tx.write(func() { tx.cursors[set.String()] = addr })
}

func (tx *networkTx) SetRanges(sets []record.RangeSet) error {
	return tx.write(func() { tx.ranges = sets })
}

func (tx *networkTx) SetMigration(doc []byte) error {
	return tx.write(func() { tx.migration = slices.Clone(doc) })
}
