package ipam_test

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bolt-local/bolt-local/ipam"
)

// tree is all below a directory, with what a write would change.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	got := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		var st syscall.Stat_t
		if err == nil {
			err = syscall.Lstat(path, &st)
		}
		got[path] = fmt.Sprintf("inode %d mode %o size %d written %v", st.Ino, st.Mode, st.Size, st.Mtim)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// named is a configuration under another name, which is JSON without its quotes.
func named(name string) string {
	return strings.Replace(conf(net24), `"name":"n"`, `"name":"`+name+`"`, 1)
}

// twoNodes are a node that has a pod, and one that has nothing yet. host-local's
// networks would be in the data directory.
func twoNodes(t *testing.T) map[string]*node {
	t.Helper()
	full := newNode(t.TempDir())
	mustAdd(t, full, "a", conf(net24), "10.0.0.2")
	if err := full.plugin().Del(full.call("z", conf(net24))); err != nil { // what the first ADD has left to do
		t.Fatal(err)
	}
	full.warned = nil
	return map[string]*node{"with a pod": full, "with nothing": newNode(t.TempDir())}
}

func TestANameThatNoNetworkHasIsNoPath(t *testing.T) {
	for what, name := range map[string]string{
		"the parent":               "..",
		"the directory itself":     ".",
		"a path":                   "a/b",
		"a path that leads away":   "../x",
		"an absolute path":         "/etc",
		"empty":                    "",
		"with a space":             "a b",
		"hidden":                   ".n",
		"like a flag":              "-n",
		"the name beside another":  ".bolt-local-n",
		"with a NUL":               `a\u0000b`,
		"with a line break":        `a\n`,
		"not UTF-8":                "a\xffb",
		"with an umlaut":           "ü",
		"of 300 bytes":             strings.Repeat("n", 300),
		"one byte too long":        strings.Repeat("n", 244),
		"the checkpoint":           "checkpoint.db",
		"a kept checkpoint":        "checkpoint.db.damaged-20261129T120000Z",
		"the lock":                 "lock",
		"the journal":              "journal",
		"the undo file":            "undo",
		"the mark of a stuck call": "suspect",
		"the deferred DELs":        "deferred",
	} {
		t.Run(what, func(t *testing.T) {
			for state, n := range twoNodes(t) {
				top := filepath.Dir(n.dir)
				before := tree(t, top)
				_, err := n.add("a", named(name))
				wantCode(t, err, ipam.CodeConfig, "name")
				wantCode(t, n.plugin().Status(n.call("", named(name))), ipam.CodeConfig, "name")
				wantCode(t, n.plugin().Check(n.call("a", with(named(name), "prevResult", prev("10.0.0.2/24")))), ipam.CodeNothingAllocated)
				for verb, call := range map[string]func() error{
					"DEL": func() error { return n.plugin().Del(n.call("a", named(name))) },
					"GC of all": func() error {
						return n.plugin().GC(n.call("", with(named(name), "cni.dev/valid-attachments", attachments())))
					},
					"GC without a list": func() error { return n.plugin().GC(n.call("", named(name))) },
				} {
					n.warned = nil
					err := call()
					if told := strings.Join(n.warned, "\n"); err != nil || !strings.Contains(told, "nothing was freed") || !strings.Contains(told, "name") {
						t.Errorf("%s on a node %s: %v, told %q", verb, state, err, told)
					}
				}
				if diff := cmp.Diff(before, tree(t, top)); diff != "" {
					t.Errorf("a node %s was written (-before +after):\n%s", state, diff)
				}
			}
		})
	}
}

// skel takes the last of two, and the configuration's reader the one that is
// written as documented.
func TestDELOfANetworkWithTwoNamesLeavesThePathThatIsNone(t *testing.T) {
	for state, n := range twoNodes(t) {
		before := tree(t, filepath.Dir(n.dir))
		if err := n.plugin().Del(n.call("a", named(`..","Name":"n`))); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(before, tree(t, filepath.Dir(n.dir))); diff != "" || !strings.Contains(strings.Join(n.warned, "\n"), "nothing was freed") {
			t.Errorf("a node %s was written, told %q (-before +after):\n%s", state, n.warned, diff)
		}
	}
}

