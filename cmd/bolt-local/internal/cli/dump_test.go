package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bolt-local/bolt-local/cmd/internal/nodestatus"
	"github.com/bolt-local/bolt-local/cmd/internal/nodestatus/nodestatustest"
	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/record"
)

func TestDumpTableInAPipe(t *testing.T) {
	got := printed(t, 0, func(s screen) error {
		return printDumpTable(s, newDump(nodestatustest.Snapshot(), nodestatustest.Plugin()), false, nodestatustest.Now())
	})
	wantText(t, got, `
NETWORK  IP            CONTAINER     IFNAME  POD                                   AGE  STATE
podnet   10.1.0.2      0a1b2c3d4e5f  eth0    kube-system/coredns-5d78c9869d-x2x4q  26h  active
podnet   10.1.0.3      lost          eth0    -                                     3m   active
podnet   10.1.0.4      old           eth0    -                                     3d   previous-boot
podnet   10.1.0.5      imported      ?       -                                     ?    active
podnet   10.7.0.2      moved         eth0    -                                     1s   active
podnet   fd00:1::2     0a1b2c3d4e5f  eth0    kube-system/coredns-5d78c9869d-x2x4q  26h  active
storage  10.1.0.1      a             net1    -                                     1h   active
storage  10.1.0.2      b             net1    -                                     1h   active
storage  10.1.0.2      c             net1    -                                     2h   active
storage  192.168.7.10  d             net1    -                                     1h   active
`[1:])
}

