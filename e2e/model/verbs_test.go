package model

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/bolt-local/bolt-local/store/record"
)

// attachments are more than a range set has addresses for; two are of one
// container.
var attachments = func() []record.Attachment {
	list := []record.Attachment{{ContainerID: "a", IfName: "eth1"}}
	for _, id := range "abcdefg" {
		list = append(list, record.Attachment{ContainerID: string(id), IfName: "eth0"})
	}
	return list
}()

// run makes sure that the container runs.
func (m *model) run(id string) {
	if m.spaces[m.spaces.path(id)] == 0 {
		m.inodes++
		m.spaces[m.spaces.path(id)] = m.inodes
	}
}

func (m *model) stop(id string) { delete(m.spaces, m.spaces.path(id)) }

// verb is a writing call, as the model and the node make it.
type verb struct {
	write
	call func() error
	// wrong says how the answer of a call that succeeded differs.
	wrong func() string
	// goes and comes tell what a call that was killed may have done.
	goes  func(addr netip.Addr, h holding) bool
	comes func(h holding) bool
}

func right() string { return "" }

func never(holding) bool { return false }

func (m *model) addVerb(att record.Attachment, requested netip.Addr) verb {
	m.run(att.ContainerID)
	var want, got []netip.Addr
	return verb{
		write: write{runtime: true, grants: true, target: m.target, verb: add(att, requested, &want)},
		call: func() (err error) {
			got, err = m.add(att, conf{target: m.target, requested: requested})
			return err
		},
		wrong: func() string {
			if slices.Equal(got, want) {
				return ""
			}
			return fmt.Sprintf("ADD of %s answers %v, want %v", name(att), got, want)
		},
		goes: func(addr netip.Addr, h holding) bool {
			a := m.stored.held[addr]
			return h.Attachment == att || m.stale(m.stored, a) || m.spaces.Dead(h.netns)
		},
		comes: func(h holding) bool { return h.Attachment == att },
	}
}

func (m *model) delVerb(att record.Attachment) verb {
	return verb{
		write: write{runtime: true, verb: del(att), target: m.target},
		call:  func() error { return m.plugin().Del(m.node.call(att, conf{target: m.target})) },
		wrong: right,
		goes:  func(_ netip.Addr, h holding) bool { return h.Attachment == att },
		comes: never,
	}
}

// gcVerb frees what is not in keep; nil stands for null.
func (m *model) gcVerb(keep []record.Attachment) verb {
	var list any
	gone := func(h holding) bool { return m.spaces.Dead(h.netns) }
	if keep != nil {
		valid := make([]map[string]string, len(keep))
		for i, att := range keep {
			valid[i] = map[string]string{"containerID": att.ContainerID, "ifname": att.IfName}
		}
		list = valid
		gone = func(h holding) bool { return !slices.Contains(keep, h.Attachment) }
	}
	c := conf{target: m.target, more: map[string]any{"cni.dev/valid-attachments": list}}
	return verb{
		write: write{runtime: true, verb: drop(gone), target: m.target},
		call:  func() error { return m.plugin().GC(m.node.call(record.Attachment{}, c)) },
		wrong: right,
		goes:  func(_ netip.Addr, h holding) bool { return gone(h) },
		comes: never,
	}
}

// byHand is `migrate advance` or `migrate rollback`.
func (m *model) byHand(by int, force bool) verb {
	return verb{
		write: write{by: by, force: force},
		call: func() error {
			var err error
			if by > 0 {
				_, err = m.state(nil).Advance(network, force)
			} else {
				_, err = m.state(nil).Rollback(network, force)
			}
			return err
		},
		wrong: right,
		goes:  func(netip.Addr, holding) bool { return false },
		comes: never,
	}
}
