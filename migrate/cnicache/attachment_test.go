package cnicache

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/bolt-local/bolt-local/store/record"
)

func TestAnAttachmentIsFoundByItsWholeKey(t *testing.T) {
	for name, c := range map[string]struct {
		file, content string
		network       string
		att           record.Attachment
		found         bool
	}{
		"a bare result of 0.2.0, which names no interface": {"podnet-1-eth0", old020, "podnet", key("1", "eth0"), true},
		"a bare result whose interfaces have other names":  {"podnet-1-eth0", bareOf("10.0.0.2/24", "tap0"), "podnet", key("1", "eth0"), true},
		"a bare result that is another's by its interface": {"podnet-1-x-eth0", bareOf("10.0.0.2/24", "eth0"), "podnet", key("1", "x-eth0"), false},
		"a bare result with two interfaces that fit":       {"podnet-1-x-eth0", bareOf("10.0.0.2/24", "eth0", "x-eth0"), "podnet", key("1", "x-eth0"), true},
		"a file of another network with the same name":     {"a-b-1-eth0", v1("a-b", "1", "eth0", bridge110, ""), "a", key("b-1", "eth0"), false},
		"a file of another container with the same name":   {"a-1-x-eth0", v1("a", "1-x", "eth0", bridge110, ""), "a", key("1", "x-eth0"), false},
		"lo":                        {"podnet-1-lo", v1("podnet", "1", "lo", bridge110, ""), "podnet", key("1", "lo"), false},
		"no file":                   {"podnet-1-eth0", bridge110, "podnet", key("2", "eth0"), false},
		"a key too long for a name": {"podnet-1-eth0", bridge110, "podnet", key(strings.Repeat("a", 300), "eth0"), false},
	} {
		t.Run(name, func(t *testing.T) {
			cache := Cache{Dirs: []string{files{c.file: c.content}.write(t)}}
			got, found, err := cache.Attachment(c.network, c.att)
			if err != nil || found != c.found {
				t.Fatalf("found %v, error %v; want %v", found, err, c.found)
			}
			if found && (got.Attachment != c.att || len(got.Addrs) == 0) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestAnAttachmentIsNotSearchedForInOtherFiles(t *testing.T) {
	cache := Cache{Dirs: []string{files{
		"podnet-1-eth0": bridge110,
		"podnet-2-eth0": "torn",
		"podnet-1-net1": "torn",
	}.write(t)}}
	if _, found, err := cache.Attachment("podnet", key("1", "eth0")); !found || err != nil {
		t.Errorf("found %v, error %v", found, err)
	}
}

func TestAnErrorBeforeTheEntryIsToldWithIt(t *testing.T) {
	torn := files{"podnet-1-eth0": "{"}.write(t)
	whole := files{"podnet-1-eth0": bridge110}.write(t)
	_, found, err := Cache{Dirs: []string{torn, whole}}.Attachment("podnet", key("1", "eth0"))
	if !found || err == nil || !strings.Contains(err.Error(), torn) {
		t.Errorf("found %v, error %v", found, err)
	}
	_, found, err = Cache{Dirs: []string{whole, torn}}.Attachment("podnet", key("1", "eth0"))
	if !found || err != nil {
		t.Errorf("the first directory has it: found %v, error %v", found, err)
	}
}

// A key is part of a path, so that one with a slash must not be looked for.
func TestAnInvalidKeyIsNotLookedFor(t *testing.T) {
	dir := files{"x": bridge110}.write(t)
	cache := Cache{Dirs: []string{filepath.Join(dir, "sub")}}
	for name, c := range map[string]struct {
		network string
		att     record.Attachment
	}{
		"no network":             {"", key("1", "eth0")},
		"a network with a slash": {"../a", key("1", "eth0")},
		"no container id":        {"podnet", key("", "eth0")},
		"an id with a slash":     {"podnet", key("1/../../x", "eth0")},
		"no ifname":              {"podnet", key("1", "")},
		"an ifname with a slash": {"podnet", key("1", "../x")},
		"an ifname of 16 bytes":  {"podnet", key("1", "0123456789abcdef")},
	} {
		t.Run(name, func(t *testing.T) {
			_, found, err := cache.Attachment(c.network, c.att)
			if found || err == nil {
				t.Errorf("found %v, error %v", found, err)
			}
		})
	}
	_, errs := cache.Network("../a")
	wantErrors(t, errs, `"../a"`)
}
