package store

import (
	"fmt"
	"slices"
)

// Try calls fn and returns its error. Where fn fails, all that it has written
// is taken back, with the buckets that it made; what the transaction wrote
// before stays. fn may call Try.
func (t *Tx) Try(fn func() error) error {
	changes, undo, made, done, forgotten := len(t.changes), len(t.undo), len(t.made), len(t.done), len(t.forgotten)
	fnErr := fn()
	if fnErr == nil {
		return nil
	}
	if err := t.takeBack(t.undo[undo:], t.made[made:]); err != nil {
		// What is left is neither fn's state nor the one before it.
		t.spoiled = fmt.Errorf("taking back what was written to %s: %w; nothing was committed", t.store.Path(), err)
		return fnErr
	}
	t.changes, t.undo, t.made, t.done = t.changes[:changes], t.undo[:undo], t.made[:made], t.done[:done]
	t.forgotten = t.forgotten[:forgotten]
	return fnErr
}

// takeBack applies undo from its end and removes the buckets made, innermost
// first. It passes put and remove by: the journal must not tell of it.
func (t *Tx) takeBack(undo []change, made [][]string) error {
	for _, c := range slices.Backward(undo) {
		b := t.bucket(c.Path)
		var err error
		if c.Value == nil {
			err = b.Delete(c.Key)
		} else {
			err = b.Put(c.Key, c.Value)
		}
		if err != nil {
			return err
		}
	}
	for _, path := range slices.Backward(made) {
		last := len(path) - 1
		var parent buckets = t.bolt
		if last > 0 {
			parent = t.bucket(path[:last])
		}
		if err := parent.DeleteBucket([]byte(path[last])); err != nil {
			return err
		}
	}
	return nil
}
