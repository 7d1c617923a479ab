package damage

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/record"
)

// ordeal is what follows a damage.
type ordeal struct {
	*image
	caller
	trial
	r          *rand.Rand
	held       world    // who lives, and with which address
	checkpoint []byte   // as the damage has left it, nil for none
	refused    []string // networks whose first ADD was refused
	served     bool     // an ADD was, before anything was noticed
	deferred   []record.Attachment
	freed      []record.Attachment // by a DEL that met no damage
	report     outcome
	wrong      bool // something untrue was said, as may be of a big file
}

// outcome is what came of a trial.
type outcome struct {
	Class  string
	Faults []string
	// Alone: a network was healed from host-local's directory, without the other.
	Alone bool
	// Given are addresses that two living attachments got.
	Given int
	// Lost counts the living attachments that `repair` did not find, Risen
	// those that it found though they were gone.
	Lost, Risen int
}

func (o *ordeal) fault(format string, args ...any) {
	o.report.Faults = append(o.report.Faults, fmt.Sprintf(format, args...))
}

// run makes all calls. What is held at the end is right, or was given up by
// `repair --accept`.
func (o *ordeal) run() outcome {
	o.reads()
	for _, network := range o.order() {
		o.firstAdd(network)
	}
	for _, network := range o.order() {
		o.addAgain(network)
		o.addTaken(network)
	}
	o.deletes(shut)
	o.collects(shut)
	if len(o.refused) == 0 {
		o.report.Class = o.healedFrom()
	} else {
		o.report.Class = "refused, then repaired"
		o.repairs()
	}
	for _, network := range networks {
		o.expectRight(network, "at the end")
	}
	o.expectSound()
	if !o.Big && !o.spoiltInside() && len(o.report.Faults) == 0 && o.r.IntN(8) == 0 {
		o.expectHealthy()
	}
	return o.report
}

// spoiltInside: beside a checkpoint that is whole nobody looks at the lines of
// the journal but the first and the last, and more are added to it.
func (o *ordeal) spoiltInside() bool {
	return o.report.Class == "harmless" && o.Journal != whole && o.Journal != "gone"
}

// reads makes the calls that write nothing. They are right, or say that they
// cannot be.
func (o *ordeal) reads() {
	before := o.digest()
	for _, network := range networks {
		if err := o.status(network); err != nil && ipam.CodeOf(err) != ipam.CodeUnavailable {
			o.fault("STATUS of %s: %v", network, err)
		}
		held, err := o.view(network)
		if err == nil && !maps.Equal(held, o.held[network]) {
			o.lie("%s is shown with %s", network, difference(o.held[network], held))
		}
		addr := o.any(network)
		err = o.check(network, o.held[network][addr], addr)
		if err != nil && ipam.CodeOf(err) != ipam.CodeDamaged {
			o.lie("CHECK of %s in %s: code %d: %v", addr, network, ipam.CodeOf(err), err)
		}
	}
	if count, err := o.dump(); err == nil && count > 10*len(o.held[shut])+10*len(o.held[open]) {
		o.fault("dump shows %d allocations", count)
	}
	if o.digest() != before {
		o.fault("a call that reads has written")
	}
}

// lie is a fault, unless the file is big.
func (o *ordeal) lie(format string, args ...any) {
	o.wrong = true
	if !o.Big {
		o.fault(format, args...)
	}
}

// any is an address that a living attachment holds.
func (o *ordeal) any(network string) netip.Addr {
	all := o.held[network].sorted()
	return all[o.r.IntN(len(all))]
}

// gives notes an address that an ADD gave.
func (o *ordeal) gives(network string, addr netip.Addr, att record.Attachment) {
	if other, taken := o.held[network][addr]; taken && other != att {
		o.report.Given++
		o.lie("%s of %s was given to %s, but %s lives with it", addr, network, att.ContainerID, other.ContainerID)
	}
	o.held[network][addr] = att
}

// firstAdd is the ADD of a new attachment, which heals what can be healed.
func (o *ordeal) firstAdd(network string) {
	att := o.container()
	addr, err := o.add(network, att, conf{})
	if err == nil {
		o.gives(network, addr, att)
		o.expectRight(network, "after the first ADD")
		o.served = o.served || len(o.expectNoted()) == 0
		return
	}
	o.ends(att)
	o.refused = append(o.refused, network)
	o.expectRefusal("ADD", network, err)
	if o.heals() {
		o.fault("ADD in %s is refused although the journal is whole: %v", network, err)
	}
}

