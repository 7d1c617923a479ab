package ipam_test

import (
	"fmt"
	"net/netip"
	"os"
	"testing"

	"pgregory.net/rapid"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/store"
)

// modelConf has one set of two ranges, 10.0.0.2-3, 10.0.0.6 and 10.0.1.0-2,
// and one of IPv6, fd00::2-7. What may be given stands in order.
const modelConf = `"ranges":[
 [{"subnet":"10.0.0.0/29","exclude":["10.0.0.4/31"]},{"subnet":"10.0.1.0/24","rangeStart":"10.0.1.2","rangeEnd":"10.0.1.4"}],
 [{"subnet":"fd00::/125"}]]`

var modelSets = [][]string{
	{"10.0.0.2", "10.0.0.3", "10.0.0.6", "10.0.1.2", "10.0.1.3", "10.0.1.4"},
	{"fd00::2", "fd00::3", "fd00::4", "fd00::5", "fd00::6", "fd00::7"},
}

type modelHolder struct {
	id    string
	boot  int
	alive bool // its namespace
}

// model is what the verbs should have done, in maps.
type model struct {
	n      *node
	boot   int
	held   map[string]modelHolder
	last   [2]string // the last address given from each set
	inodes uint64
}

// free: never allocated, or of an earlier boot without a living namespace.
func (m *model) free(addr string) bool {
	h, ok := m.held[addr]
	return !ok || (h.boot < m.boot && !h.alive)
}

// dead: of this boot, and its namespace is gone.
func (m *model) dead(addr string) bool {
	h, ok := m.held[addr]
	return ok && h.boot == m.boot && !h.alive
}

// next is round robin behind the last one given.
func (m *model) next(set int) string {
	list := modelSets[set]
	at := 0
	for i, a := range list {
		if a == m.last[set] {
			at = i + 1
		}
	}
	for i := range list {
		if a := list[(at+i)%len(list)]; m.free(a) {
			return a
		}
	}
	return ""
}

// add returns what an ADD must answer, nil for an error, and what it changes.
func (m *model) add(id, requested string) ([]string, map[string]modelHolder, [2]string) {
	held, last := map[string]modelHolder{}, m.last
	for a, h := range m.held {
		held[a] = h
	}
	try := &model{boot: m.boot, held: held, last: last}
	var got []string
	for set, list := range modelSets {
		want := ""
		for _, a := range list {
			if a == requested {
				want = a
			}
		}
		a := try.grant(set, id, want)
		if a == "" {
			return nil, nil, m.last
		}
		got = append(got, a)
	}
	return got, try.held, try.last
}

func (m *model) grant(set int, id, want string) string {
	var mine, stale string
	for _, a := range modelSets[set] {
		if h, ok := m.held[a]; ok && h.id == id {
			if m.free(a) {
				stale = a
			} else {
				mine = a
			}
		}
	}
	switch {
	case mine != "" && (want == "" || want == mine):
		m.held[mine] = modelHolder{id, m.boot, true}
		return mine
	case mine != "" && !m.dead(mine):
		return "" // it holds another
	case mine != "":
		delete(m.held, mine)
	}
	if stale != "" && stale != want && want != "" {
		delete(m.held, stale)
	}
	a := want
	switch {
	case a != "":
		if !m.free(a) && !m.dead(a) {
			return ""
		}
	case stale != "":
		a = stale
	default:
		if a = m.next(set); a == "" {
			for _, b := range modelSets[set] {
				if m.dead(b) {
					delete(m.held, b)
				}
			}
			if a = m.next(set); a == "" {
				return ""
			}
		}
	}
	m.held[a] = modelHolder{id, m.boot, true}
	m.last[set] = a
	return a
}

func (m *model) start(id string) {
	m.inodes++
	m.n.spaces["/ns/"+id] = m.inodes
	for a, h := range m.held {
		if h.id == id { // a new namespace under the same path
			h.alive = false
			m.held[a] = h
		}
	}
}

func (m *model) stop(id string) {
	delete(m.n.spaces, "/ns/"+id)
	for a, h := range m.held {
		if h.id == id {
			h.alive = false
			m.held[a] = h
		}
	}
}

var ids = rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "g", "h"})

