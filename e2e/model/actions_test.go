package model

import (
	"net/netip"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/store/record"
)

// action is one thing that happens to a node. It is drawn as often as its weight
// says, compared with the others.
type action struct {
	name   string
	weight int
	do     func(*rapid.T)
}

func (m *model) actions() []action {
	return []action{
		{"ADD", 3, func(t *rapid.T) { m.write(t, m.addVerb(anAttachment(t), netip.Addr{})) }},
		{"ADD again", 1, func(t *rapid.T) { m.write(t, m.addVerb(m.aHolder(t), netip.Addr{})) }},
		{"ADD requested", 1, func(t *rapid.T) { m.write(t, m.addVerb(anAttachment(t), m.anAddress(t))) }},
		{"DEL", 1, func(t *rapid.T) { m.write(t, m.delVerb(anAttachment(t))) }},
		{"DEL of a holder", 1, func(t *rapid.T) { m.write(t, m.delVerb(m.aHolder(t))) }},
		{"DEL twice", 1, func(t *rapid.T) {
			v := m.delVerb(m.aHolder(t))
			m.write(t, v)
			m.write(t, v)
		}},
		{"GC", 1, func(t *rapid.T) { m.write(t, m.gcVerb(keepSome(t))) }},
		{"GC null", 1, func(t *rapid.T) { m.write(t, m.gcVerb(nil)) }},
		{"CHECK", 1, m.check},
		{"STATUS", 1, m.status},
		{"a step by hand", 1, func(t *rapid.T) {
			m.write(t, m.byHand(rapid.SampledFrom([]int{1, -1}).Draw(t, "by"), rapid.Bool().Draw(t, "force")))
		}},
		{"another target", 1, func(t *rapid.T) { m.target = aPhase(t) }},
		{"another version", 1, func(*rapid.T) { m.version += "." }},
		{"a call from a container", 1, m.seesAnotherBoot},
		{"a call is killed", 2, m.kills},

		{"a container dies", 1, func(t *rapid.T) { m.stop(anAttachment(t).ContainerID) }},
		{"reboot", 1, m.reboots},
		{"host-local ADD", 1, m.hostLocalAdd},
		{"host-local DEL or CHECK", 1, m.hostLocalOther},
		{"host-local begins empty", 1, m.hostLocalBeginsEmpty},
		{"a wipe", 1, m.wipes},
		{"a file is removed", 1, m.removesFile},

		{"the data directory is copied", 1, m.copies},
		{"an older checkpoint is put back", 1, m.goesBack},
		{"a newer schema", 1, m.newerSchema},
		{"another place in the configuration", 1, m.anotherPlace},
	}
}

// byName is what rapid draws from: an action of weight 2 has two names.
func (m *model) byName() map[string]func(*rapid.T) {
	all := map[string]func(*rapid.T){"": m.invariants}
	for _, a := range m.actions() {
		for i := range a.weight {
			all[a.name+strings.Repeat(" ", i)] = func(t *rapid.T) {
				a.do(t)
				m.count.actions[a.name]++
			}
		}
	}
	return all
}

func anAttachment(t *rapid.T) record.Attachment { return draw(t, "attachment", attachments, name) }

// draw draws one of list, by its name.
func draw[E any](t *rapid.T, label string, list []E, name func(E) string) E {
	names := make([]string, len(list))
	for i, e := range list {
		names[i] = name(e)
	}
	return list[slices.Index(names, rapid.SampledFrom(names).Draw(t, label))]
}

// lastPoint is about how many failpoints the longest call passes.
const lastPoint = 13

// kills ends a writing call at one of its failpoints.
func (m *model) kills(t *rapid.T) {
	var v verb
	switch rapid.SampledFrom([]string{"ADD", "ADD for another target", "DEL", "GC", "advance", "rollback"}).Draw(t, "verb") {
	case "ADD":
		v = m.addVerb(anAttachment(t), netip.Addr{})
	case "ADD for another target":
		m.target = aPhase(t)
		v = m.addVerb(anAttachment(t), netip.Addr{})
	case "DEL":
		v = m.delVerb(m.aHolder(t))
	case "GC":
		v = m.gcVerb(keepSome(t))
	case "advance":
		v = m.byHand(1, true)
	case "rollback":
		v = m.byHand(-1, true)
	}
	m.try(t, v, rapid.IntRange(1, lastPoint).Draw(t, "point"))
}

// seesAnotherBoot makes a call that sees the id of an earlier boot, as from within
// a container that has one of its own: it belongs to the newest boot.
func (m *model) seesAnotherBoot(t *rapid.T) {
	if m.stored.boot != m.boot || len(m.stored.boots) < 2 {
		t.Skip("there is no earlier one, or this one is not known yet")
	}
	v := m.delVerb(anAttachment(t))
	switch rapid.SampledFrom([]string{"ADD", "DEL", "GC null"}).Draw(t, "verb") {
	case "ADD":
		v = m.addVerb(anAttachment(t), netip.Addr{})
	case "GC null":
		v = m.gcVerb(nil)
	}
	m.sees = rapid.SampledFrom(m.stored.boots[:len(m.stored.boots)-1]).Draw(t, "boot")
	m.write(t, v)
	m.sees = 0
}

// aPhase draws a target; none is one, too.
func aPhase(t *rapid.T) engine.Phase {
	return rapid.SampledFrom([]engine.Phase{"", engine.Legacy, engine.Expand, engine.Switch, engine.Contract}).Draw(t, "target")
}

func keepSome(t *rapid.T) []record.Attachment {
	keep := []record.Attachment{} // not nil, which is another call
	for _, i := range rapid.SliceOfDistinct(rapid.IntRange(0, len(attachments)-1), rapid.ID[int]).Draw(t, "keep") {
		keep = append(keep, attachments[i])
	}
	return keep
}

// aHolder draws an attachment that holds an address, of any boot.
func (m *model) aHolder(t *rapid.T) record.Attachment {
	_, held := m.together(m.stored, m.place)
	all := held.holders()
	if len(all) == 0 {
		t.Skip("nothing is held")
	}
	return draw(t, "holder", all, name)
}

func (m *model) anAddress(t *rapid.T) netip.Addr {
	var all []netip.Addr
	for _, s := range m.sets {
		all = append(all, s.addresses...)
	}
	return draw(t, "address", all, netip.Addr.String)
}
