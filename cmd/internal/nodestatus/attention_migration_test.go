package nodestatus_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bolt-local/bolt-local/cmd/internal/nodestatus"
	"github.com/bolt-local/bolt-local/cmd/internal/nodestatus/nodestatustest"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/migrate/form"
	"github.com/bolt-local/bolt-local/store/record"
)

func TestWhatTheMoveNeedsAPersonFor(t *testing.T) {
	const dir = "/var/lib/cni/networks/podnet"
	aside := func(addr string, fixed bool) form.Aside {
		return form.Aside{Addr: nodestatustest.Held(addr, 0).Addr, Epoch: nodestatustest.Boot, Fixed: fixed}
	}
	spelled := aside("10.1.0.7", true)
	spelled.Name = "::ffff:10.1.0.7"
	for story, c := range map[string]struct {
		n    nodestatus.Network
		want map[nodestatus.Kind]string // what is in the text of each notice
	}{
		"nothing": {nodestatus.Network{Migration: nodestatus.Migration{Phase: engine.Switch, Directory: dir}}, map[nodestatus.Kind]string{}},
		"a directory that cannot be read": {
			nodestatus.Network{Problem: errors.New("reading host-local's Directory: permission denied")},
			map[nodestatus.Kind]string{nodestatus.KindProblem: "permission denied"},
		},
		"somebody has written to the directory": {
			nodestatus.Network{Migration: nodestatus.Migration{Phase: engine.Switch, Directory: dir, Changed: true, Differences: []string{"10.1.0.2 is …"}}},
			map[nodestatus.Kind]string{nodestatus.KindDirectoryChanged: dir + " since bolt-local's last call: the next ADD or DEL takes it over."},
		},
		"the forms differ, and nobody has written": {
			nodestatus.Network{Migration: nodestatus.Migration{Phase: engine.Switch, Directory: dir, Differences: []string{"10.1.0.2 is …", "10.1.0.3 is …"}}},
			map[nodestatus.Kind]string{nodestatus.KindFormsDiffer: dir + " and the checkpoint differ in 2 addresses"},
		},
		"no tombstone": {
			nodestatus.Network{Migration: nodestatus.Migration{Phase: engine.Contract, Directory: dir, Gap: "nothing is at " + dir + "; the next ADD or DEL writes it again"}},
			map[nodestatus.Kind]string{nodestatus.KindTombstone: "No tombstone: nothing is at " + dir + "; the next ADD or DEL writes it again."},
		},
		"the next step waits": {
			nodestatus.Network{Migration: nodestatus.Migration{Phase: engine.Expand, Target: engine.Legacy, Waits: "10.1.0.2 is held by two attachments"}},
			map[nodestatus.Kind]string{nodestatus.KindMigrationWaits: "The step from expand to legacy waits: 10.1.0.2 is held by two attachments."},
		},
		"a phase that cannot be reached in full": {
			nodestatus.Network{Migration: nodestatus.Migration{Phase: engine.Contract, Shut: true, Waits: "no space left"}},
			map[nodestatus.Kind]string{nodestatus.KindMigrationWaits: "Phase contract waits: no space left."},
		},
		"files that name nobody": {
			nodestatus.Network{Migration: nodestatus.Migration{Directory: dir, Aside: []form.Aside{aside("10.1.0.7", false), aside("fd00::7", false)}}},
			map[nodestatus.Kind]string{nodestatus.KindSetAside: "2 addresses are given to nobody until the next boot, as the file names no holder, which a killed host-local leaves behind: " +
				dir + "/10.1.0.7, " + dir + "/fd00::7. If no pod"},
		},
		"what is no reservation": {
			nodestatus.Network{Migration: nodestatus.Migration{Directory: dir, Aside: []form.Aside{aside("10.1.0.7", true)}}},
			map[nodestatus.Kind]string{nodestatus.KindSetAside: "1 address is given to nobody, as what stands for it is no file of host-local's"},
		},
		"another spelling": {
			nodestatus.Network{Migration: nodestatus.Migration{Directory: dir, Aside: []form.Aside{spelled}}},
			map[nodestatus.Kind]string{nodestatus.KindSetAside: "1 address is given to nobody, as what stands for it is no file of host-local's, but a link, a directory or another spelling of the address: " + dir + "/::ffff:10.1.0.7. Move"},
		},
		"another spelling beside a reservation": {
			nodestatus.Network{
				Allocations: []record.Allocation{nodestatustest.Held("10.1.0.7", nodestatustest.Boot, nodestatustest.By("a", "eth0", 0))},
				Ranges:      []record.RangeSet{{{Start: spelled.Addr, End: spelled.Addr.Next().Next()}}},
				Migration:   nodestatus.Migration{Directory: dir, Aside: []form.Aside{spelled}}},
			map[nodestatus.Kind]string{nodestatus.KindSetAside: "1 address is held, beside something in the directory that stands for it and is no reservation: " + dir + "/::ffff:10.1.0.7. Move it away: the pod keeps"},
		},
		"another spelling beside one of an earlier boot": {
			nodestatus.Network{
				Allocations: []record.Allocation{nodestatustest.Held("10.1.0.7", nodestatustest.Boot-1, nodestatustest.By("a", "eth0", 0))},
				Migration:   nodestatus.Migration{Directory: dir, Aside: []form.Aside{spelled}}},
			map[nodestatus.Kind]string{nodestatus.KindSetAside: "1 address is given to nobody, as"},
		},
	} {
		t.Run(story, func(t *testing.T) {
			c.n.Name = "podnet"
			got := map[nodestatus.Kind]string{}
			for _, n := range attention(nodestatus.Snapshot{Epoch: nodestatustest.Boot, Networks: []nodestatus.Network{c.n}}) {
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
