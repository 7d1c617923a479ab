package hostlocal

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/bolt-local/bolt-local/migrate/form"
	"github.com/bolt-local/bolt-local/store/record"
)

// pool are the addresses that the model uses. Something that is no file stands
// at the last one, and a file that names nobody at the one before it.
var pool = []string{
	"10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.10", "10.0.1.0", "9.255.255.255",
	"fd00::2", "fd00::a", "::1", "10.0.0.200", "10.0.0.201",
}

const (
	namesNobody = "10.0.0.200"
	noFile      = "10.0.0.201"
)

// machine is a directory and what must be in it.
type machine struct {
	dir  *Dir
	held map[netip.Addr]record.Attachment
	c    form.Contents // as a caller has it: from a Look, or After its changes
	next int
}

func (m *machine) attachment(t *rapid.T) record.Attachment {
	m.next++
	return record.Attachment{ContainerID: fmt.Sprintf("c%d", m.next), IfName: rapid.SampledFrom([]string{"eth0", "net1", ""}).Draw(t, "ifname")}
}

// change is a change of one address, from what the caller knows.
func (m *machine) change(t *rapid.T, addr string) form.Change {
	ch := form.Change{Addr: ip(addr)}
	if e, ok := m.c.At(ch.Addr); ok {
		ch.Had = &e
	} else if a, ok := m.c.AsideAt(ch.Addr); ok && !a.Fixed {
		ch.Had = &form.Entry{Addr: ch.Addr, Holder: record.Holder{Mark: a.Mark}}
	}
	if ch.Had == nil || rapid.Bool().Draw(t, "replace") {
		ch.Want = &record.Holder{Attachment: m.attachment(t)}
	}
	return ch
}

func (m *machine) changes(t *rapid.T, from []string) []form.Change {
	addrs := rapid.SliceOfNDistinct(rapid.SampledFrom(from), 0, 4, rapid.ID[string]).Draw(t, "addresses")
	var changes []form.Change
	for _, addr := range addrs {
		changes = append(changes, m.change(t, addr))
	}
	return changes
}

func (m *machine) apply(t *rapid.T) {
	changes := m.changes(t, pool[:len(pool)-1])
	marks, err := m.dir.Apply(changes)
	if err != nil {
		t.Fatal(err)
	}
	m.c = m.c.After(changes, marks)
	for _, ch := range changes {
		if ch.Want == nil {
			delete(m.held, ch.Addr)
		} else {
			m.held[ch.Addr] = ch.Want.Attachment
		}
	}
}

// applyTaken has one change among others that somebody else was faster with.
func (m *machine) applyTaken(t *rapid.T) {
	changes := m.changes(t, pool[:len(pool)-1])
	wrong := m.change(t, rapid.SampledFrom(pool).Draw(t, "taken"))
	changes = slices.DeleteFunc(changes, func(ch form.Change) bool { return ch.Addr == wrong.Addr })
	switch {
	case wrong.Had == nil: // it believes that there was something
		wrong.Had = &form.Entry{Addr: wrong.Addr, Holder: record.Holder{Mark: "1:1"}}
	case rapid.Bool().Draw(t, "believes in nothing"):
		wrong.Had, wrong.Want = nil, &record.Holder{Attachment: m.attachment(t)}
	default:
		had := *wrong.Had
		had.Holder.Mark = "1:1"
		wrong.Had = &had
	}
	at := rapid.IntRange(0, len(changes)).Draw(t, "at")
	if _, err := m.dir.Apply(slices.Insert(changes, at, wrong)); !errors.Is(err, form.ErrTaken) {
		t.Fatalf("err = %v", err)
	}
}

// hostLocal gives or releases an address behind our back, as under its own lock.
func (m *machine) hostLocal(t *rapid.T) {
	addr := ip(rapid.SampledFrom(pool[:len(pool)-2]).Draw(t, "address"))
	path := m.dir.file(addr.String())
	if _, held := m.held[addr]; held {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		delete(m.held, addr)
	} else {
		m.held[addr] = record.Attachment{ContainerID: fmt.Sprintf("h%d", m.next), IfName: "eth0"}
		m.next++
		if err := os.WriteFile(path, content(m.held[addr]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m.look(t)
}

func (m *machine) cursor(t *rapid.T) {
	addr := ip(rapid.SampledFrom(pool).Draw(t, "address"))
	if err := m.dir.SetLast(map[int]netip.Addr{rapid.IntRange(0, 2).Draw(t, "set"): addr}); err != nil {
		t.Fatal(err)
	}
}

func (m *machine) look(t *rapid.T) {
	var err error
	if m.c, err = m.dir.Look(); err != nil {
		t.Fatal(err)
	}
}

// check: what the caller knows is what a new look tells, and both are true.
func (m *machine) check(t *rapid.T) {
	known := m.c
	m.look(t)
	if known.Stamp() != m.c.Stamp() || !slices.EqualFunc(known.Entries, m.c.Entries, sameEntry) || !slices.Equal(known.SetAside, m.c.SetAside) || known.Place != m.c.Place {
		t.Fatalf("the caller knows %+v, a new look tells %+v", known, m.c)
	}
	held := map[netip.Addr]record.Attachment{}
	for _, e := range m.c.Entries {
		held[e.Addr] = e.Holder.Attachment
	}
	if !maps.Equal(held, m.held) {
		t.Fatalf("it holds %+v, want %+v", held, m.held)
	}
}

func sameEntry(a, b form.Entry) bool {
	return a.Addr == b.Addr && a.Holder.Attachment == b.Holder.Attachment && a.Holder.Mark == b.Holder.Mark
}

// Whatever changes are made, in whatever order and beside host-local, the
// caller knows of the directory what a new look would tell.
func TestModelChangesAreWhatANewLookTells(t *testing.T) {
	parent := memoryDir(t)
	rapid.Check(t, func(rt *rapid.T) {
		path, err := os.MkdirTemp(parent, "podnet")
		if err != nil {
			rt.Fatal(err)
		}
		m := &machine{dir: At(path), held: map[netip.Addr]record.Attachment{}}
		if err := errors.Join(
			os.WriteFile(m.dir.file(lockName), nil, 0o750),
			os.WriteFile(m.dir.file(namesNobody), nil, 0o600),
			os.Mkdir(m.dir.file(noFile), 0o755),
			os.WriteFile(m.dir.file("FD00::A"), []byte("x"), 0o600), // another spelling of one in the pool
		); err != nil {
			rt.Fatal(err)
		}
		m.look(rt)
		rt.Repeat(map[string]func(*rapid.T){
			"apply":               m.apply,
			"apply what is taken": m.applyTaken,
			"host-local":          m.hostLocal,
			"cursor":              m.cursor,
			"":                    m.check,
		})
	})
}

// memoryDir is a directory in which a sync costs nothing, where there is one.
func memoryDir(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "bolt-local-test")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	return dir
}
