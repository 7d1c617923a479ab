package cli

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bolt-local/bolt-local/cmd/internal/nodestatus"
	"github.com/bolt-local/bolt-local/cmd/internal/nodestatus/nodestatustest"
	"github.com/bolt-local/bolt-local/ipam"
)

func testStatus() nodestatus.Status {
	return nodestatus.New(nodestatustest.Snapshot(), nodestatustest.Plugin())
}

func TestStatusTextOnATerminal(t *testing.T) {
	got := printed(t, 80, func(s screen) error { return printStatusText(s, testStatus()) })
	wantText(t, strings.ReplaceAll(got, "`", "'"), `
Checkpoint  /var/lib/cni/bolt-local/checkpoint.db (128 KiB)
Format      schema 1, written by v0.1.0, created 2026-11-26 12:00:00 UTC

NETWORK  RANGES               SIZE  HELD    FREE  USED
podnet   10.1.0.0/24           253     3     250  [#.........]   1%
         fd00:1::/64        1.8e19     1  1.8e19  [#.........]  <1%
storage  10.1.0.1-10.1.0.2       3     3       0  [##########] 100%
         192.168.7.10
young    not known               ?     0       ?

1 allocation of a previous boot counts as free.

NETWORK  PHASE     TARGET    UNPROVEN  HOST-LOCAL'S DIRECTORY
podnet   switch    contract         1  /var/lib/cni/networks/podnet
storage  contract  -                0  /var/lib/cni/networks/storage (shut)

Needs attention
  network young: lost
    ADD is refused until the next boot: nothing that was left had everything. If
      'bolt-local dump' has every pod of the node, 'bolt-local repair --accept'
      lets it go on at once.
    $ bolt-local dump
  network storage: exhausted
    Range set 10.1.0.1-10.1.0.2,192.168.7.10-192.168.7.10 is exhausted, 3 of 3
      held: no pod of this network can start.
    $ bolt-local dump --network storage
  network storage: two-holders
    10.1.0.2 is held by 2 attachments at once: delete all of their pods but one.
  checkpoint: healed
    2026-11-29 11:00:00 UTC: the checkpoint is damaged: it is empty; everything
      was taken over from the journal; the damaged file is kept as
      /var/lib/cni/bolt-local/checkpoint.db.damaged-20261129T110000Z.
    $ bolt-local repair --acknowledge
  checkpoint: deferred-del
    2 DELs wait in /var/lib/cni/bolt-local/deferred: once the checkpoint can be
      written and nothing is missing in their networks, the next ADD, DEL or GC
      there carries them out and frees their addresses.
  network podnet: overlap
    Range 10.1.0.1-10.1.0.254 overlaps with 10.1.0.1-10.1.0.2 of network
      storage: both may give out the same address.
  network podnet: namespace-gone
    1 address is held whose network namespace is gone, probably because a DEL
      was lost: 10.1.0.3.
    $ bolt-local gc --network podnet
  network podnet: outside-ranges
    1 address is held that today's ranges do not give out: 10.7.0.2. DEL frees
      such addresses all the same.
  network podnet: migration-waits
    The step from switch to contract waits: 1 allocation was made by host-local.
`[1:])
	for _, line := range strings.Split(got, "\n") {
		if n := utf8.RuneCountInString(line); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestStatusOfNothing(t *testing.T) {
	got := printed(t, 0, func(s screen) error {
		return printStatusText(s, nodestatus.New(nodestatus.Snapshot{Path: "/d/checkpoint.db"}, nodestatustest.Plugin()))
	})
	wantText(t, got, `
Checkpoint  /d/checkpoint.db (not there yet: the first ADD makes it)

No network is stored.

Nothing needs attention.
`[1:])
}

func TestStatusSaysThatNoNamespaceCountsAsGone(t *testing.T) {
	dir, _ := storeWith(t)
	var stdout, stderr strings.Builder
	a := &app{
		out:     newScreen(&stdout),
		stderr:  &stderr,
		plugin:  &ipam.Plugin{Namespaces: nodestatustest.Unsure{}},
		dataDir: dir,
	}
	if err := a.status("", outputTable); err != nil {
		t.Fatal(err)
	}
	if want := "bolt-local: not every process can be asked\n"; stderr.String() != want {
		t.Errorf("stderr: %q, want %q", stderr.String(), want)
	}
}
