package cli

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bolt-local/bolt-local/cmd/internal/nodestatus/nodestatustest"
	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/record"
)

var errDamaged = fmt.Errorf("%w: it is empty", store.ErrDamaged)

// rebuilt is what a repair has found, of which nothing had everything.
func rebuilt() store.Report {
	pod := nodestatustest.By("0a1b2c3d4e5f60718293a4b5c6d7e8f9", "eth0", 0)
	pod.Pod = record.Pod{Namespace: "kube-system", Name: "coredns-5d78c9869d-x2x4q", UID: "8c1f"}
	return store.Report{
		Problem: errDamaged,
		Kept:    "checkpoint.db.damaged-20261129T120000Z",
		Allocations: []store.Vouched{
			{Network: "podnet", Allocation: nodestatustest.Held("10.1.0.2", 0, pod), Sources: []string{"the journal", "libcni's cache"}},
			{Network: "podnet", Allocation: nodestatustest.Held("10.1.0.3", 0, nodestatustest.By("a", "eth0", 0), nodestatustest.By("b", "", 0)), Sources: []string{"the backup", "the damaged file"}, Contested: "its sources name different holders"},
		},
		Lost:   []string{"podnet"},
		Others: true,
		Notes:  []string{"the journal does not tell everything:\nit is cut off"},
	}
}

func reportOf(done store.Report, f repairFlags) report {
	a := &app{dataDir: ipam.DefaultDataDir}
	return a.newReport(done, f)
}

