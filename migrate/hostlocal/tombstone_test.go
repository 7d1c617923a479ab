package hostlocal

import (
	"strings"
	"testing"

	"github.com/bolt-local/bolt-local/migrate/form"
)

func TestATombstoneReadsBack(t *testing.T) {
	for name, n := range map[string]form.Tombstone{
		"an ordinary one":              tombstone(bootA),
		"one without a boot id":        tombstone(""),
		"one with blanks in its path":  {Network: "podnet", DataDir: "/var/lib/my data ", BootID: bootA},
		"one named like its own lines": {Network: "boot", DataDir: "/network: x", BootID: "data directory: /y"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, ok := parseTombstone(encodeTombstone(n)); !ok || got != n {
				t.Errorf("%+v, %v, want %+v", got, ok, n)
			}
		})
	}
}

func TestATombstoneTellsAPersonWhatToDo(t *testing.T) {
	text := string(encodeTombstone(tombstone(bootA)))
	for _, want := range []string{
		"network podnet", "/var/lib/cni/bolt-local", "host-local",
		"bolt-local migrate rollback --network podnet --data-dir /var/lib/cni/bolt-local",
		"In the same edit see that ipam.dataDir is\nthe directory in which this file stands",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	for line := range strings.Lines(text) {
		if len(line) > 81 && !strings.Contains(line, "/var/lib") {
			t.Errorf("a line of %d characters: %s", len(line), line)
		}
	}
}

// The bytes are read by later versions, so they are pinned.
func TestTheFieldsOfATombstone(t *testing.T) {
	const want = "\nbolt-local-tombstone 1\nnetwork: podnet\ndata directory: /var/lib/cni/bolt-local\nboot: " + bootA + "\n"
	if text := string(encodeTombstone(tombstone(bootA))); !strings.HasSuffix(text, want) {
		t.Errorf("it does not end with %q:\n%s", want, text)
	}
}

func TestWhatIsNoTombstone(t *testing.T) {
	for name, text := range map[string]string{
		"an empty file":                  "",
		"another's text":                 "keep out\n",
		"the magic words in a sentence":  "\nthis is no bolt-local-tombstone 1\nnetwork: podnet\n",
		"a tombstone of a later kind":    "\nbolt-local-tombstone 2\nnetwork: podnet\n",
		"one torn before its last lines": string(encodeTombstone(tombstone(bootA))[:300]),
	} {
		t.Run(name, func(t *testing.T) {
			if n, ok := parseTombstone([]byte(text)); ok || n != (form.Tombstone{}) {
				t.Errorf("%+v, %v", n, ok)
			}
		})
	}
}

func TestAFieldThatIsNotKnownIsPassedOver(t *testing.T) {
	text := strings.Replace(string(encodeTombstone(tombstone(bootA))), "network: podnet\n", "colour: red\nnetwork: podnet\n", 1)
	if got, ok := parseTombstone([]byte(text)); !ok || got != tombstone(bootA) {
		t.Errorf("%+v, %v", got, ok)
	}
}

// FuzzTombstone: whatever is read as a tombstone is written to one that reads the same.
func FuzzTombstone(f *testing.F) {
	f.Add(encodeTombstone(tombstone(bootA)))
	f.Add(encodeTombstone(form.Tombstone{}))
	f.Add([]byte("\nbolt-local-tombstone 1\nboot: \r\nboot: x\nnetwork: bolt-local-tombstone 1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		n, ok := parseTombstone(b)
		if !ok {
			if n != (form.Tombstone{}) {
				t.Fatalf("no tombstone, but %+v", n)
			}
			return
		}
		if again, ok := parseTombstone(encodeTombstone(n)); !ok || again != n {
			t.Fatalf("%+v is written to %+v, %v", n, again, ok)
		}
	})
}
