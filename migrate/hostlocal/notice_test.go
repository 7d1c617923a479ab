package hostlocal

import (
	"strings"
	"testing"

	"github.com/bolt-local/bolt-local/migrate/form"
)

func TestANoticeReadsBack(t *testing.T) {
	for name, n := range map[string]form.Notice{
		"an ordinary one":              notice(bootA),
		"one without a boot id":        notice(""),
		"one with blanks in its path":  {Network: "podnet", DataDir: "/var/lib/my data ", BootID: bootA},
		"one named like its own lines": {Network: "boot", DataDir: "/network: x", BootID: "data directory: /y"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, ok := parseNotice(encodeNotice(n)); !ok || got != n {
				t.Errorf("%+v, %v, want %+v", got, ok, n)
			}
		})
	}
}

func TestANoticeTellsAPersonWhatToDo(t *testing.T) {
	text := string(encodeNotice(notice(bootA)))
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
func TestTheFieldsOfANotice(t *testing.T) {
	const want = "\nbolt-local-tombstone 1\nnetwork: podnet\ndata directory: /var/lib/cni/bolt-local\nboot: " + bootA + "\n"
	if text := string(encodeNotice(notice(bootA))); !strings.HasSuffix(text, want) {
		t.Errorf("it does not end with %q:\n%s", want, text)
	}
}

func TestWhatIsNoNotice(t *testing.T) {
	for name, text := range map[string]string{
		"an empty file":                  "",
		"another's text":                 "keep out\n",
		"the magic words in a sentence":  "\nthis is no bolt-local-tombstone 1\nnetwork: podnet\n",
		"a notice of a later kind":       "\nbolt-local-tombstone 2\nnetwork: podnet\n",
		"one torn before its last lines": string(encodeNotice(notice(bootA))[:300]),
	} {
		t.Run(name, func(t *testing.T) {
			if n, ok := parseNotice([]byte(text)); ok || n != (form.Notice{}) {
				t.Errorf("%+v, %v", n, ok)
			}
		})
	}
}

func TestAFieldThatIsNotKnownIsPassedOver(t *testing.T) {
	text := strings.Replace(string(encodeNotice(notice(bootA))), "network: podnet\n", "colour: red\nnetwork: podnet\n", 1)
	if got, ok := parseNotice([]byte(text)); !ok || got != notice(bootA) {
		t.Errorf("%+v, %v", got, ok)
	}
}

// FuzzNotice: whatever is read as a notice is written to one that reads the same.
func FuzzNotice(f *testing.F) {
	f.Add(encodeNotice(notice(bootA)))
	f.Add(encodeNotice(form.Notice{}))
	f.Add([]byte("\nbolt-local-tombstone 1\nboot: \r\nboot: x\nnetwork: bolt-local-tombstone 1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		n, ok := parseNotice(b)
		if !ok {
			if n != (form.Notice{}) {
				t.Fatalf("no notice, but %+v", n)
			}
			return
		}
		if again, ok := parseNotice(encodeNotice(n)); !ok || again != n {
			t.Fatalf("%+v is written to %+v, %v", n, again, ok)
		}
	})
}
