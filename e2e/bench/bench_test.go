package main

import (
	"bytes"
	"io"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/record"
)

func TestQuantile(t *testing.T) {
	for _, tc := range []struct {
		name   string
		values []float64
		q      float64
		want   float64
	}{
		{"the median of one value is that value", []float64{3}, 0.5, 3},
		{"the median of an odd number of values is the middle one", []float64{9, 1, 2}, 0.5, 2},
		{"the median of an even number lies between the middle two", []float64{4, 1, 2, 100}, 0.5, 3},
		{"the highest quantile is the greatest value", []float64{5, 7, 6}, 1, 7},
		{"a quartile is interpolated", []float64{1, 2, 3, 4}, 0.25, 1.75},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := slices.Clone(tc.values)
			if got := quantile(tc.values, tc.q); got != tc.want {
				t.Errorf("quantile(%v, %v) = %v, want %v", tc.values, tc.q, got, tc.want)
			}
			if !slices.Equal(tc.values, before) {
				t.Errorf("the values are reordered: %v, were %v", tc.values, before)
			}
		})
	}
	if got := median(nil); !math.IsNaN(got) {
		t.Errorf("the median of nothing is %v, want NaN", got)
	}
}

func TestRowResult(t *testing.T) {
	for _, tc := range []struct {
		name       string
		ours, base float64
		goal       float64
		want       string
	}{
		{"below the goal", 4, 5, 0.81, "met"},
		{"at the goal", 4, 5, 0.80, "met"},
		{"at the goal in all digits that are printed", 0.8004, 1, 0.80, "met"},
		{"above the goal", 4.2, 5, 0.80, "no +0.040"},
		{"without a goal", 4, 5, 0, ""},
		{"a time below the goal", 499.99, 0, 500, "met"},
		{"a time above the goal", 512.3, 0, 500, "no +12.3"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := row{"ADD", []float64{tc.ours}, []float64{tc.base}, tc.goal}
			if tc.base == 0 {
				r.base = nil
			}
			if got := r.result(); got != tc.want {
				t.Errorf("result of %v / %v with goal %v = %q, want %q", tc.ours, tc.base, tc.goal, got, tc.want)
			}
		})
	}
}

func TestTheTableFitsIn80Columns(t *testing.T) {
	var out bytes.Buffer
	printHeader(&out)
	printRow(&out, row{"ADD, 10,000 held", []float64{1234.56}, []float64{1234.56}, 0.05})
	printRow(&out, row{"ADD switch 1,000", []float64{1234.56}, nil, 500})
	out.WriteString(legend)
	for line := range strings.Lines(out.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestInterleaveTakesTurnsAndDropsTheFirstRound(t *testing.T) {
	var order []string
	note := func(name string) step {
		return func(round int) (float64, error) {
			order = append(order, name)
			return float64(round), nil
		}
	}
	series, err := interleave(2, note("a"), note("b"))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"a", "b", "a", "b", "a", "b"}; !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
	for i, s := range series {
		if want := []float64{1, 2}; !slices.Equal(s, want) {
			t.Errorf("series %d is %v, want %v", i, s, want)
		}
	}
}

func TestAddressesBeginAfterTheGateway(t *testing.T) {
	got := addresses(netip.MustParsePrefix("10.64.0.0/16"), 300)
	if want := netip.MustParseAddr("10.64.0.2"); got[0] != want {
		t.Errorf("first address %s, want %s", got[0], want)
	}
	if want := netip.MustParseAddr("10.64.1.45"); got[299] != want {
		t.Errorf("300th address %s, want %s", got[299], want)
	}
}

func TestHeldAddressesAreRecordsOfBoltLocal(t *testing.T) {
	p := plugin{name: boltLocal, dataDir: t.TempDir(), subnet: netip.MustParsePrefix("10.64.0.0/16")}
	if err := p.holdBoltLocal(2); err != nil {
		t.Fatal(err)
	}
	if err := p.expectSettled(engine.Contract, 2); err != nil {
		t.Error(err)
	}
	if err := p.expectSettled(engine.Contract, 3); err == nil {
		t.Error("two held pass for three")
	}
	var got []string
	err := store.New(p.dataDir, store.Options{}).Read(func(tx *store.Tx) error {
		return tx.Network(networkName).Each(func(a record.Allocation) error {
			got = append(got, a.Addr.String()+" "+a.Holders[0].ContainerID+" "+a.Holders[0].IfName)
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"10.64.0.2 " + containerID("held", 0) + " eth0",
		"10.64.0.3 " + containerID("held", 1) + " eth0",
	}
	if !slices.Equal(got, want) {
		t.Errorf("held are %q, want %q", got, want)
	}
}

func TestInSwitchHeldAddressesAreFilesAsWell(t *testing.T) {
	p := plugin{name: boltLocal, dataDir: t.TempDir(), subnet: netip.MustParsePrefix("10.64.0.0/16"), phase: engine.Switch}
	if err := p.holdBoltLocal(2); err != nil {
		t.Fatal(err)
	}
	if err := p.expectSettled(engine.Switch, 2); err != nil {
		t.Error(err)
	}
	wantFiles(t, p)
	theirs := filepath.Join(p.dataDir, networkName, "10.64.0.9")
	if err := os.WriteFile(theirs, []byte("x\r\neth0"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := p.expectSettled(engine.Switch, 3); err == nil {
		t.Error("a file that has to be imported passes for nothing to do")
	}
}

func TestHeldAddressesAreFilesOfHostLocal(t *testing.T) {
	p := plugin{name: hostLocal, dataDir: t.TempDir(), subnet: netip.MustParsePrefix("10.64.0.0/16")}
	if err := p.holdHostLocal(2); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, p)
}

// wantFiles asks for host-local's files of two addresses held.
func wantFiles(t *testing.T, p plugin) {
	t.Helper()
	for name, want := range map[string]string{
		"10.64.0.2":          containerID("held", 0) + "\r\neth0",
		"10.64.0.3":          containerID("held", 1) + "\r\neth0",
		"last_reserved_ip.0": "10.64.0.3",
		"lock":               "",
	} {
		got, err := os.ReadFile(filepath.Join(p.dataDir, networkName, name))
		if err != nil {
			t.Error(err)
		} else if string(got) != want {
			t.Errorf("%s holds %q, want %q", name, got, want)
		}
	}
}

func TestParse(t *testing.T) {
	for _, tc := range []struct {
		name string
		args []string
		want string // groups, or part of the error after "error: "
	}{
		{"all groups without -only", nil, "version 0 100 250 1000 10000 100000 switch import at-once memory floor"},
		{"those of -only in its order", []string{"-only", "floor,0"}, "floor 0"},
		{"an unknown group is named", []string{"-only", "0,9"}, "error: -only 9"},
		{"no rounds are refused", []string{"-rounds", "0"}, "error: -rounds 0"},
		{"an argument is refused", []string{"all"}, `error: unexpected argument "all"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o, err := parse(tc.args, io.Discard)
			if wantErr, ok := strings.CutPrefix(tc.want, "error: "); ok {
				if err == nil || !strings.Contains(err.Error(), wantErr) {
					t.Errorf("error %v, want one with %q", err, wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, g := range o.groups {
				names = append(names, g.name)
			}
			if got := strings.Join(names, " "); got != tc.want {
				t.Errorf("groups %q, want %q", got, tc.want)
			}
		})
	}
}