func TestRepairTellsWhoVouchedForWhat(t *testing.T) {
	got := printed(t, 80, func(s screen) error { return printRepair(s, reportOf(rebuilt(), repairFlags{})) })
	wantText(t, got, `
Checkpoint  /var/lib/cni/bolt-local/checkpoint.db
Problem     the checkpoint is damaged: it is empty
Complete    nothing that is left had everything
Kept as     /var/lib/cni/bolt-local/checkpoint.db.damaged-20261129T120000Z

NETWORK  IP        CONTAINER   IFNAME  POD          VOUCHED-FOR-BY
podnet   10.1.0.2  0a1b2c3d4e  eth0    kube-…x2x4q  the journal, libcni's cache
podnet   10.1.0.3  a           eth0    -            the backup, the damaged file
podnet   10.1.0.3  b           ?       -            the backup, the damaged file

Set aside
  10.1.0.3 of network podnet: its sources name different holders. Nobody is
    given it until the last of them is gone: delete all of their pods but one.

Notes
  the journal does not tell everything:; it is cut off

ADD is refused
  network podnet
  every network that is not stored
  Addresses of living pods may be missing. Drain or reboot the node; or, if none
    is missing, go on:
  $ bolt-local repair --accept
`[1:])
	for _, line := range strings.Split(got, "\n") {
		if n := utf8.RuneCountInString(line); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestRepairTellsEverythingInAPipe(t *testing.T) {
	got := printed(t, 0, func(s screen) error { return printRepair(s, reportOf(rebuilt(), repairFlags{})) })
	want := "podnet   10.1.0.2  0a1b2c3d4e5f  eth0    kube-system/coredns-5d78c9869d-x2x4q  the journal, libcni's cache\n"
	if !strings.Contains(got, want) {
		t.Errorf("%q is not in:\n%s", want, got)
	}
}

func TestRepairJSON(t *testing.T) {
	got := printed(t, 0, func(s screen) error { return printJSON(s, reportOf(rebuilt(), repairFlags{})) })
	wantText(t, got, `{"checkpoint":"/var/lib/cni/bolt-local/checkpoint.db","dryRun":false,"problem":"the checkpoint is damaged: it is empty",`+
		`"kept":"/var/lib/cni/bolt-local/checkpoint.db.damaged-20261129T120000Z","allocations":[`+
		`{"ip":"10.1.0.2","network":"podnet","containerID":"0a1b2c3d4e5f60718293a4b5c6d7e8f9","ifname":"eth0",`+
		`"pod":{"namespace":"kube-system","name":"coredns-5d78c9869d-x2x4q","uid":"8c1f"},"sources":["the journal","libcni's cache"]},`+
		`{"ip":"10.1.0.3","network":"podnet","containerID":"a","ifname":"eth0","sources":["the backup","the damaged file"],"contested":"its sources name different holders"},`+
		`{"ip":"10.1.0.3","network":"podnet","containerID":"b","ifname":"","sources":["the backup","the damaged file"],"contested":"its sources name different holders"}],`+
		`"lost":["podnet"],"otherNetworksLost":true,"accepted":false,"notes":["the journal does not tell everything:\nit is cut off"],"acknowledged":[]}`+"\n")
	got = printed(t, 0, func(s screen) error { return printJSON(s, reportOf(store.Report{}, repairFlags{})) })
	wantText(t, got, `{"checkpoint":"/var/lib/cni/bolt-local/checkpoint.db","dryRun":false,"allocations":[],`+
		`"lost":[],"otherNetworksLost":false,"accepted":false,"notes":[],"acknowledged":[]}`+"\n")
}

func TestWhatARepairSays(t *testing.T) {
	const refused, accepted = "ADD is refused\n", "What is found counts as all there is: ADD is not refused any more."
	lost := store.Report{Problem: fmt.Errorf("%w: a page is gone", store.ErrLost), Lost: []string{"podnet"}}
	whole := rebuilt()
	whole.Complete, whole.Lost, whole.Others, whole.Notes = "the journal", nil, false, nil
	declared := rebuilt()
	declared.Lost, declared.Others = nil, false
	for story, c := range map[string]struct {
		done      store.Report
		f         repairFlags
		says, not []string
	}{
		"nothing is wrong": {
			store.Report{}, repairFlags{},
			[]string{"Nothing to repair in /var/lib/cni/bolt-local/checkpoint.db.\n"}, []string{"Checkpoint ", refused},
		},
		"nothing is wrong, and --accept": {
			store.Report{}, repairFlags{Repair: store.Repair{Accept: true}},
			[]string{"Nothing to repair"}, []string{accepted},
		},
		"the journal had everything": {
			whole, repairFlags{},
			[]string{"Complete    the journal\n", "Kept as     /var/lib"}, []string{refused, "Notes", "Dry run"},
		},
		"the journal had everything, and --accept": {
			whole, repairFlags{Repair: store.Repair{Accept: true}},
			[]string{"Complete    the journal\n"}, []string{refused, accepted},
		},
		"a dry run": {
			rebuilt(), repairFlags{Repair: store.Repair{DryRun: true}},
			[]string{"Dry run     nothing was changed\n", refused}, nil,
		},
		"what was found is accepted": {
			declared, repairFlags{Repair: store.Repair{Accept: true}},
			[]string{accepted, "the journal, libcni's cache"}, []string{refused, "--accept"},
		},
		"it would be accepted": {
			declared, repairFlags{Repair: store.Repair{Accept: true, DryRun: true}},
			[]string{"What is found would count as all there is: ADD would not be refused."}, []string{accepted, refused},
		},
		"a former repair has left losses": {
			lost, repairFlags{},
			[]string{"nothing was rebuilt", refused, "  network podnet\n", "  $ bolt-local repair --accept\n"}, []string{"NETWORK ", "Complete", "every network"},
		},
		"losses of a former repair are accepted": {
			store.Report{Problem: lost.Problem}, repairFlags{Repair: store.Repair{Accept: true}},
			[]string{"nothing was rebuilt", accepted}, []string{refused},
		},
		"nothing was left": {
			store.Report{Problem: errDamaged, Others: true}, repairFlags{},
			[]string{"No allocation was found.\n", "  every network that is not stored\n"}, []string{"nothing was rebuilt"},
		},
	} {
		t.Run(story, func(t *testing.T) {
			got := printed(t, 0, func(s screen) error { return printRepair(s, reportOf(c.done, c.f)) })
			for _, text := range c.says {
				if !strings.Contains(got, text) {
					t.Errorf("%q is not in:\n%s", text, got)
				}
			}
			for _, text := range c.not {
				if strings.Contains(got, text) {
					t.Errorf("%q is in:\n%s", text, got)
				}
			}
		})
	}
}

func TestWhatARestoreSays(t *testing.T) {
	back := store.Report{
		Kept:        "checkpoint.db.damaged-1",
		Allocations: rebuilt().Allocations[:1],
		Notes:       []string{"network podnet: 10.1.0.4: freed since the backup, and stays so"},
	}
	for story, c := range map[string]struct {
		done    store.Report
		existed bool
		says    string
		not     string
	}{
		"over a checkpoint":      {back, true, "podnet   10.1.0.2  ", "Problem"},
		"what stays freed":       {back, true, "\nNot as in the backup\n  network podnet: 10.1.0.4: freed since the backup", "Notes"},
		"nothing had to change":  {store.Report{Kept: "checkpoint.db.damaged-1"}, true, "No address was given back: what is held now stays held", "There was no checkpoint"},
		"where there was none":   {store.Report{Lost: []string{"podnet"}}, false, "There was no checkpoint: the backup takes its place.\n\nADD is refused\n  network podnet\n", "NETWORK"},
		"over a damaged one":     {rebuilt(), true, "Problem     the checkpoint is damaged", "Not as in"},
		"an error of many lines": {store.Report{Problem: errors.Join(errDamaged, errDamaged)}, true, "it is empty; the checkpoint is damaged", "empty\nthe"},
	} {
		t.Run(story, func(t *testing.T) {
			r := reportOf(c.done, repairFlags{})
			r.existed = c.existed
			got := printed(t, 0, func(s screen) error { return printRestore(s, r) })
			if !strings.Contains(got, c.says) || strings.Contains(got, c.not) {
				t.Errorf("want %q and not %q in:\n%s", c.says, c.not, got)
			}
		})
	}
}

// The damaged file has its new name although the repair has failed.
func TestWhatWasKeptIsToldAlsoOfARepairThatFails(t *testing.T) {
	failed := errors.New("the disk is full")
	for _, kept := range []string{"", "checkpoint.db.damaged-1"} {
		var out strings.Builder
		a := &app{out: newScreen(&out), dataDir: "/d"}
		done := store.Report{Problem: store.ErrDamaged, Kept: kept}
		err := a.failedAfter(done, failed, repairFlags{Repair: store.Repair{Accept: true}, output: outputText}, printRepair)
		if !errors.Is(err, failed) {
			t.Errorf("error %v", err)
		}
		if got := out.String(); strings.Contains(got, "Kept as     /d/checkpoint.db.damaged-1") != (kept != "") || strings.Contains(got, "not refused any more") {
			t.Errorf("kept %q, told:\n%s", kept, got)
		}
	}
}
