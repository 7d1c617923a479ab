package disk

import (
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// script does things to a new disk.
type script func(t *testing.T, d *Disk)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func create(path, content string) script {
	return func(t *testing.T, d *Disk) {
		f, err := d.Create(path, 0o600)
		must(t, err)
		d.Write(f, 0, []byte(content))
	}
}

func write(path string, off int, content string) script {
	return func(_ *testing.T, d *Disk) { d.Write(d.Lookup(path), off, []byte(content)) }
}

func truncate(path string, size int) script {
	return func(_ *testing.T, d *Disk) { d.Truncate(d.Lookup(path), size) }
}

func allocate(path string, size int) script {
	return func(_ *testing.T, d *Disk) { d.Allocate(d.Lookup(path), size) }
}

func sync(path string) script {
	return func(_ *testing.T, d *Disk) { d.Sync(d.Lookup(path)) }
}

func mkdir(path string) script {
	return func(t *testing.T, d *Disk) { must(t, d.Mkdir(path, 0o755)) }
}

func rename(from, to string) script {
	return func(t *testing.T, d *Disk) { must(t, d.Rename(from, to, false)) }
}

func exchange(a, b string) script {
	return func(t *testing.T, d *Disk) { must(t, d.Rename(a, b, true)) }
}

func unlink(path string) script {
	return func(t *testing.T, d *Disk) { must(t, d.Unlink(path)) }
}

// linkUnnamed is what a file written without a name comes to.
func linkUnnamed(path, content string) script {
	return func(t *testing.T, d *Disk) {
		f := d.Unnamed(0o600)
		d.Write(f, 0, []byte(content))
		d.Sync(f)
		must(t, d.Link(f, path))
	}
}

// text shows a tree in one line. Long contents are shown by their first letters
// of each sector.
func text(t Tree) string {
	var parts []string
	for _, f := range t {
		switch {
		case f.Dir:
			parts = append(parts, f.Path+"/")
		case len(f.Bytes) > SectorSize:
			s := ""
			for sector := range slices.Chunk(f.Bytes, SectorSize) {
				s += string(sector[0])
			}
			parts = append(parts, f.Path+"="+s)
		default:
			parts = append(parts, f.Path+"="+string(f.Bytes))
		}
	}
	return strings.NewReplacer("\x00", "0", "\xa5", "?").Replace(strings.Join(parts, " "))
}

func sectors(letters string) string {
	var b strings.Builder
	for _, l := range letters {
		b.WriteString(strings.Repeat(string(l), SectorSize))
	}
	return b.String()
}

func TestWhatADiskMayHoldAfterAPowerCut(t *testing.T) {
	for name, c := range map[string]struct {
		steps []script
		want  []string // all trees, sorted
	}{
		"nothing was done": {nil, []string{""}},
		"a file that was synced, in a directory that was": {
			[]script{create("f", "x"), sync("f"), sync(".")}, []string{"f=x"}},
		"a name without a sync": {
			[]script{create("f", "x"), sync("f")}, []string{"", "f=x"}},
		"bytes without a sync are missing, zeros, or what was there before": {
			[]script{create("f", "x"), sync(".")}, []string{"f=", "f=0", "f=?", "f=x"}},
		"a rename over a file, of one that was not synced": {
			[]script{create("f", "old"), sync("f"), sync("."), create("g", "n"), rename("g", "f")},
			[]string{"f=", "f=0", "f=?", "f=n", "f=old", "f=old g=", "f=old g=0", "f=old g=?", "f=old g=n"}},
		"a rename over a file, of one that was synced": {
			[]script{create("f", "old"), sync("f"), sync("."), create("g", "new"), sync("g"), rename("g", "f")},
			[]string{"f=new", "f=old", "f=old g=new"}},
		"names of one directory come in their order": {
			[]script{create("a", ""), create("b", ""), unlink("a")}, []string{"", "a= b=", "a=", "b="}},
		"names of two directories come in any order": {
			[]script{mkdir("x"), mkdir("y"), sync("."), create("x/a", ""), create("y/b", "")},
			[]string{"x/ x/a= y/", "x/ x/a= y/ y/b=", "x/ y/", "x/ y/ y/b="}},
		"what is in a directory without a name is nowhere": {
			[]script{mkdir("x"), create("x/a", "1"), sync("x/a"), sync("x")}, []string{"", "x/ x/a=1"}},
		"an exchange is one step": {
			[]script{create("a", "1"), create("b", "2"), sync("a"), sync("b"), sync("."), exchange("a", "b")},
			[]string{"a=1 b=2", "a=2 b=1"}},
		"a file without a name that was synced and linked": {
			[]script{linkUnnamed("a", "1")}, []string{"", "a=1"}},
		"one that was removed": {
			[]script{create("a", "1"), sync("a"), sync("."), unlink("a")}, []string{"", "a=1"}},
		"two writes in place come in any order": {
			[]script{create("f", "abcd"), sync("f"), sync("."), write("f", 0, "X"), write("f", 3, "Y")},
			[]string{"f=XbcY", "f=Xbcd", "f=abcY", "f=abcd"}},
		"a write is torn between sectors, not within one": {
			[]script{create("f", sectors("abc")), sync("f"), sync("."), write("f", 0, sectors("XYZ"))},
			[]string{"f=XYZ", "f=Xbc", "f=aYZ", "f=abZ", "f=abc"}},
		"a file that was cut off and written anew never has the old end behind the new beginning": {
			[]script{create("f", "10.0.0.12"), sync("f"), sync("."), truncate("f", 0), write("f", 0, "10.0.0.3")},
			[]string{"f=", "f=00000000", "f=10.0.0.12", "f=10.0.0.3", "f=????????"}},
		"room that was allocated": {
			[]script{create("f", "x"), sync("f"), sync("."), allocate("f", 4)}, []string{"f=x", "f=x000"}},
		"room that was there already": {
			[]script{create("f", "x"), sync("f"), sync("."), allocate("f", 1)}, []string{"f=x"}},
		"sizes come in their order": {
			[]script{create("f", "a"), sync("f"), sync("."), write("f", 1, "b"), truncate("f", 3)},
			[]string{"f=a", "f=a0", "f=a00", "f=a?", "f=a?0", "f=ab", "f=ab0"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := New()
			for _, step := range c.steps {
				step(t, d)
			}
			cut := d.Cut()
			var got []string
			for _, o := range cut.All(1000, nil) {
				got = append(got, text(cut.Tree(o)))
			}
			slices.Sort(got)
			got = slices.Compact(got)
			slices.Sort(c.want)
			if !slices.Equal(got, c.want) {
				t.Errorf("it may hold\n%q, want\n%q", got, c.want)
			}
			if kept := text(cut.Tree(cut.Kept())); kept != text(d.Tree()) {
				t.Errorf("with everything kept it is %q, the kernel shows %q", kept, text(d.Tree()))
			}
			if lost := text(cut.Tree(cut.Lost())); !slices.Contains(c.want, lost) {
				t.Errorf("with everything lost it is %q", lost)
			}
		})
	}
}

func TestOfManyOutcomesTheExtremeOnesAreTried(t *testing.T) {
	d := New()
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		create(name, sectors("xyz"))(t, d)
	}
	cut := d.Cut()
	if n := cut.Count(); !n.IsInt64() || n.Int64() != 7*pow(2, 6)*pow(7, 6) { // names, sizes, bytes
		t.Errorf("%v outcomes are counted", n)
	}
	all := cut.All(500, rand.New(rand.NewPCG(1, 1)))
	if len(all) > 500 || len(all) < 490 { // two random ones may be the same
		t.Errorf("%d outcomes are tried", len(all))
	}
	var seen []string
	for _, o := range all {
		seen = append(seen, text(cut.Tree(o)))
	}
	for name, want := range map[string]string{
		"nothing":                 "",
		"everything":              "a=xyz b=xyz c=xyz d=xyz e=xyz f=xyz",
		"names without bytes":     "a= b= c= d= e= f=",
		"the bytes of one alone":  "a=xyz b=xyz c=xyz d=000 e=xyz f=xyz",
		"one torn, all else kept": "a=xyz b=x00 c=xyz d=xyz e=xyz f=xyz",
		"the last name lost":      "a=xyz b=xyz c=xyz d=xyz e=xyz",
	} {
		if !slices.Contains(seen, want) {
			t.Errorf("%s is not among them", name)
		}
	}
}

