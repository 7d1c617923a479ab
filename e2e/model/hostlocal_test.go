package model

import (
	"context"
	"os"

	"pgregory.net/rapid"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/store/record"
)

// hostLocalRun calls the real host-local. It fails in every verb where the
// tombstone stands, and changes nothing.
func (m *model) hostLocalRun(t *rapid.T, verb string, att record.Attachment, c conf) lab.Reply {
	t.Helper()
	if err := waitForTick(); err != nil {
		t.Fatal(err)
	}
	var reply lab.Reply
	call := func() {
		var err error
		reply, err = lab.Call{
			Verb:        verb,
			ContainerID: att.ContainerID,
			IfName:      att.IfName,
			NetNS:       "/nowhere/netns", // it is not looked at
			AnyNetNS:    true,
			Config:      m.json(lab.HostLocal, c),
		}.Run(context.Background(), m.hostLocal)
		if err != nil {
			t.Fatal(err)
		}
	}
	m.clean = false
	if m.place.tombstone == "" {
		call()
		return reply
	}
	m.unchanged(t, "host-local", call)
	if !reply.Failed() {
		t.Fatalf("host-local's %s succeeds beside the tombstone: %s", verb, reply.Stdout)
	}
	return reply
}

// hostLocalAdd: what host-local gives, nobody who lives holds, unless it could
// not know.
func (m *model) hostLocalAdd(t *rapid.T) {
	att := anAttachment(t)
	var c conf
	if rapid.IntRange(0, 3).Draw(t, "requests") == 0 {
		c.requested = m.anAddress(t)
	}
	_, held := m.together(m.stored, m.place)
	reply := m.hostLocalRun(t, "ADD", att, c)
	if reply.Failed() {
		return
	}
	result, err := reply.Result()
	if err != nil {
		t.Fatal(err)
	}
	d := m.look(t)
	for _, addr := range addressesOf(result) {
		if d.files[addr].content != content(att) {
			t.Fatalf("host-local gave %s to %s; its file: %+v", addr, name(att), d.files[addr])
		}
		for _, h := range held[addr].holders {
			if h.Attachment != att && !m.stale(m.stored, held[addr]) && !m.exposed {
				t.Fatalf("host-local gave %s to %s, but %s lives with it", addr, name(att), name(h.Attachment))
			}
		}
	}
}

func (m *model) hostLocalOther(t *rapid.T) {
	m.hostLocalRun(t, rapid.SampledFrom([]string{"DEL", "DEL", "CHECK"}).Draw(t, "verb"), anAttachment(t), conf{})
}

// hostLocalBeginsEmpty: it knows nobody who lives, and gives what is held.
func (m *model) hostLocalBeginsEmpty(t *rapid.T) {
	if !m.place.there && m.place.tombstone == "" {
		t.Skip("nothing is there")
	}
	m.meddle(t, func() error { return os.RemoveAll(m.directory()) })
	m.reread(t)
	m.hostLocalAdd(t)
}
