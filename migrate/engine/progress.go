package engine

import (
	"encoding/json"
	"fmt"

	"github.com/bolt-local/bolt-local/migrate/form"
)

// Progress is where the migration of a network stands, as it is stored with the
// network.
type Progress struct {
	Phase Phase `json:"phase"`
	// Pending is the phase whose swap was begun, "" where none was.
	Pending Phase `json:"pending,omitempty"`
	// Target is that of the last ADD's configuration, "" for none.
	Target Phase `json:"target,omitempty"`
	// Waits is why the next step towards Target was not taken.
	Waits string `json:"waits,omitempty"`
	// OldPath is where the old form is, absolute.
	OldPath string `json:"oldPath"`
	// Place and Stamp are those of the old form after our last write.
	Place string `json:"place,omitempty"`
	Stamp string `json:"stamp,omitempty"`
	// Epoch is the boot in which entries of earlier boots were last removed
	// from the old form.
	Epoch uint64 `json:"epoch,omitempty"`
	// SetAside are the addresses that the old form blocks.
	SetAside []form.Aside `json:"setAside,omitempty"`

	raw []byte // what was read, with the fields of newer versions
}

func decodeProgress(doc []byte) (Progress, error) {
	var p Progress
	if err := json.Unmarshal(doc, &p); err != nil {
		return p, fmt.Errorf("reading where the migration stands: %w", err)
	}
	if !p.Phase.Valid() || (p.Pending != "" && !p.Pending.Valid()) {
		return p, fmt.Errorf("%w: %q, pending %q", ErrPhase, p.Phase, p.Pending)
	}
	p.raw = doc
	return p, nil
}

// encode keeps the fields that it does not know.
func (p Progress) encode() ([]byte, error) {
	known, err := json.Marshal(p)
	if err != nil || p.raw == nil {
		return known, err
	}
	var was, merged map[string]json.RawMessage
	if err := json.Unmarshal(p.raw, &was); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(known, &merged); err != nil {
		return nil, err
	}
	for name, value := range was {
		if !progressFields[name] {
			merged[name] = value
		}
	}
	return json.Marshal(merged)
}

var progressFields = map[string]bool{
	"phase": true, "pending": true, "target": true, "waits": true, "oldPath": true,
	"place": true, "stamp": true, "epoch": true, "setAside": true,
}

func (p *Progress) stamp(c form.Contents) {
	p.Place, p.Stamp = c.Place, c.Stamp()
}

// blocked are the addresses that nobody is given in this boot.
func (p Progress) blocked(epoch uint64) asides {
	b := asides{}
	for _, a := range p.SetAside {
		if a.Fixed || a.Epoch == epoch {
			b[a.Addr] = a
		}
	}
	return b
}

// noteAsides takes over what the old form blocks now, and returns what is new.
func (p *Progress) noteAsides(c form.Contents, epoch uint64) []form.Aside {
	known := map[form.Aside]uint64{}
	for _, a := range p.SetAside {
		known[form.Aside{Addr: a.Addr, Mark: a.Mark}] = a.Epoch
	}
	var all, fresh []form.Aside
	for _, a := range c.SetAside {
		found, ok := known[form.Aside{Addr: a.Addr, Mark: a.Mark}]
		if a.Epoch = found; !ok {
			a.Epoch = epoch
			fresh = append(fresh, a)
		}
		all = append(all, a)
	}
	p.SetAside = all
	return fresh
}
