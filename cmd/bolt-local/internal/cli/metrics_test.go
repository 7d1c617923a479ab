package cli

import (
	"strings"
	"testing"

	"github.com/bolt-local/bolt-local/cmd/internal/nodestatus"
)

func TestMetrics(t *testing.T) {
	got := printed(t, 0, func(s screen) error { return printMetrics(s, testStatus().Metrics()) })
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
	families := []nodestatus.Family{{Name: "x", Help: "Help.", Samples: []nodestatus.Sample{
		{Labels: []nodestatus.Label{{Name: "path", Value: "a\\b\"c\nd"}, {Name: "from", Value: "e"}}, Value: "1"},
	}}}
	got := printed(t, 0, func(s screen) error { return printMetrics(s, families) })
	wantText(t, got, "# HELP x Help.\n# TYPE x gauge\nx{path=\"a\\\\b\\\"c\\nd\",from=\"e\"} 1\n")
}

func TestMetricsOfNothingAreNamedAllTheSame(t *testing.T) {
	got := printed(t, 0, func(s screen) error { return printMetrics(s, []nodestatus.Family{{Name: "x", Help: "Help."}}) })
	wantText(t, got, "# HELP x Help.\n# TYPE x gauge\n")
}

func TestWhetherANodeCouldBeReadHasNoLabels(t *testing.T) {
	got := printed(t, 0, func(s screen) error { return printMetrics(s, []nodestatus.Family{nodestatus.Up(false)}) })
	if !strings.HasSuffix(got, "# TYPE bolt_local_up gauge\nbolt_local_up 0\n") {
		t.Errorf("printed:\n%s", got)
	}
}
