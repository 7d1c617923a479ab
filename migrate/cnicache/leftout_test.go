package cnicache

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAFileThatVouchesForNothingIsReportedAndLeftOut(t *testing.T) {
	whole := v1("podnet", "1", "eth0", bridge110, "")
	for name, c := range map[string]struct{ file, content, want string }{
		"empty":                       {"podnet-1-eth0", "", "empty"},
		"torn":                        {"podnet-1-eth0", whole[:len(whole)/2], "torn"},
		"not JSON":                    {"podnet-1-eth0", "10.0.0.2", "torn or not libcni's"},
		"two documents":               {"podnet-1-eth0", whole + whole, "torn or not libcni's"},
		"a list":                      {"podnet-1-eth0", "[]", "torn or not libcni's"},
		"null":                        {"podnet-1-eth0", "null", "neither"},
		"another program's JSON":      {"podnet-1-eth0", `{"name":"x"}`, "neither"},
		"a kind of the future":        {"podnet-1-eth0", strings.Replace(whole, "cniCacheV1", "cniCacheV2", 1), `"cniCacheV2"`},
		"a field of another type":     {"podnet-1-eth0", v1("podnet", "1", "eth0", `{"ips":"10.0.0.2/24"}`, ""), "field result.ips must not be a string"},
		"an address without a length": {"podnet-1-eth0", v1("podnet", "1", "eth0", bareOf("10.0.0.2", "eth0"), ""), `"10.0.0.2"`},
		"one bad address of two": {"podnet-1-eth0",
			v1("podnet", "1", "eth0", `{"ips":[{"address":"10.0.0.2/24"},{"address":"10.0.0.300/24"}]}`, ""), `"10.0.0.300/24"`},
		"another container's id":       {"podnet-1-eth0", v1("podnet", "2", "eth0", bridge110, ""), `container id "2"`},
		"another interface":            {"podnet-1-eth0", v1("podnet", "1", "eth1", bridge110, ""), `interface "eth1"`},
		"another network":              {"podnet-1-eth0", v1("other", "1", "eth0", bridge110, ""), `network "other"`},
		"no key":                       {"podnet-1-eth0", `{"kind":"cniCacheV1","result":` + bridge110 + `}`, `network ""`},
		"an invalid id":                {"podnet-1 2-eth0", v1("podnet", "1 2", "eth0", bridge110, ""), "containerID; 1 2"},
		"an empty id":                  {"podnet--eth0", v1("podnet", "", "eth0", bridge110, ""), "containerID"},
		"an invalid ifname":            {"podnet-1-e:0", v1("podnet", "1", "e:0", bridge110, ""), "interface name"},
		"an invalid id, bare":          {"podnet-1 2-eth0", bridge110, "containerID; 1 2"},
		"an invalid ifname, bare":      {"podnet-1-e:0", bareOf("10.0.0.2/24", "e:0"), "interface name"},
		"bare, without interfaces":     {"podnet-1-eth0", old020, "ends with none of the interfaces"},
		"bare, with other interfaces":  {"podnet-1-eth0", bareOf("10.0.0.2/24", "net1"), "ends with none of the interfaces"},
		"bare, on the host only":       {"podnet-1-eth0", strings.Replace(bridge031, "/ns/result", "", 1), "ends with none of the interfaces"},
		"bare, with two that fit":      {"podnet-1-x-eth0", bareOf("10.0.0.2/24", "eth0", "x-eth0"), `"eth0" and "x-eth0"`},
		"bare, with nulls and no more": {"podnet-1-eth0", `{"interfaces":[null],"ips":[null],"ip4":null}`, "neither"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := files{c.file: c.content, "podnet-9-eth0": bridge110}.write(t)
			entries, errs := Cache{Dirs: []string{dir}}.Network("podnet")
			wantErrors(t, errs, c.want)
			if path := filepath.Join(dir, c.file); !strings.Contains(errs[0].Error(), path) {
				t.Errorf("%q does not name %s", errs[0], path)
			}
			if len(entries) != 1 || entries[0].ContainerID != "9" {
				t.Errorf("entries are %+v, want that of the other file alone", entries)
			}
		})
	}
}

func TestWhatIsNoRegularFileIsReportedAndNotWaitedFor(t *testing.T) {
	for name, place := range map[string]func(path string) error{
		"a link to a good file": func(path string) error { return os.Symlink("podnet-9-eth0", path) },
		"a link to nothing":     func(path string) error { return os.Symlink("nothing", path) },
		"a pipe":                func(path string) error { return unix.Mkfifo(path, 0o600) },
		"a directory":           func(path string) error { return os.Mkdir(path, 0o700) },
		"a socket":              func(path string) error { return unix.Mknod(path, unix.S_IFSOCK|0o600, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := files{"podnet-9-eth0": bridge110}.write(t)
			path := filepath.Join(dir, "podnet-1-eth0")
			if err := place(path); err != nil {
				t.Fatal(err)
			}
			cache := Cache{Dirs: []string{dir}}
			entries, errs := cache.Network("podnet")
			wantErrors(t, errs, "podnet-1-eth0\" is left out: not a regular file")
			if len(entries) != 1 {
				t.Errorf("entries are %+v", entries)
			}
			if _, found, err := cache.Attachment("podnet", key("1", "eth0")); found || err == nil {
				t.Errorf("Attachment: found %v, error %v", found, err)
			}
		})
	}
}

func TestAFileOfAnySizeIsBounded(t *testing.T) {
	dir := files{"podnet-1-eth0": "", "podnet-2-eth0": bridge110}.write(t)
	if err := os.Truncate(filepath.Join(dir, "podnet-1-eth0"), maxSize+1); err != nil {
		t.Fatal(err)
	}
	padded := filepath.Join(dir, "podnet-2-eth0")
	if err := os.WriteFile(padded, []byte(bridge110+strings.Repeat(" ", maxSize-len(bridge110))), 0o600); err != nil {
		t.Fatal(err)
	}
	entries, errs := Cache{Dirs: []string{dir}}.Network("podnet")
	wantErrors(t, errs, "4194305 bytes")
	if len(entries) != 1 || entries[0].ContainerID != "2" {
		t.Errorf("entries are %+v, want that of the file which is just small enough", entries)
	}
}

func TestWhatIsNoDirectoryIsReported(t *testing.T) {
	file := filepath.Join(files{"file": ""}.write(t), "file")
	good := files{"podnet-9-eth0": bridge110}.write(t)
	cache := Cache{Dirs: []string{file, good}}
	entries, errs := cache.Network("podnet")
	wantErrors(t, errs, file+": not a directory")
	if len(entries) != 1 {
		t.Errorf("entries are %+v", entries)
	}
	if _, found, err := cache.Attachment("podnet", key("9", "eth0")); !found || err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("Attachment: found %v, error %v", found, err)
	}
}

func TestAFileThatVanishedIsNothing(t *testing.T) {
	var r reader
	got := r.file(t.TempDir(), "podnet-1-eth0", func(*document) (Entry, bool, error) {
		t.Error("asked about a file that is not there")
		return Entry{}, false, nil
	})
	if got.found || got.err != nil {
		t.Errorf("got %+v", got)
	}
}
