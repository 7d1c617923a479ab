package cli

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bolt-local/bolt-local/ipam"
)

func testStatus() status { return newStatus(testSnapshot(), testPlugin(), ipam.DefaultDataDir) }

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
    $ bolt-local repair
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
		return printStatusText(s, newStatus(snapshot{path: "/d/checkpoint.db"}, testPlugin(), "/d"))
	})
	wantText(t, got, `
Checkpoint  /d/checkpoint.db (not there yet: the first ADD makes it)

No network is stored.

Nothing needs attention.
`[1:])
}

func TestStatusNamesTheProblemFirst(t *testing.T) {
	snap := testSnapshot()
	snap.problem = errors.Join(errors.New("the checkpoint is damaged"), errors.New("and so is a record"))
	st := newStatus(snap, testPlugin(), "/d")
	first := st.Attention[0]
	if first.Kind != kindProblem || first.Text != "the checkpoint is damaged; and so is a record" {
		t.Errorf("first notice = %+v", first)
	}
	if st.Checkpoint.Problem == "" || len(st.Networks) != 3 {
		t.Errorf("problem = %q, %d networks; want both shown", st.Checkpoint.Problem, len(st.Networks))
	}
}

func TestCommandsNameAnotherDataDirectory(t *testing.T) {
	f := finder{dataDir: "/srv/pod's net"}
	want := `bolt-local gc --network podnet --data-dir '/srv/pod'\''s net'`
	if got := f.command("gc", "podnet"); got != want {
		t.Errorf("command = %s, want %s", got, want)
	}
}

func TestSetsAreReportedFrom90Percent(t *testing.T) {
	for held, want := range map[int]kind{227: "", 228: kindNearlyFull, 252: kindNearlyFull, 253: kindExhausted} {
		u := testPlugin().Usage(boot, testSnapshot().networks[0].ranges[:1], nil, nil)
		u.Sets[0].Held = held
		f := finder{}
		f.fullSet("podnet", u.Sets[0])
		got := kind("")
		if len(f.notices) > 0 {
			got = f.notices[0].Kind
		}
		if got != want {
			t.Errorf("%d of 253 is reported as %q, want %q", held, got, want)
		}
	}
}