func TestDumpTableFitsATerminal(t *testing.T) {
	got := printed(t, 80, func(s screen) error {
		return printDumpTable(s, newDump(nodestatustest.Snapshot(), nodestatustest.Plugin()), false, nodestatustest.Now())
	})
	lines := strings.Split(got, "\n")
	wantText(t, strings.Join(lines[:3], "\n"), `
NETWORK  IP            CONTAINER     IFNAME  POD              AGE  STATE
podnet   10.1.0.2      0a1b2c3d4e5f  eth0    kube-sy…d-x2x4q  26h  active
podnet   10.1.0.3      lost          eth0    -                3m   active`[1:])
	for _, line := range lines {
		if n := utf8.RuneCountInString(line); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestDumpWideShortensNothing(t *testing.T) {
	snap := nodestatustest.Snapshot()
	snap.Networks = snap.Networks[:1]
	snap.Networks[0].Allocations = snap.Networks[0].Allocations[:1]
	got := printed(t, 80, func(s screen) error {
		return printDumpTable(s, newDump(snap, nodestatustest.Plugin()), true, nodestatustest.Now())
	})
	wantText(t, got, `
NETWORK  IP        CONTAINER                         IFNAME  POD                                   AGE  STATE   ORIGIN  NETNS      POD-UID  BOOT
podnet   10.1.0.2  0a1b2c3d4e5f60718293a4b5c6d7e8f9  eth0    kube-system/coredns-5d78c9869d-x2x4q  26h  active  add     /ns/alive  8c1f     boot-2
`[1:])
}

func TestDumpMarksANetworkThatIsAGuess(t *testing.T) {
	snap := nodestatustest.Snapshot()
	snap.Networks = snap.Networks[:1]
	snap.Networks[0].Allocations = snap.Networks[0].Allocations[:1]
	snap.Networks[0].Allocations[0].Holders[0].Unknown = []string{record.UnknownNetwork}
	d := newDump(snap, nodestatustest.Plugin())
	got := printed(t, 0, func(s screen) error { return printDumpTable(s, d, false, nodestatustest.Now()) })
	if !strings.Contains(got, "\npodnet?  10.1.0.2") {
		t.Errorf("the table is\n%s", got)
	}
	doc := printed(t, 0, func(s screen) error { return printJSON(s, d) })
	if want := `"network":"podnet","containerID":"0a1b`; !strings.Contains(doc, want) || !strings.Contains(doc, `"unknown":["network"]`) {
		t.Errorf("the document is %s", doc)
	}
}

func TestDumpJSON(t *testing.T) {
	snap := nodestatustest.Snapshot()
	snap.Networks = append(snap.Networks[:1], snap.Networks[2])
	snap.Networks[0].Allocations = snap.Networks[0].Allocations[:4]
	got := printed(t, 0, func(s screen) error { return printJSON(s, newDump(snap, nodestatustest.Plugin())) })
	want := `{"schema":1,"networks":[{"name":"podnet","phase":"switch","allocations":[` +
		`{"ip":"10.1.0.2","network":"podnet","containerID":"0a1b2c3d4e5f60718293a4b5c6d7e8f9","ifname":"eth0","state":"active","origin":"add",` +
		`"allocatedAt":"2026-11-28T10:00:00Z","bootID":"boot-2","netns":"/ns/alive","pod":{"namespace":"kube-system","name":"coredns-5d78c9869d-x2x4q","uid":"8c1f"}},` +
		`{"ip":"10.1.0.3","network":"podnet","containerID":"lost","ifname":"eth0","state":"active","origin":"add",` +
		`"allocatedAt":"2026-11-29T11:57:00Z","bootID":"boot-2","netns":"/ns/lost"},` +
		`{"ip":"10.1.0.4","network":"podnet","containerID":"old","ifname":"eth0","state":"previous-boot","origin":"add",` +
		`"allocatedAt":"2026-11-25T18:00:00Z","bootID":"boot-1"},` +
		`{"ip":"10.1.0.5","network":"podnet","containerID":"imported","ifname":"","state":"active","origin":"host-local","unknown":["ifname"]}` +
		`]},{"name":"young","allocations":[]}]}` + "\n"
	wantText(t, got, want)
}

func TestDumpOfNothingIsAnEmptyList(t *testing.T) {
	got := printed(t, 0, func(s screen) error { return printJSON(s, newDump(nodestatus.Snapshot{}, nodestatustest.Plugin())) })
	wantText(t, got, `{"schema":1,"networks":[]}`+"\n")
}

func TestDumpShowsTheSchemaOfTheFile(t *testing.T) {
	d := newDump(nodestatus.Snapshot{Exists: true, Format: store.Format{Schema: 7}}, nodestatustest.Plugin())
	if d.Schema != 7 {
		t.Errorf("schema = %d, want 7", d.Schema)
	}
}

func TestAllocationOfAPreviousBootWithALivingNamespaceIsActive(t *testing.T) {
	snap := nodestatustest.Snapshot()
	snap.Networks[0].Allocations[0].Epoch = 1
	d := newDump(snap, nodestatustest.Plugin())
	if got := d.Networks[0].Allocations[0]; got.State != stateActive || got.BootID != "boot-1" {
		t.Errorf("state = %s of boot %s, want active of boot-1", got.State, got.BootID)
	}
}

func TestShortIDsTellContainersApart(t *testing.T) {
	for name, c := range map[string]struct{ a, b, want string }{
		"different in front":      {"0123456789abcdef", "fedcba9876543210", "0123456789ab"},
		"alike for 14 characters": {"0123456789abcdef", "0123456789abcdxx", "0123456789abcde"},
		"one begins like another": {"0123456789abcdef", "0123456789ab", "0123456789abc"},
		"the same":                {"0123456789abcdef", "0123456789abcdef", "0123456789ab"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := shortIDs([]string{c.a, c.b})(c.a); got != c.want {
				t.Errorf("%s is shortened to %s, want %s", c.a, got, c.want)
			}
		})
	}
}

func TestTerminalGetsIndentedJSON(t *testing.T) {
	got := printed(t, 80, func(s screen) error { return printJSON(s, newDump(nodestatustest.Snapshot(), nodestatustest.Plugin())) })
	if !strings.HasPrefix(got, "{\n  \"schema\": 1,\n") || !json.Valid([]byte(got)) {
		t.Errorf("got %.80s", got)
	}
}
