package damage

import (
	"os"
	"testing"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/e2e/testenv"
	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/store"
)

// grown is the size of a file with a hole in it, in bytes. To look at every page
// takes more memory than a call may use.
const grown = 2 << 30

func TestALongFileIsReadInBounds(t *testing.T) {
	boot, err := realBoot()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		zeroed  bool // its first meta page
		journal bool // is whole
		healthy bool // afterwards
	}{
		"a sound one":                        {false, true, true},
		"a damaged one, with its journal":    {true, true, true},
		"a damaged one, without its journal": {true, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := build(t.TempDir(), boot, size{shut: 20, open: 20}, true)
			if err != nil {
				t.Fatal(err)
			}
			p := &processes{node: m.node, binary: testenv.Binary(t, lab.BoltLocal), fault: t.Errorf}
			if c.zeroed {
				err = os.WriteFile(m.file(store.CheckpointFile), over(m.files[store.CheckpointFile], 0, make([]byte, os.Getpagesize())), 0o600)
			}
			if err == nil && !c.journal {
				err = os.Remove(m.file(store.JournalFile))
			}
			if err == nil {
				err = os.Truncate(m.file(store.CheckpointFile), grown)
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := p.status(shut); (err == nil) == c.zeroed {
				t.Errorf("STATUS: %v", err)
			}
			if _, err := p.dump(); (err == nil) == c.zeroed {
				t.Errorf("dump: %v", err)
			}
			_, err = p.add(shut, m.container(), conf{})
			if c.healthy && err != nil || !c.healthy && ipam.CodeOf(err) != ipam.CodeDamaged {
				t.Errorf("ADD: %v", err)
			}
			if _, err := p.repair(store.Repair{DryRun: true}); err != nil {
				t.Errorf("repair --dry-run: %v", err)
			}
			if _, err := p.repair(store.Repair{Accept: true}); err != nil {
				t.Errorf("repair --accept: %v", err)
			}
			if _, err := p.add(shut, m.container(), conf{}); err != nil {
				t.Errorf("ADD after repair: %v", err)
			}
		})
	}
}
