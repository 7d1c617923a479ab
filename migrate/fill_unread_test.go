package migrate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/backfill"
)

func TestALossIsNotAcceptedWhileACachedResultCannotBeRead(t *testing.T) {
	n := newAiling(t)
	first := n.mustAdd("podnet", "", "a")
	second := n.mustAdd("secondnet", "", "a") // of which the runtime does not tell
	n.cached("secondnet", second.String(), "a")
	n.lostAll()
	path := filepath.Join(n.cache, "secondnet-a-eth0")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	fills := func(content []byte) BackfillReport {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return n.fills(Backfill{
			Configs:  []*ipam.Config{n.config("podnet", "10.6.0.0/24", ""), n.config("secondnet", "10.9.0.0/24", "")},
			Running:  []backfill.Sandbox{n.runs("a", first.String())},
			Complete: true,
		})
	}
	if r := fills(whole[:14]); r.Accepted || !strings.Contains(r.Lost, "network secondnet") || !strings.Contains(r.Lost, path) {
		t.Errorf("torn: accepted %v, lost %q", r.Accepted, r.Lost)
	}
	if r := fills(whole); !r.Accepted || r.Lost != "" {
		t.Errorf("whole: accepted %v, lost %q", r.Accepted, r.Lost)
	}
}
