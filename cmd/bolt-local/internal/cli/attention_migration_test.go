package cli

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/migrate/form"
)

func TestWhatTheMoveNeedsAPersonFor(t *testing.T) {
	const dir = "/var/lib/cni/networks/podnet"
	aside := func(addr string, fixed bool) form.Aside {
		return form.Aside{Addr: held(addr, boot).Addr, Epoch: boot, Fixed: fixed}
	}
	for story, c := range map[string]struct {
		n    network
		want map[kind]string // what is in the text of each notice
	}{
		"nothing": {network{migration: migration{phase: engine.Switch, directory: dir}}, map[kind]string{}},
		"a directory that cannot be read": {
			network{problem: errors.New("reading host-local's directory: permission denied")},
			map[kind]string{kindProblem: "permission denied"},
		},
		"somebody has written to the directory": {
			network{migration: migration{phase: engine.Switch, directory: dir, changed: true, differences: []string{"10.1.0.2 is …"}}},
			map[kind]string{kindDirectoryChanged: dir + " since bolt-local's last call: the next ADD or DEL takes it over."},
		},
		"the forms differ, and nobody has written": {
			network{migration: migration{phase: engine.Switch, directory: dir, differences: []string{"10.1.0.2 is …", "10.1.0.3 is …"}}},
			map[kind]string{kindFormsDiffer: dir + " and the checkpoint differ in 2 addresses"},
		},
		"no tombstone": {
			network{migration: migration{phase: engine.Contract, directory: dir, gap: &gap{"nothing is at " + dir, gapMends}}},
			map[kind]string{kindTombstone: "No tombstone: nothing is at " + dir + "; the next ADD or DEL writes it again."},
		},
		"the next step waits": {
			network{migration: migration{phase: engine.Expand, target: engine.Legacy, waits: "10.1.0.2 is held by two attachments"}},
			map[kind]string{kindMigrationWaits: "The step from expand to legacy waits: 10.1.0.2 is held by two attachments."},
		},
		"a phase that cannot be reached in full": {
			network{migration: migration{phase: engine.Contract, shut: true, waits: "no space left"}},
			map[kind]string{kindMigrationWaits: "Phase contract waits: no space left."},
		},
		"files that name nobody": {
			network{migration: migration{directory: dir, aside: []form.Aside{aside("10.1.0.7", false), aside("fd00::7", false)}}},
			map[kind]string{kindSetAside: "2 addresses are given to nobody until the next boot, as the file names no holder, which a killed host-local leaves behind: " +
				dir + "/10.1.0.7, " + dir + "/fd00::7. If no pod"},
		},
		"what is no reservation": {
			network{migration: migration{directory: dir, aside: []form.Aside{aside("10.1.0.7", true)}}},
			map[kind]string{kindSetAside: "1 address is given to nobody, as what stands for it is no file of host-local's"},
		},
	} {
		t.Run(story, func(t *testing.T) {
			f := finder{dataDir: "/d"}
			c.n.name = "podnet"
			f.migration(c.n)
			got := map[kind]string{}
			for _, n := range f.notices {
				got[n.Kind] = n.Text
				if want := c.want[n.Kind]; n.Network != "podnet" || want != "" && strings.Contains(n.Text, want) {
					got[n.Kind] = want
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
