package cli

import (
	"testing"
	"time"

	"github.com/bolt-local/bolt-local/cmd/internal/nodestatus/nodestatustest"
)

func TestShorten(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		how   cut
		want  string
	}{
		{"podnet", 6, cutEnd, "podnet"},
		{"podnet", 5, cutEnd, "podn…"},
		{"podnet", 1, cutEnd, "…"},
		{"3f1c2ab45678", 6, cutSilently, "3f1c2a"},
		{"default/web-0", 9, cutMiddle, "defa…eb-0"},
		{"default/web-0", 8, cutMiddle, "def…eb-0"},
		{"default/web-0", 2, cutMiddle, "d…"},
		{"öäüß", 3, cutEnd, "öä…"},
	} {
		if got := shorten(c.text, c.width, c.how); got != c.want {
			t.Errorf("%s in %d columns = %s, want %s", c.text, c.width, got, c.want)
		}
	}
}

func TestAge(t *testing.T) {
	for ago, want := range map[time.Duration]string{
		-time.Hour: "0s", 0: "0s", 59 * time.Second: "59s", time.Minute: "1m", 59*time.Minute + 59*time.Second: "59m",
		time.Hour: "1h", 47 * time.Hour: "47h", 48 * time.Hour: "2d", 400 * 24 * time.Hour: "400d",
	} {
		if got := age(nodestatustest.Now().Add(-ago), nodestatustest.Now()); got != want {
			t.Errorf("%s ago = %s, want %s", ago, got, want)
		}
	}
	if got := age(time.Time{}, nodestatustest.Now()); got != "?" {
		t.Errorf("unknown = %s, want ?", got)
	}
}

func TestByteSize(t *testing.T) {
	for n, want := range map[int64]string{0: "0 bytes", 1023: "1023 bytes", 1024: "1 KiB", 128 << 10: "128 KiB", 5 << 19: "2.5 MiB"} {
		if got := byteSize(n); got != want {
			t.Errorf("%d = %s, want %s", n, got, want)
		}
	}
}

func TestTextIsWrappedOnATerminalAlone(t *testing.T) {
	wrapped := func(width int) string {
		return printed(t, width, func(s screen) error { return writeWrapped(s, "  ", "one two three four averyveryverylongword five") })
	}
	wantText(t, wrapped(0), "  one two three four averyveryverylongword five\n")
	wantText(t, wrapped(17), "  one two three\n    four\n    averyveryverylongword\n    five\n")
}