func (m *model) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"ADD": func(t *rapid.T) {
			id := ids.Draw(t, "id")
			if rapid.Bool().Draw(t, "new namespace") || m.n.spaces["/ns/"+id] == 0 {
				m.start(id)
			}
			c, requested := conf(modelConf), ""
			if rapid.IntRange(0, 3).Draw(t, "requests") == 0 {
				all := append(append([]string{}, modelSets[0]...), modelSets[1]...)
				requested = rapid.SampledFrom(all).Draw(t, "requested")
				c = with(c, "args", ipsArg(requested))
			}
			want, held, last := m.add(id, requested)
			got, err := m.n.add(id, c)
			if (err != nil) != (want == nil) || (err == nil && fmt.Sprint(got) != fmt.Sprint(want)) {
				t.Fatalf("ADD %s (requested %q): got %v, %v; want %v", id, requested, got, err, want)
			}
			if err == nil {
				m.held, m.last = held, last
			}
		},
		"DEL": func(t *rapid.T) {
			id := ids.Draw(t, "id")
			if err := m.n.plugin().Del(m.n.call(id, conf(modelConf))); err != nil {
				t.Fatal(err)
			}
			for a, h := range m.held {
				if h.id == id {
					delete(m.held, a)
				}
			}
		},
		"CHECK": func(t *rapid.T) {
			id := ids.Draw(t, "id")
			held := false
			for a, h := range m.held {
				held = held || (h.id == id && !m.free(a))
			}
			if err := m.n.plugin().Check(m.n.call(id, conf(modelConf))); (err == nil) != held {
				t.Fatalf("CHECK %s: %v, held: %v", id, err, held)
			}
		},
		"GC": func(t *rapid.T) {
			keep := rapid.SliceOfDistinct(ids, rapid.ID[string]).Draw(t, "keep")
			if err := m.n.plugin().GC(m.n.call("", gcConf("cni.dev/valid-attachments", attachments(keep...)))); err != nil {
				t.Fatal(err)
			}
			for a, h := range m.held {
				if !contains(keep, h.id) {
					delete(m.held, a)
				}
			}
		},
		"GC null": func(t *rapid.T) {
			if err := m.n.plugin().GC(m.n.call("", gcConf("cni.dev/valid-attachments", nil))); err != nil {
				t.Fatal(err)
			}
			for a, h := range m.held {
				if !h.alive {
					delete(m.held, a)
				}
			}
		},
		"the container dies": func(t *rapid.T) { m.stop(ids.Draw(t, "id")) },
		"reboot": func(t *rapid.T) {
			m.n.boot++
			for _, id := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
				m.stop(id)
			}
			// The epoch begins with the next verb that a runtime calls.
			if err := m.n.plugin().Del(m.n.call("nobody", conf(modelConf))); err != nil {
				t.Fatal(err)
			}
			m.boot = m.n.boot
		},
		"": m.invariants,
	}
}

// invariants: both indexes agree (held verifies that), what is held is what
// the model says, the cursors lie in their sets, STATUS tells the truth.
func (m *model) invariants(t *rapid.T) {
	got := m.n.held(t)
	for a, h := range m.held {
		if got[a] != h.id {
			t.Fatalf("%s is held by %q, want %q", a, got[a], h.id)
		}
	}
	if len(got) != len(m.held) {
		t.Fatalf("held %v, want %v", got, m.held)
	}
	full := false
	for set, list := range modelSets {
		usable := false
		for _, a := range list {
			usable = usable || m.free(a) || m.dead(a)
		}
		full = full || !usable
		if m.last[set] != "" && m.cursor(t, set) != m.last[set] {
			t.Fatalf("cursor of set %d is %s, want %s", set, m.cursor(t, set), m.last[set])
		}
	}
	if err := status(m.n, conf(modelConf)); (err != nil) != full || (err != nil && ipam.CodeOf(err) != ipam.CodeUnavailable) {
		t.Fatalf("STATUS: %v, full: %v", err, full)
	}
}

func (m *model) cursor(t *rapid.T, set int) string {
	cfg, err := ipam.ParseConfig(m.n.call("", conf(modelConf)).Stdin, "")
	if err != nil {
		t.Fatal(err)
	}
	var cursor netip.Addr
	err = m.n.store.Read(func(tx *store.Tx) error {
		cursor = tx.Network("n").Cursor(cfg.RangeSets[set])
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return cursor.String()
}

func contains(list []string, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}

// Every action opens the checkpoint anew, so each run of many actions is as
// many reopenings.
func TestTheVerbsDoWhatTheModelDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "bolt-local-model-")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		m := &model{n: newNode(dir), boot: 1, held: map[string]modelHolder{}}
		t.Repeat(m.actions())
	})
}
