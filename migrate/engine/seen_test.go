package engine_test

import (
	"io/fs"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/migrate/form"
	"github.com/bolt-local/bolt-local/store/record"
)

// seen is a view that is kept.
type seen struct {
	engine.View
	all   map[netip.Addr]record.Allocation
	stale map[netip.Addr]bool // of earlier boots, and free
}

// view is what a reading call sees.
func (n *node) view() seen {
	n.Helper()
	var s seen
	call := n.engineCall(nil)
	call.Compares = true
	err := n.pair.New.Read(func(tx form.New) error {
		return n.engine().View(tx, call, func(v engine.View) error {
			s.View = v
			var err error
			s.all, s.stale, err = n.read(v)
			s.Reader = nil // it ends here
			return err
		})
	})
	if err != nil {
		n.Fatalf("View failed: %v", err)
	}
	return s
}

// progress is where the migration stands, as a reading call sees it.
func (n *node) progress() engine.Progress {
	n.Helper()
	var p engine.Progress
	err := n.pair.New.Read(func(tx form.New) error {
		return n.engine().View(tx, n.engineCall(nil), func(v engine.View) error {
			p = v.Progress
			return nil
		})
	})
	if err != nil {
		n.Fatalf("View failed: %v", err)
	}
	return p
}

type reader interface {
	Epoch() uint64
	Each(func(record.Allocation) error) error
	HeldBy(record.Attachment) ([]record.Allocation, error)
}

// read copies all allocations, and asks that each holder finds its own.
func (n *node) read(r reader) (all map[netip.Addr]record.Allocation, stale map[netip.Addr]bool, err error) {
	n.Helper()
	all, stale = map[netip.Addr]record.Allocation{}, map[netip.Addr]bool{}
	err = r.Each(func(a record.Allocation) error {
		all[a.Addr] = a
		stale[a.Addr] = n.plugin().Stale(r.Epoch(), a)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	for addr, a := range all {
		for _, h := range a.Holders {
			held, err := r.HeldBy(h.Attachment)
			if err != nil {
				return nil, nil, err
			}
			if !slices.ContainsFunc(held, func(b record.Allocation) bool { return b.Addr == addr }) {
				n.Errorf("%s is held by %s, whose own addresses lack it", addr, name(h.Attachment))
			}
		}
	}
	return all, stale, nil
}

// stored are the records of the new form, whatever the old one says.
func (n *node) stored() (all map[netip.Addr]record.Allocation, stale map[netip.Addr]bool) {
	n.Helper()
	err := n.pair.New.Read(func(tx form.New) error {
		var err error
		all, stale, err = n.read(tx)
		return err
	})
	if err != nil {
		n.Fatalf("reading the new form failed: %v", err)
	}
	return all, stale
}

// look is what the old form says.
func (n *node) look() form.Contents {
	n.Helper()
	c, err := n.pair.Old.Open(n.pair.Old.Path()).Look()
	if err != nil {
		n.Fatalf("looking at the old form failed: %v", err)
	}
	return c
}

// held names the holders of each address, "a" for container a's eth0 and "a/"
// for one whose interface is not known. Those of earlier boots stand in
// parentheses.
func held(all map[netip.Addr]record.Allocation, stale map[netip.Addr]bool) map[string]string {
	text := map[string]string{}
	for addr, a := range all {
		names := make([]string, len(a.Holders))
		for i, h := range a.Holders {
			names[i] = name(h.Attachment)
		}
		slices.Sort(names)
		text[addr.String()] = strings.Join(names, "+")
		if stale[addr] {
			text[addr.String()] = "(" + text[addr.String()] + ")"
		}
	}
	return text
}

func name(att record.Attachment) string {
	if att.IfName == "eth0" {
		return att.ContainerID
	}
	return att.ContainerID + "/" + att.IfName
}

func (s seen) held() map[string]string { return held(s.all, s.stale) }

// entries names the holder of each entry, and "!" where something blocks.
func entries(c form.Contents) map[string]string {
	text := map[string]string{}
	for _, e := range c.Entries {
		text[e.Addr.String()] = name(e.Holder.Attachment)
	}
	for _, a := range c.SetAside {
		text[a.Addr.String()] = "!"
	}
	return text
}

func (n *node) wantHeld(what string, got, want map[string]string) {
	n.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		n.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// wantBoth asks that both forms, as they are stored, say this; previous are the
// allocations of earlier boots, which the new form alone has.
func (n *node) wantBoth(want map[string]string, previous ...map[string]string) {
	n.Helper()
	n.wantHeld("the old form", entries(n.look()), want)
	all := maps.Clone(want)
	for _, p := range previous {
		maps.Copy(all, p)
	}
	n.wantHeld("the new form", held(n.stored()), all)
	if v := n.view(); v.Changed || len(v.Differences) > 0 {
		n.Errorf("the forms differ: changed %t, %v", v.Changed, v.Differences)
	}
	if err := n.pair.New.Verify(); err != nil {
		n.Errorf("%v", err)
	}
}

func (n *node) wantPhase(want engine.Phase) {
	n.Helper()
	if got := n.progress(); got.Phase != want {
		n.Errorf("the phase is %q, want %q; waits: %q", got.Phase, want, got.Waits)
	}
}

// wantTold asks that the last call has said something with each of the words.
func (n *node) wantTold(words ...string) {
	n.Helper()
	for _, w := range words {
		if !slices.ContainsFunc(n.told, func(line string) bool { return strings.Contains(line, w) }) {
			n.Errorf("nothing was said of %q: %q", w, n.told)
		}
	}
}

// tree is every file of the node with its content.
func (n *node) tree() map[string]string {
	n.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(n.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		files[path] = d.Type().String()
		if d.Type().IsRegular() {
			b, err := os.ReadFile(path)
			files[path] = string(b)
			return err
		}
		return nil
	})
	if err != nil {
		n.Fatalf("%v", err)
	}
	return files
}