func pow(base, n int64) int64 {
	p := int64(1)
	for range n {
		p *= base
	}
	return p
}

func TestAShutDownKeepsEverything(t *testing.T) {
	d := New()
	for _, step := range []script{mkdir("x"), create("x/a", "1"), create("b", "2"), unlink("b")} {
		step(t, d)
	}
	d.SyncAll()
	cut := d.Cut()
	if n := cut.Count(); n.Int64() != 1 {
		t.Errorf("%v outcomes", n)
	}
	if got := text(cut.Tree(cut.Lost())); got != "x/ x/a=1" {
		t.Errorf("the disk has %q", got)
	}
}

func TestWhatCannotBeDoneIsAnError(t *testing.T) {
	d := New()
	for _, step := range []script{mkdir("x"), mkdir("y"), create("x/a", "1")} {
		step(t, d)
	}
	_, exists := d.Create("x/a", 0o600)
	for name, err := range map[string]error{
		"a second file of one name":       exists,
		"a file in no directory":          d.Mkdir("z/a", 0o755),
		"a directory that is not empty":   d.Unlink("x"),
		"a file that is not there":        d.Unlink("x/b"),
		"a rename of nothing":             d.Rename("x/b", "x/c", false),
		"an exchange with nothing":        d.Rename("x/a", "x/c", true),
		"a rename to another directory":   d.Rename("x/a", "y/a", false),
		"a rename out of a file":          d.Rename("x/a/b", "x/a/c", false),
		"a file in the place of a parent": d.Mkdir("x/a/b", 0o755),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestATreeIsWrittenAndReadAgain(t *testing.T) {
	d := New()
	for _, step := range []script{mkdir("x"), create("x/a", "1"), create("b", "")} {
		step(t, d)
	}
	must(t, d.Link(d.Lookup("x/a"), "c"))
	d.Lookup("b").Mode = 0o750
	root := t.TempDir()
	must(t, d.Tree().WriteTo(root))
	must(t, d.Tree().WriteTo(root)) // over what is there
	got, err := Read(root)
	must(t, err)
	if got.Sum() != d.Tree().Sum() {
		t.Errorf("read is %q, written was %q", text(got), text(d.Tree()))
	}
	if b, ok := got.Find("b"); !ok || b.Mode != fs.FileMode(0o750) {
		t.Errorf("b has mode %v", b.Mode)
	}
	loaded, err := Load(root)
	must(t, err)
	if loaded.Tree().Sum() != got.Sum() {
		t.Errorf("loaded is %q, read was %q", text(loaded.Tree()), text(got))
	}
	if n := loaded.Cut().Count(); n.Int64() != 1 {
		t.Errorf("%v outcomes of what is durable", n)
	}
}
