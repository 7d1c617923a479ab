package store

import (
	"encoding/base64"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/bolt-local/bolt-local/store/crc32c"
)

var deferredNames = map[string]Deferred{
	"usual":                    deferredDel("podnet", strings.Repeat("3f1c", 16), "eth0"),
	"short":                    deferredDel("n", "c", "e"),
	"without an ifname":        deferredDel("podnet", "c", ""),
	"as long as a name may be": deferredDel("podnet", strings.Repeat("c", 168), "eth0"),
	"too long for a name":      deferredDel("podnet", strings.Repeat("c", 200), "eth0"),
	"much too long":            deferredDel(strings.Repeat("n", 4000), strings.Repeat("c", 4000), "eth0"),
	"with odd bytes":           deferredDel("a/../b", "../../etc/passwd\n", "eth0\x01"),
	"with quotes and spaces":   deferredDel(`pod "net"`, `\u0000`, "eth 0"),
	"of another alphabet":      deferredDel("сеть", "контейнер", "eth0"),
}

func TestADeferredDelReadsBack(t *testing.T) {
	for name, d := range deferredNames {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			n.add("10.0.0.2", "a")
			d.Addrs, d.Gone = []netip.Addr{ip("10.0.0.2"), ip("fd00::2")}, true
			n.defers(d)
			files := n.deferredFiles()
			if len(files) != 1 || len(files[0]) > longestName {
				t.Fatalf("files %q", files)
			}
			due := n.due(d.Network)
			if len(due) != 1 {
				t.Fatalf("due %+v", due)
			}
			got := due[0]
			if got.At.IsZero() || got.Attachment != d.Attachment || !reflect.DeepEqual(got.Addrs, d.Addrs) || !got.Gone {
				t.Errorf("due %+v", got)
			}
			if n.CountDeferred() != 1 {
				t.Errorf("%d wait", n.CountDeferred())
			}
		})
	}
}

// What a full disk has cut, or a power cut emptied, is told by the name alone.
func TestADeferredDelIsToldByItsName(t *testing.T) {
	for name, spoil := range map[string]func([]byte) []byte{
		"empty":                       func([]byte) []byte { return nil },
		"cut":                         func(b []byte) []byte { return b[:len(b)/2] },
		"cut before its checksum":     func(b []byte) []byte { return b[:len(b)-9] },
		"zeroed":                      func(b []byte) []byte { return make([]byte, len(b)) },
		"with a flipped bit":          func(b []byte) []byte { b[7] ^= 1; return b },
		"with another's content":      func([]byte) []byte { return contentOf(deferredDel("podnet", "another", "eth0")) },
		"with a line more":            func(b []byte) []byte { return append(b, b...) },
		"with far too much":           func(b []byte) []byte { return append(b, make([]byte, 1<<20)...) },
		"with what is JSON, and none": func([]byte) []byte { return fmt.Appendf(nil, "[] %08x\n", crc32c.Sum([]byte("[]"))) },
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			n.add("10.0.0.2", "a")
			d := deferredDel("podnet", "a", "eth0")
			d.Gone = true
			n.defers(d)
			path := filepath.Join(DeferredDir, n.deferredFiles()[0])
			n.write(path, spoil(n.read(path)))
			due := n.due("podnet")
			if len(due) != 1 || due[0].Attachment != d.Attachment || due[0].Gone || due[0].Addrs != nil {
				t.Errorf("due %+v", due)
			}
		})
	}
}

// contentOf is what Defer writes.
func contentOf(d Deferred) []byte {
	doc := fmt.Appendf(nil, `{"network":%q,"containerID":%q,"ifname":%q}`, d.Network, d.ContainerID, d.IfName)
	return fmt.Appendf(nil, "%s %08x\n", doc, crc32c.Sum(doc))
}

