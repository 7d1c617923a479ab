package ipam

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/bolt-local/bolt-local/store/record"
)

// gcBatch is how many addresses GC frees in a transaction once the disk was
// too full for all at once: a DEL of few needs few pages, and each frees some.
const gcBatch = 16

// GC frees what the list of valid attachments does not name, in this network
// alone. For a list that is null (CRI-O, for every network but its own) it
// frees only what is certainly dead. It reports what it freed on stderr.
func (p *Plugin) GC(call Call) error {
	cfg, err := parseSettings(call.Stdin)
	if err != nil {
		return err
	}
	p.warnAll(cfg.Warnings)
	if cfg.Network == "" {
		p.warnf("GC: no ADD is answered under such a name, so nothing was freed")
		return nil
	}
	valid, err := ParseValidAttachments(call.Stdin)
	if err != nil {
		return err
	}
	if valid.DisableGC {
		p.warnf("GC of network %s: nothing freed, disableGC is set", cfg.Network)
		return nil
	}
	if valid.Kind == AttachmentsAbsent {
		return Errorf(CodeConfig, "GC of network %s came without cni.dev/valid-attachments: nothing was freed", cfg.Network)
	}
	freed, err := Sweep(p.Open(cfg), VerbGC, cfg.Network, p.selector(valid))
	for _, f := range freed {
		p.Warn(f.String())
	}
	if unsure := p.Namespaces.Unsure(); unsure != nil {
		p.warnf("GC of network %s: %v", cfg.Network, unsure)
	}
	return err
}

// Selector tells whether one holder of an allocation is to be freed, and why.
// epoch is the number of this boot.
type Selector func(epoch uint64, a record.Allocation, h record.Holder) (why string, free bool)

func (p *Plugin) selector(valid ValidAttachments) Selector {
	if valid.Kind == AttachmentsNull {
		return func(_ uint64, _ record.Allocation, h record.Holder) (string, bool) {
			return "its network namespace is gone", p.Namespaces.Dead(h.NetNS)
		}
	}
	return KeepOnly(valid.List)
}

// KeepOnly selects all holders that are not in list. One whose ifname is
// unknown is kept if its container id is listed with any.
func KeepOnly(list []record.Attachment) Selector {
	listed := make(map[record.Attachment]bool, len(list))
	ids := make(map[string]bool, len(list))
	for _, att := range list {
		listed[att] = true
		ids[att.ContainerID] = true
	}
	return func(_ uint64, _ record.Allocation, h record.Holder) (string, bool) {
		if h.IfName == "" {
			return "its container is not among the valid attachments", !ids[h.ContainerID]
		}
		return "it is not among the valid attachments", !listed[h.Attachment]
	}
}

// Freed is a holder that was taken off an address, and why.
type Freed struct {
	Network string
	Addr    netip.Addr
	Holder  record.Holder
	Why     string
}

// String is the line for the operator.
func (f Freed) String() string { return f.line("freed") }

// Planned is the line for what is not freed yet.
func (f Freed) Planned() string { return f.line("would free") }

func (f Freed) line(done string) string {
	one := record.Allocation{Addr: f.Addr, Holders: []record.Holder{f.Holder}}
	return fmt.Sprintf("network %s: %s %s of %s: %s", f.Network, done, f.Addr, describe(one), f.Why)
}

// Select returns a without the holders that sel selects, and those.
func Select(network string, epoch uint64, a record.Allocation, sel Selector) (rest record.Allocation, freed []Freed) {
	rest = a.Without(func(h record.Holder) bool {
		why, free := sel(epoch, a, h)
		if free {
			freed = append(freed, Freed{Network: network, Addr: a.Addr, Holder: h, Why: why})
		}
		return free
	})
	return rest, freed
}

// Sweep frees the holders that sel selects in one transaction, or on a full
// disk in small ones. What it returns is freed, also where it fails later.
func Sweep(state State, verb Verb, network string, sel Selector) ([]Freed, error) {
	freed, err := sweepBatch(state, verb, network, sel, 0)
	if !errors.Is(err, ErrNoSpace) {
		return freed, err
	}
	for {
		batch, err := sweepBatch(state, verb, network, sel, gcBatch)
		freed = append(freed, batch...)
		if err != nil || len(batch) == 0 {
			return freed, err
		}
	}
}

// errEnough ends a walk over the allocations early.
var errEnough = errors.New("enough")

// sweepBatch frees the holders of up to limit addresses, of all with 0.
func sweepBatch(state State, verb Verb, network string, sel Selector, limit int) ([]Freed, error) {
	var freed []Freed
	err := state.Update(verb, network, func(tx Tx) error {
		freed = nil
		var changed []record.Allocation
		err := tx.Each(func(a record.Allocation) error {
			if limit > 0 && len(changed) == limit {
				return errEnough
			}
			rest, off := Select(network, tx.Epoch(), a, sel)
			if len(off) > 0 {
				changed = append(changed, rest)
				freed = append(freed, off...)
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			return err
		}
		for _, rest := range changed {
			if err := Settle(tx, rest); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return freed, nil
}

// Settle writes an allocation that has lost holders, or frees its address.
func Settle(tx Tx, rest record.Allocation) error {
	if len(rest.Holders) == 0 {
		return tx.Delete(rest.Addr)
	}
	return tx.Put(rest)
}