func (o *ordeal) expectRefusal(verb, network string, err error) {
	if ipam.CodeOf(err) != ipam.CodeDamaged {
		o.fault("%s in %s: code %d, not %d: %v", verb, network, ipam.CodeOf(err), ipam.CodeDamaged, err)
	}
	if !bytes.Contains([]byte(err.Error()), []byte(o.store().Dir())) {
		o.fault("%s in %s names no file: %v", verb, network, err)
	}
}

// addAgain is the repeated ADD of an attachment that has an address.
func (o *ordeal) addAgain(network string) {
	addr := o.any(network)
	got, err := o.add(network, o.held[network][addr], conf{})
	switch {
	case err != nil && !slices.Contains(o.refused, network):
		o.lie("ADD again in %s: %v", network, err)
	case err != nil:
		o.expectRefusal("ADD again", network, err)
	case got != addr:
		o.lie("ADD again in %s gives %s, not %s", network, got, addr)
	}
}

// addTaken asks for an address that another holds.
func (o *ordeal) addTaken(network string) {
	addr, att := o.any(network), o.container()
	got, err := o.add(network, att, conf{requested: addr})
	if err == nil {
		o.gives(network, got, att)
		return
	}
	o.ends(att)
	if code := ipam.CodeOf(err); code != ipam.CodeRequestedTaken && code != ipam.CodeDamaged {
		o.fault("ADD of a taken address in %s: code %d: %v", network, code, err)
	}
}

// deletes is the DEL of an attachment, which always succeeds.
func (o *ordeal) deletes(network string) {
	addr := o.any(network)
	att := o.held[network][addr]
	waiting := o.store().CountDeferred()
	if err := o.del(network, att); err != nil {
		o.fault("DEL in %s: %v", network, err)
		return
	}
	o.ends(att)
	delete(o.held[network], addr)
	o.deferred = append(o.deferred, att)
	if o.store().CountDeferred() == waiting {
		o.freed = append(o.freed, att)
	}
}

// collects is GC with all that live.
func (o *ordeal) collects(network string) {
	err := o.gc(network, slices.Collect(maps.Values(o.held[network])))
	if err == nil {
		return
	}
	if slices.Contains(o.refused, network) {
		o.expectRefusal("GC", network, err)
	} else {
		o.lie("GC in %s: %v", network, err)
	}
}

// expectRight holds what a network shows against what is held.
func (o *ordeal) expectRight(network, when string) {
	held, err := o.view(network)
	if err != nil {
		o.lie("%s cannot be shown %s: %v", network, when, err)
	} else if !maps.Equal(held, o.held[network]) {
		o.lie("%s has, %s, %s", network, when, difference(o.held[network], held))
	}
}

// expectSound: what `migrate verify` looks at.
func (o *ordeal) expectSound() {
	err := o.store().ReadWhole(func(*store.Tx) error { return nil })
	if err != nil {
		o.report.Class = "noticed by STATUS alone"
		o.lie("it is not sound at the end: %v", err)
	}
}

// healedFrom tells by what the node has noted.
func (o *ordeal) healedFrom() string {
	if noted := o.expectNoted(); len(noted) > 0 {
		return "healed: " + string(noted[len(noted)-1].From)
	}
	return "harmless"
}

// expectNoted: what is noted tells where the damaged bytes are.
func (o *ordeal) expectNoted() []store.Damage {
	var noted []store.Damage
	err := o.store().Read(func(tx *store.Tx) error {
		noted = tx.Damages()
		return nil
	})
	if err != nil {
		o.lie("what was noted cannot be read: %v", err)
	}
	if len(noted) > 0 {
		o.expectKept(noted[0].Kept)
		o.report.Alone = noted[0].From == store.SourceOldForm
	}
	return noted
}

// difference tells what is missing and what is too much.
func difference(want, got holdings) string {
	missing, more, others := 0, 0, 0
	for addr, att := range want {
		switch other, there := got[addr]; {
		case !there:
			missing++
		case other != att:
			others++
		}
	}
	for addr := range got {
		if _, there := want[addr]; !there {
			more++
		}
	}
	return fmt.Sprintf("%d missing, %d too many, %d of others", missing, more, others)
}