func TestWhatTellsOfNoDelIsLeftAloneAndTold(t *testing.T) {
	long := deferredDel("podnet", strings.Repeat("c", 300), "eth0")
	digest, _ := long.fileName()
	for name, put := range map[string]func(path func(string) string) error{
		"a name of something else": func(path func(string) string) error { return os.WriteFile(path("README"), []byte("text"), 0o600) },
		"a digest, torn":           func(path func(string) string) error { return os.WriteFile(path(digest), contentOf(long)[:100], 0o600) },
		"a digest of another": func(path func(string) string) error {
			return os.WriteFile(path(digest[:len(digest)-1]+"x"), contentOf(long), 0o600)
		},
		"a name with a wrong checksum": func(path func(string) string) error {
			d := deferredDel("podnet", "a", "eth0")
			name, _ := d.fileName()
			return os.WriteFile(path(strings.TrimSuffix(name, name[len(name)-8:])+"00000000"), nil, 0o600)
		},
		"a name of two parts": func(path func(string) string) error {
			key := []byte("podnet\x00a")
			return os.WriteFile(path(fmt.Sprintf("%s.%08x", base64.RawURLEncoding.EncodeToString(key), crc32c.Sum(key))), nil, 0o600)
		},
		"a directory": func(path func(string) string) error { return os.Mkdir(path("dir"), 0o700) },
		"a pipe":      func(path func(string) string) error { return syscall.Mkfifo(path("pipe"), 0o600) },
		"a link":      func(path func(string) string) error { return os.Symlink("/etc/passwd", path("link")) },
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			n.add("10.0.0.2", "a")
			if err := put(func(name string) string { return filepath.Join(n.file(DeferredDir), name) }); err != nil {
				t.Fatal(err)
			}
			n.defers(deferredDel("podnet", "a", "eth0"))
			before := n.deferredFiles()
			n.warn = nil
			if count := n.carriesOut(); count != 1 {
				t.Errorf("%d were carried out", count)
			}
			if len(n.held()) > 0 {
				t.Errorf("held %v", n.held())
			}
			if after := n.deferredFiles(); len(after) != len(before)-1 {
				t.Errorf("files %q, before %q", after, before)
			}
			if !strings.Contains(strings.Join(n.warn, "\n"), "passed over") {
				t.Errorf("told: %q", n.warn)
			}
		})
	}
}

func TestDeferredNamesAreTold(t *testing.T) {
	names := map[string]string{}
	for what, d := range deferredNames {
		name, saysAll := d.fileName()
		if other, taken := names[name]; taken {
			t.Errorf("%s and %s have the same name", what, other)
		}
		names[name] = what
		got, ok := parseFileName(name)
		if ok != saysAll || saysAll && (got.Network != d.Network || got.Attachment != d.Attachment) {
			t.Errorf("%s: %q reads back as %+v, %v", what, name, got, ok)
		}
		if strings.ContainsFunc(name, func(r rune) bool { return r == '/' || r <= ' ' || r > '~' }) {
			t.Errorf("%s: the name %q", what, name)
		}
	}
}

// Whatever lies in the directory, a file tells of the DEL that its name is for,
// or of none.
func FuzzDeferred(f *testing.F) {
	for _, d := range deferredNames {
		name, _ := d.fileName()
		f.Add(name, contentOf(d))
		f.Add(name, []byte{})
	}
	n := fuzzNode(f)
	f.Fuzz(func(t *testing.T, name string, content []byte) {
		if name == "" || name == "." || name == ".." || len(name) > longestName || strings.ContainsAny(name, "/\x00") {
			t.Skip("no file can have this name")
		}
		n.t = t
		n.write(filepath.Join(DeferredDir, name), content)
		defer os.Remove(filepath.Join(n.file(DeferredDir), name))
		all, _, err := n.deferred()
		if err != nil || len(all) > 1 {
			t.Fatalf("%+v, %v", all, err)
		}
		for _, d := range all {
			if want, _ := d.fileName(); want != name {
				t.Fatalf("%q is taken for %q: %+v", name, want, d)
			}
			if d.Network != "podnet" {
				continue
			}
			if due := n.due("podnet"); len(due) != 1 || due[0].Attachment != d.Attachment {
				t.Fatalf("%+v is not due: %+v", d, due)
			}
		}
	})
}
