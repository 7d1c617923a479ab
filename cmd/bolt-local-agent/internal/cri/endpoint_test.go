package cri

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheSocketIsFoundAsCrictlFindsIt(t *testing.T) {
	dir := t.TempDir()
	socket := filepath.Join(dir, "b.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain, missing := file("a.sock", ""), filepath.Join(dir, "missing")
	configured := file("crictl.yaml", "runtime-endpoint: unix:///from/file.sock\ntimeout: 2\n")
	for name, c := range map[string]struct {
		given, env, file string
		sockets          []string
		want             string // of an error it is a part
		fails            bool
	}{
		"as given":                            {"unix:///x.sock", "unix:///y.sock", configured, []string{socket}, "unix:///x.sock", false},
		"a path":                              {"/x.sock", "", missing, nil, "unix:///x.sock", false},
		"from the environment":                {"", "unix:///y.sock", configured, []string{socket}, "unix:///y.sock", false},
		"from crictl's configuration":         {"", "", configured, []string{socket}, "unix:///from/file.sock", false},
		"the first socket that is one":        {"", "", missing, []string{missing, plain, socket}, "unix://" + socket, false},
		"a configuration without it":          {"", "", file("other.yaml", "timeout: 2\n"), []string{socket}, "unix://" + socket, false},
		"none":                                {"", "", missing, []string{missing, plain}, "there is no socket at " + missing + " or " + plain, true},
		"no socket's name":                    {"tcp://host:1", "", missing, nil, `"tcp://host:1" is not a socket`, true},
		"a name relative to nothing":          {"x.sock", "", missing, nil, `"x.sock" is not a socket`, true},
		"a configuration that cannot be read": {"", "", file("bad.yaml", "{"), []string{socket}, "bad.yaml", true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := endpoint(c.given, func(string) string { return c.env }, c.file, c.sockets)
			switch {
			case c.fails && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("error %v, want one with %q", err, c.want)
			case c.fails && name == "none" && !errors.Is(err, ErrNoRuntime):
				t.Errorf("%v is not ErrNoRuntime", err)
			case !c.fails && (err != nil || got != c.want):
				t.Errorf("%q, %v, want %q", got, err, c.want)
			}
		})
	}
}
