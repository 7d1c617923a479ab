package cmdline

import "testing"

func TestWord(t *testing.T) {
	for text, want := range map[string]string{"podnet": "podnet", "/a/b-c_d.e": "/a/b-c_d.e", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$x": "'$x'"} {
		if got := Word(text); got != want {
			t.Errorf("%q = %s, want %s", text, got, want)
		}
	}
}

func TestCommandsNameWhereTheyLook(t *testing.T) {
	for want, got := range map[string]string{
		"bolt-local repair --dry-run":                                    Command(DefaultDataDir, "repair", "--dry-run"),
		`bolt-local repair --dry-run --data-dir '/srv/pod'\''s net'`:     Command("/srv/pod's net", "repair", "--dry-run"),
		"bolt-local repair":                                              Sources{}.Command(DefaultDataDir, "repair"),
		"bolt-local repair --host-local-dir /n --cni-cache-dir '/a b'":   Sources{[]string{"/n"}, []string{"/a b"}}.Command(DefaultDataDir, "repair"),
		"bolt-local repair --accept --host-local-dir /n --data-dir /srv": Sources{HostLocalDirs: []string{"/n"}}.Command("/srv", "repair", "--accept"),
	} {
		if got != want {
			t.Errorf("command = %s, want %s", got, want)
		}
	}
}
