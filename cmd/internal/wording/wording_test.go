package wording

import (
	"math/big"
	"net/netip"
	"testing"
)

func TestNumber(t *testing.T) {
	for text, want := range map[string]string{
		"0": "0", "-1": "-1", "999999999": "999999999", "1000000000": "1.0e9", "18446744073709551614": "1.8e19",
		"340282366920938463463374607431768211454": "3.4e38",
	} {
		n, _ := new(big.Int).SetString(text, 10)
		if got := Number(n); got != want {
			t.Errorf("%s = %s, want %s", text, got, want)
		}
	}
}

func TestListNamesTheFirst(t *testing.T) {
	var addrs []netip.Addr
	for _, want := range []string{
		"", "10.0.0.1", "10.0.0.1, 10.0.0.2", "10.0.0.1, 10.0.0.2, 10.0.0.3", "10.0.0.1, 10.0.0.2, 10.0.0.3, 10.0.0.4",
		"10.0.0.1, 10.0.0.2, 10.0.0.3, 10.0.0.4, 10.0.0.5", "10.0.0.1, 10.0.0.2, 10.0.0.3, 10.0.0.4 and 2 more",
	} {
		if got := List(addrs); got != want {
			t.Errorf("%d addresses: %s, want %s", len(addrs), got, want)
		}
		addrs = append(addrs, netip.AddrFrom4([4]byte{10, 0, 0, byte(len(addrs) + 1)}))
	}
}

func TestPrintableKeepsTheTerminalSafe(t *testing.T) {
	if got, want := Printable("a\x1b[2Jb\r\n\u202eé"), "a?[2Jb???é"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
