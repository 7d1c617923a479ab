package cli

import (
	"math/big"
	"net/netip"
	"testing"
	"time"
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
		if got := age(now.Add(-ago), now); got != want {
			t.Errorf("%s ago = %s, want %s", ago, got, want)
		}
	}
	if got := age(time.Time{}, now); got != "?" {
		t.Errorf("unknown = %s, want ?", got)
	}
}

func TestNumber(t *testing.T) {
	for text, want := range map[string]string{
		"0": "0", "-1": "-1", "999999999": "999999999", "1000000000": "1.0e9", "18446744073709551614": "1.8e19",
		"340282366920938463463374607431768211454": "3.4e38",
	} {
		n, _ := new(big.Int).SetString(text, 10)
		if got := number(n); got != want {
			t.Errorf("%s = %s, want %s", text, got, want)
		}
	}
}

func TestByteSize(t *testing.T) {
	for n, want := range map[int64]string{0: "0 bytes", 1023: "1023 bytes", 1024: "1 KiB", 128 << 10: "128 KiB", 5 << 19: "2.5 MiB"} {
		if got := byteSize(n); got != want {
			t.Errorf("%d = %s, want %s", n, got, want)
		}
	}
}

func TestListNamesTheFirst(t *testing.T) {
	var addrs []netip.Addr
	for _, want := range []string{
		"", "10.0.0.1", "10.0.0.1, 10.0.0.2", "10.0.0.1, 10.0.0.2, 10.0.0.3", "10.0.0.1, 10.0.0.2, 10.0.0.3, 10.0.0.4",
		"10.0.0.1, 10.0.0.2, 10.0.0.3, 10.0.0.4, 10.0.0.5", "10.0.0.1, 10.0.0.2, 10.0.0.3, 10.0.0.4 and 2 more",
	} {
		if got := list(addrs); got != want {
			t.Errorf("%d addresses: %s, want %s", len(addrs), got, want)
		}
		addrs = append(addrs, netip.AddrFrom4([4]byte{10, 0, 0, byte(len(addrs) + 1)}))
	}
}

func TestPrintableKeepsTheTerminalSafe(t *testing.T) {
	if got, want := printable("a\x1b[2Jb\r\n\u202eé"), "a?[2Jb???é"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestShellWord(t *testing.T) {
	for text, want := range map[string]string{"podnet": "podnet", "/a/b-c_d.e": "/a/b-c_d.e", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$x": "'$x'"} {
		if got := shellWord(text); got != want {
			t.Errorf("%q = %s, want %s", text, got, want)
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
