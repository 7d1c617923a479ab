package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/bolt-local/bolt-local/migrate/form"
)

// Progress is where the migration of a network stands, as it is stored with the
// network.
type Progress struct {
	Phase Phase
	// Pending is the phase whose swap was begun, "" where none was.
	Pending Phase
	// Target is that of the last ADD's configuration, "" for none.
	Target Phase
	// Waits is why the next step towards Target was not taken.
	Waits string
	// OldPath is where the old form is, absolute.
	OldPath string
	// Place and Stamp are those of the old form after our last write.
	Place string
	Stamp string
	// Epoch is the boot in which entries of earlier boots were last removed
	// from the old form.
	Epoch uint64
	// Asked is the boot in which an ADD has last asked the witness who lives.
	Asked uint64
	// SetAside are the addresses that the old form blocks.
	SetAside []form.Aside

	extra map[string]any // fields of newer versions
}

// A field's name on disk; see Progress.
const (
	fieldPhase    = "phase"
	fieldPending  = "pending"
	fieldTarget   = "target"
	fieldWaits    = "waits"
	fieldOldPath  = "oldPath"
	fieldPlace    = "place"
	fieldStamp    = "stamp"
	fieldEpoch    = "epoch"
	fieldAsked    = "asked"
	fieldSetAside = "setAside"
)

// decodeProgress reads by way of map[string]any: encoding/json then builds no
// type tables, which would cost a process that reads once ten times the reading.
func decodeProgress(doc []byte) (Progress, error) {
	var fields map[string]any
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	if err := d.Decode(&fields); err != nil {
		return Progress{}, fmt.Errorf("%w: %w", ErrPhase, err)
	}
	var wrong error
	take := func(name string) string {
		value, given := fields[name]
		text, ok := value.(string)
		if given && !ok {
			wrong = fmt.Errorf("%w: %s is %v", ErrPhase, name, value)
		}
		delete(fields, name)
		return text
	}
	p := Progress{
		Phase:   Phase(take(fieldPhase)),
		Pending: Phase(take(fieldPending)),
		Target:  Phase(take(fieldTarget)),
		Waits:   take(fieldWaits),
		OldPath: take(fieldOldPath),
		Place:   take(fieldPlace),
		Stamp:   take(fieldStamp),
	}
	for name, to := range map[string]*uint64{fieldEpoch: &p.Epoch, fieldAsked: &p.Asked} {
		value, given := fields[name]
		if !given {
			continue
		}
		n, _ := value.(json.Number)
		var err error
		if *to, err = strconv.ParseUint(n.String(), 10, 64); err != nil {
			wrong = fmt.Errorf("%w: %s is %v", ErrPhase, name, value)
		}
		delete(fields, name)
	}
	if list, ok := fields[fieldSetAside]; ok {
		b, err := json.Marshal(list)
		if err == nil {
			err = json.Unmarshal(b, &p.SetAside)
		}
		if err != nil {
			return p, fmt.Errorf("%w: %s: %w", ErrPhase, fieldSetAside, err)
		}
		delete(fields, fieldSetAside)
	}
	if !filepath.IsAbs(p.OldPath) && wrong == nil {
		wrong = fmt.Errorf("%w: %s is %q", ErrPhase, fieldOldPath, p.OldPath)
	}
	if wrong != nil {
		return p, wrong
	}
	if !p.Phase.Valid() || (p.Pending != "" && !p.Pending.Valid()) {
		return p, fmt.Errorf("%w: %q, pending %q", ErrPhase, p.Phase, p.Pending)
	}
	p.extra = fields
	return p, nil
}

// same tells whether q would be stored as p is.
func (p Progress) same(q Progress) bool {
	return p.Phase == q.Phase && p.Pending == q.Pending && p.Target == q.Target && p.Waits == q.Waits &&
		p.OldPath == q.OldPath && p.Place == q.Place && p.Stamp == q.Stamp && p.Epoch == q.Epoch && p.Asked == q.Asked &&
		slices.Equal(p.SetAside, q.SetAside)
}

// encode keeps the fields that it does not know.
func (p Progress) encode() ([]byte, error) {
	b := []byte{'{'}
	var err error
	field := func(name string, value any) {
		key, keyErr := json.Marshal(name)
		doc, docErr := json.Marshal(value)
		err = errors.Join(err, keyErr, docErr)
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(append(b, key...), ':'), doc...)
	}
	text := func(name, value string) {
		if value != "" {
			field(name, value)
		}
	}
	text(fieldPhase, string(p.Phase))
	text(fieldPending, string(p.Pending))
	text(fieldTarget, string(p.Target))
	text(fieldWaits, p.Waits)
	text(fieldOldPath, p.OldPath)
	text(fieldPlace, p.Place)
	text(fieldStamp, p.Stamp)
	if p.Epoch != 0 {
		field(fieldEpoch, p.Epoch)
	}
	if p.Asked != 0 {
		field(fieldAsked, p.Asked)
	}
	if len(p.SetAside) > 0 {
		field(fieldSetAside, p.SetAside)
	}
	for _, name := range slices.Sorted(maps.Keys(p.extra)) {
		field(name, p.extra[name])
	}
	return append(b, '}'), err
}

func (p *Progress) stamp(c form.Contents) {
	p.Place, p.Stamp = c.Place, c.Stamp()
}

// Blocked are the addresses that nobody is given in this boot. In contract what
// cannot be replaced is out of the way.
func (p Progress) Blocked(epoch uint64) []form.Aside {
	var all []form.Aside
	for _, a := range p.SetAside {
		if a.Epoch == epoch || (a.Fixed && p.Phase != Contract) {
			all = append(all, a)
		}
	}
	return all
}

func (p Progress) blocked(epoch uint64) asides {
	b := asides{}
	for _, a := range p.Blocked(epoch) {
		b[a.Addr] = a
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