func TestMetrics(t *testing.T) {
	got := printed(t, 0, func(s screen) error { return printMetrics(s, testStatus()) })
	wantText(t, got, `
# HELP bolt_local_checkpoint_ok Whether the checkpoint is absent or can be believed and written by this version.
# TYPE bolt_local_checkpoint_ok gauge
bolt_local_checkpoint_ok{path="/var/lib/cni/bolt-local/checkpoint.db"} 1
# HELP bolt_local_checkpoint_bytes Size of the checkpoint's file.
# TYPE bolt_local_checkpoint_bytes gauge
bolt_local_checkpoint_bytes{path="/var/lib/cni/bolt-local/checkpoint.db"} 131072
# HELP bolt_local_checkpoint_info Schema of the checkpoint and the version that wrote it last.
# TYPE bolt_local_checkpoint_info gauge
bolt_local_checkpoint_info{path="/var/lib/cni/bolt-local/checkpoint.db",schema="1",writer="v0.1.0"} 1
# HELP bolt_local_checkpoint_healed Former damage of the checkpoint that nobody has acknowledged, by what it was made whole from.
# TYPE bolt_local_checkpoint_healed gauge
bolt_local_checkpoint_healed{path="/var/lib/cni/bolt-local/checkpoint.db",from="journal"} 1
bolt_local_checkpoint_healed{path="/var/lib/cni/bolt-local/checkpoint.db",from="old-form"} 0
bolt_local_checkpoint_healed{path="/var/lib/cni/bolt-local/checkpoint.db",from="new-boot"} 0
bolt_local_checkpoint_healed{path="/var/lib/cni/bolt-local/checkpoint.db",from="repair"} 0
bolt_local_checkpoint_healed{path="/var/lib/cni/bolt-local/checkpoint.db",from="backup"} 0
# HELP bolt_local_checkpoint_lost Whether ADD is refused in networks that are not stored because they may be lost.
# TYPE bolt_local_checkpoint_lost gauge
bolt_local_checkpoint_lost{path="/var/lib/cni/bolt-local/checkpoint.db"} 0
# HELP bolt_local_deferred_dels DELs that wait for a call that can write the checkpoint.
# TYPE bolt_local_deferred_dels gauge
bolt_local_deferred_dels{path="/var/lib/cni/bolt-local/checkpoint.db"} 2
# HELP bolt_local_range_set_addresses Addresses that the range set gives out.
# TYPE bolt_local_range_set_addresses gauge
bolt_local_range_set_addresses{network="podnet",range_set="10.1.0.1-10.1.0.254"} 253
bolt_local_range_set_addresses{network="podnet",range_set="fd00:1::1-fd00:1::ffff:ffff:ffff:ffff"} 18446744073709551614
bolt_local_range_set_addresses{network="storage",range_set="10.1.0.1-10.1.0.2,192.168.7.10-192.168.7.10"} 3
# HELP bolt_local_range_set_held Addresses of the range set that are held.
# TYPE bolt_local_range_set_held gauge
bolt_local_range_set_held{network="podnet",range_set="10.1.0.1-10.1.0.254"} 3
bolt_local_range_set_held{network="podnet",range_set="fd00:1::1-fd00:1::ffff:ffff:ffff:ffff"} 1
bolt_local_range_set_held{network="storage",range_set="10.1.0.1-10.1.0.2,192.168.7.10-192.168.7.10"} 3
# HELP bolt_local_range_set_free Addresses of the range set that are free.
# TYPE bolt_local_range_set_free gauge
bolt_local_range_set_free{network="podnet",range_set="10.1.0.1-10.1.0.254"} 250
bolt_local_range_set_free{network="podnet",range_set="fd00:1::1-fd00:1::ffff:ffff:ffff:ffff"} 18446744073709551613
bolt_local_range_set_free{network="storage",range_set="10.1.0.1-10.1.0.2,192.168.7.10-192.168.7.10"} 0
# HELP bolt_local_range_set_exhausted Whether an ADD would find no address in the range set.
# TYPE bolt_local_range_set_exhausted gauge
bolt_local_range_set_exhausted{network="podnet",range_set="10.1.0.1-10.1.0.254"} 0
bolt_local_range_set_exhausted{network="podnet",range_set="fd00:1::1-fd00:1::ffff:ffff:ffff:ffff"} 0
bolt_local_range_set_exhausted{network="storage",range_set="10.1.0.1-10.1.0.2,192.168.7.10-192.168.7.10"} 1
# HELP bolt_local_network_held Allocations of this boot.
# TYPE bolt_local_network_held gauge
bolt_local_network_held{network="podnet"} 5
bolt_local_network_held{network="storage"} 3
bolt_local_network_held{network="young"} 0
# HELP bolt_local_network_previous_boot Allocations of a previous boot, which count as free.
# TYPE bolt_local_network_previous_boot gauge
bolt_local_network_previous_boot{network="podnet"} 1
bolt_local_network_previous_boot{network="storage"} 0
bolt_local_network_previous_boot{network="young"} 0
# HELP bolt_local_network_outside_ranges Allocations that the network's ranges do not give out.
# TYPE bolt_local_network_outside_ranges gauge
bolt_local_network_outside_ranges{network="podnet"} 1
bolt_local_network_outside_ranges{network="storage"} 0
bolt_local_network_outside_ranges{network="young"} 0
# HELP bolt_local_network_namespace_gone Allocations whose network namespace is gone.
# TYPE bolt_local_network_namespace_gone gauge
bolt_local_network_namespace_gone{network="podnet"} 1
bolt_local_network_namespace_gone{network="storage"} 0
bolt_local_network_namespace_gone{network="young"} 0
# HELP bolt_local_network_lost Whether ADD is refused in the network because allocations may be missing.
# TYPE bolt_local_network_lost gauge
bolt_local_network_lost{network="podnet"} 0
bolt_local_network_lost{network="storage"} 0
bolt_local_network_lost{network="young"} 1
# HELP bolt_local_network_phase Where the move from host-local stands: 1 for the phase that holds.
# TYPE bolt_local_network_phase gauge
bolt_local_network_phase{network="podnet",phase="legacy"} 0
bolt_local_network_phase{network="podnet",phase="expand"} 0
bolt_local_network_phase{network="podnet",phase="switch"} 1
bolt_local_network_phase{network="podnet",phase="contract"} 0
bolt_local_network_phase{network="storage",phase="legacy"} 0
bolt_local_network_phase{network="storage",phase="expand"} 0
bolt_local_network_phase{network="storage",phase="switch"} 0
bolt_local_network_phase{network="storage",phase="contract"} 1
# HELP bolt_local_network_unproven Allocations of this boot that were imported and that no ADD has made since.
# TYPE bolt_local_network_unproven gauge
bolt_local_network_unproven{network="podnet"} 1
bolt_local_network_unproven{network="storage"} 0
bolt_local_network_unproven{network="young"} 0
# HELP bolt_local_network_host_local Allocations of this boot that host-local made.
# TYPE bolt_local_network_host_local gauge
bolt_local_network_host_local{network="podnet"} 1
bolt_local_network_host_local{network="storage"} 0
bolt_local_network_host_local{network="young"} 0
# HELP bolt_local_network_set_aside Addresses that are given to nobody because of a file that names no holder.
# TYPE bolt_local_network_set_aside gauge
bolt_local_network_set_aside{network="podnet"} 0
bolt_local_network_set_aside{network="storage"} 0
bolt_local_network_set_aside{network="young"} 0
# HELP bolt_local_attention Things that need attention, by kind.
# TYPE bolt_local_attention gauge
bolt_local_attention{kind="problem"} 0
bolt_local_attention{kind="lost"} 1
bolt_local_attention{kind="exhausted"} 1
bolt_local_attention{kind="two-holders"} 1
bolt_local_attention{kind="forms-differ"} 0
bolt_local_attention{kind="healed"} 1
bolt_local_attention{kind="deferred-del"} 1
bolt_local_attention{kind="tombstone-missing"} 0
bolt_local_attention{kind="nearly-full"} 0
bolt_local_attention{kind="overlap"} 1
bolt_local_attention{kind="set-aside"} 0
bolt_local_attention{kind="namespace-gone"} 1
bolt_local_attention{kind="outside-ranges"} 1
bolt_local_attention{kind="migration-waits"} 1
bolt_local_attention{kind="directory-changed"} 0
`[1:])
}

func TestMetricLabelsAreEscaped(t *testing.T) {
	m := &metrics{}
	m.family("x", "Help.")
	m.sample("1", "path", "a\\b\"c\nd\xff")
	wantText(t, m.out.String(), "# HELP x Help.\n# TYPE x gauge\nx{path=\"a\\\\b\\\"c\\nd\uFFFD\"} 1\n")
}