func TestTheNamesThatANetworkMayHave(t *testing.T) {
	for _, name := range []string{"0", "A_b-c.d", "a..b", "locks", "Lock", "journal1", "checkpoint.dbx", strings.Repeat("n", 243)} {
		n := newNode(t.TempDir())
		mustAdd(t, n, "a", named(name), "10.0.0.2")
		mustAdd(t, n, "b", named(name), "10.0.0.3")
		if err := n.plugin().Del(n.call("a", named(name))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		mustAdd(t, n, "c", named(name), "10.0.0.4")
		mustAdd(t, n, "a", with(named(name), "args", ipsArg("10.0.0.2")), "10.0.0.2")
	}
}

func TestANameThatNoContainerHasIsNoKey(t *testing.T) {
	for what, c := range map[string]struct {
		id, ifname string
		want       string
	}{
		"an id that is the parent":         {"..", "eth0", "CNI_CONTAINERID"},
		"an id that is a path":             {"a/b", "eth0", "CNI_CONTAINERID"},
		"an id that leads away":            {"../../etc/passwd", "eth0", "CNI_CONTAINERID"},
		"no id":                            {"", "eth0", "CNI_CONTAINERID"},
		"an id that is hidden":             {".a", "eth0", "CNI_CONTAINERID"},
		"an id with a NUL":                 {"a\x00eth0", "eth0", "CNI_CONTAINERID"},
		"an id that is not UTF-8":          {"a\xff", "eth0", "CNI_CONTAINERID"},
		"an id with a line break":          {"a\n", "eth0", "CNI_CONTAINERID"},
		"an id too long for a key":         {strings.Repeat("a", 30001), "eth0", "30000"},
		"no ifname":                        {"a", "", "CNI_IFNAME"},
		"an ifname that is the directory":  {"a", ".", "CNI_IFNAME"},
		"an ifname that is the parent":     {"a", "..", "CNI_IFNAME"},
		"an ifname that is a path":         {"a", "a/b", "CNI_IFNAME"},
		"an ifname with a colon":           {"a", "eth0:1", "CNI_IFNAME"},
		"an ifname with a space":           {"a", "eth 0", "CNI_IFNAME"},
		"an ifname of 16 bytes":            {"a", strings.Repeat("e", 16), "CNI_IFNAME"},
		"an ifname of 300 bytes":           {"a", strings.Repeat("e", 300), "CNI_IFNAME"},
		"an ifname with a NUL":             {"a", "eth0\x00", "CNI_IFNAME"},
		"an ifname that is not UTF-8":      {"a", "eth\xff", "CNI_IFNAME"},
		"an ifname with a line separator":  {"a", "eth\u2028", "CNI_IFNAME"},
		"both of them wrong":               {"..", "..", "CNI_CONTAINERID"},
		"an id that is one of our buckets": {"a\x00eth0\x00", "eth0", "CNI_CONTAINERID"},
	} {
		t.Run(what, func(t *testing.T) {
			for state, n := range twoNodes(t) {
				top := filepath.Dir(n.dir)
				before := tree(t, top)
				call := n.call(c.id, conf(net24))
				call.IfName = c.ifname
				_, err := n.addWith(call)
				wantCode(t, err, ipam.CodeEnvironment, c.want)
				call.Stdin = []byte(with(string(call.Stdin), "prevResult", prev("10.0.0.2/24")))
				wantCode(t, n.plugin().Check(call), ipam.CodeNothingAllocated)
				if err := n.plugin().Del(call); err != nil {
					t.Errorf("DEL on a node %s: %v", state, err)
				}
				if told := strings.Join(n.warned, "\n"); !strings.Contains(told, "nothing was freed") {
					t.Errorf("DEL on a node %s has told %q", state, told)
				}
				if diff := cmp.Diff(before, tree(t, top)); diff != "" {
					t.Errorf("a node %s was written (-before +after):\n%s", state, diff)
				}
			}
		})
	}
}

func TestTheNamesThatAnAttachmentMayHave(t *testing.T) {
	for _, att := range [][2]string{
		{"0", "e"}, {"A_b-c.d", "eth0@if3"}, {"a..b", strings.Repeat("e", 15)}, {strings.Repeat("a", 30000), "eth0"}, {"a", "ü"}, {"lock", "lock"},
	} {
		n := newNode(t.TempDir())
		call := n.call(att[0], conf(net24))
		call.IfName = att[1]
		for range 2 { // once more from the record
			if got, err := n.addWith(call); err != nil || fmt.Sprint(got) != "[10.0.0.2]" {
				t.Errorf("%.20s/%s: %v, %v", att[0], att[1], got, err)
			}
		}
		if err := n.plugin().Del(call); err != nil || len(n.held(t)) > 0 {
			t.Errorf("%.20s/%s: DEL %v, held %v", att[0], att[1], err, n.held(t))
		}
	}
}
