package cli

import (
	"bytes"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/bolt-local/bolt-local/cmd/internal/command"
	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/record"
)

// run calls Main and returns what it printed.
func run(args ...string) (status int, stdout, stderr string) {
	var out, errs bytes.Buffer
	status = Main("v0.1.0", args, &out, &errs)
	return status, out.String(), errs.String()
}

// storeWith returns a data directory whose checkpoint holds 10.1.0.2 for
// container a in podnet.
func storeWith(t *testing.T) (dir, checkpoint string) {
	t.Helper()
	dir = t.TempDir()
	st := store.New(dir, store.Options{})
	err := st.Update(store.Op{Verb: "ADD", Creates: true, Runtime: true}, func(tx *store.Tx) error {
		return tx.Network("podnet").Put(record.Allocation{
			Addr:    netip.MustParseAddr("10.1.0.2"),
			Epoch:   tx.Epoch(),
			Holders: []record.Holder{{Attachment: record.Attachment{ContainerID: "a", IfName: "eth0"}, Origin: record.OriginAdd}},
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir, st.Path()
}

// setFormat writes meta/format as another program would.
func setFormat(t *testing.T, checkpoint, format string) {
	t.Helper()
	db, err := bolt.Open(checkpoint, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error { return tx.Bucket([]byte("meta")).Put([]byte("format"), []byte(format)) })
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestCheckpointOfANewerSchemaIsShownAndLeftAlone(t *testing.T) {
	dir, checkpoint := storeWith(t)
	backup := filepath.Join(t.TempDir(), "b.db")
	run("backup", backup, "--data-dir", dir)
	setFormat(t, checkpoint, `{"schema":9,"oldestWriter":9,"writer":"v9.0.0","created":"2030-01-01T00:00:00Z","id":"x"}`)
	before, err := os.ReadFile(checkpoint)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args   []string
		stdout string
	}{
		"dump":    {[]string{"dump", "--output", "json"}, `{"schema":9,"networks":[{"name":"podnet","allocations":[{"ip":"10.1.0.2",`},
		"status":  {[]string{"status"}, "Format      schema 9, written by v9.0.0, created 2030-01-01 00:00:00 UTC"},
		"metrics": {[]string{"status", "--output", "prometheus"}, "bolt_local_checkpoint_ok{path=\"" + checkpoint + "\"} 0\n"},
		"gc":      {[]string{"gc"}, ""},
		"release": {[]string{"release", "--network", "podnet", "--ip", "10.1.0.2"}, ""},
		"repair":  {[]string{"repair", "--accept", "--acknowledge"}, ""},
		"backup":  {[]string{"backup", "-"}, ""},
		"restore": {[]string{"restore", backup}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			status, stdout, stderr := run(append(c.args, "--data-dir", dir)...)
			if status != command.Failed || !strings.Contains(stderr, "install version v9.0.0") {
				t.Errorf("exit status = %d, stderr: %s", status, stderr)
			}
			if !strings.Contains(stdout, c.stdout) || (c.stdout == "" && stdout != "") {
				t.Errorf("stdout: %s", stdout)
			}
			after, err := os.ReadFile(checkpoint)
			if err != nil || !bytes.Equal(before, after) {
				t.Errorf("the checkpoint has changed (%v)", err)
			}
		})
	}
}

func TestOneBadRecordDoesNotHideTheOthers(t *testing.T) {
	dir, checkpoint := storeWith(t)
	err := store.New(dir, store.Options{}).Update(store.Op{Verb: "ADD", Creates: true}, func(tx *store.Tx) error {
		for _, addr := range []string{"10.1.0.1", "10.1.0.3", "10.1.0.4"} {
			a := record.Allocation{Addr: netip.MustParseAddr(addr), Holders: []record.Holder{{Attachment: record.Attachment{ContainerID: "b", IfName: "eth0"}}}}
			if err := tx.Network("podnet").Put(a); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	overwrite(t, checkpoint, "10.1.0.2", "10.1.0.3")
	status, stdout, stderr := run("dump", "--data-dir", dir, "--output", "json")
	if status != command.Failed || !strings.Contains(stderr, "10.1.0.2") || !strings.Contains(stderr, "and 1 other record of this network") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("exit status = %d, stderr: %s", status, stderr)
	}
	if !strings.Contains(stdout, "10.1.0.1") || strings.Contains(stdout, "10.1.0.2") || !strings.Contains(stdout, "10.1.0.4") {
		t.Errorf("stdout: %s", stdout)
	}
}

// overwrite spoils records of podnet.
func overwrite(t *testing.T, checkpoint string, addrs ...string) {
	t.Helper()
	db, err := bolt.Open(checkpoint, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		b := tx.Bucket([]byte("networks")).Bucket([]byte("podnet")).Bucket([]byte("allocations"))
		for _, addr := range addrs {
			key := netip.MustParseAddr(addr).As16()
			if err := b.Put(key[:], []byte("spoilt, and long enough")); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestErrorsArePrintedOnceAndAlone(t *testing.T) {
	dir, checkpoint := storeWith(t)
	if err := errors.Join(os.Truncate(checkpoint, 5000), os.Remove(filepath.Join(dir, store.JournalFile))); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"dump"}, {"status"}, {"gc"}, {"release", "--network", "podnet", "--ip", "10.1.0.2"},
		{"migrate", "status"}, {"migrate", "verify"},
		{"migrate", "advance", "--network", "podnet"}, {"migrate", "rollback", "--network", "podnet"},
		{"backup", "-"}, {"backup", filepath.Join(t.TempDir(), "b.db")},
	} {
		status, _, stderr := run(append(args, "--data-dir", dir)...)
		if status != command.Failed || strings.Count(stderr, "bolt-local: ") != 1 || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "bolt-local repair") {
			t.Errorf("%s: exit status %d, stderr:\n%s", strings.Join(args, " "), status, stderr)
		}
	}
}

func TestHelpFitsATerminal(t *testing.T) {
	for _, words := range []string{
		"", "dump", "status", "migrate", "migrate status", "migrate advance", "migrate rollback", "migrate verify",
		"gc", "release", "backup", "restore", "repair", "version",
	} {
		status, stdout, _ := run(strings.Fields(words + " --help")...)
		if status != command.OK || !strings.Contains(stdout, "bolt-local "+words) {
			t.Errorf("%s: exit status %d:\n%s", words, status, stdout)
		}
		for line := range strings.Lines(stdout) {
			if len(line) > 81 {
				t.Errorf("%s: %d columns: %s", words, len(line)-1, line)
			}
		}
	}
}

func TestReleaseTakesOneOfTwoHoldersOff(t *testing.T) {
	dir, _ := storeWith(t)
	holder := func(id string) record.Holder {
		return record.Holder{Attachment: record.Attachment{ContainerID: id, IfName: "eth0"}, Origin: record.OriginAdd}
	}
	err := store.New(dir, store.Options{}).Update(store.Op{Verb: "ADD"}, func(tx *store.Tx) error {
		return tx.Network("podnet").Put(record.Allocation{Addr: netip.MustParseAddr("10.1.0.2"), Holders: []record.Holder{holder("a"), holder("b")}})
	})
	if err != nil {
		t.Fatal(err)
	}
	status, stdout, stderr := run("release", "--data-dir", dir, "--network", "podnet", "--container-id", "a")
	if want := "network podnet: freed 10.1.0.2 of container a, ifname eth0: released by hand\n"; status != command.OK || stdout != want {
		t.Errorf("exit status = %d, stdout: %sstderr: %s", status, stdout, stderr)
	}
	_, stdout, _ = run("dump", "--data-dir", dir, "--output", "json")
	if strings.Contains(stdout, `"containerID":"a"`) || !strings.Contains(stdout, `"containerID":"b"`) {
		t.Errorf("left: %s", stdout)
	}
}
