package record

import (
	"bytes"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var addr = netip.MustParseAddr("10.1.0.2")

func full() Allocation {
	return Allocation{
		Addr:  addr,
		Epoch: 7,
		Holders: []Holder{{
			Attachment:  Attachment{ContainerID: "3f1c", IfName: "eth0"},
			Origin:      OriginAdd,
			AllocatedAt: time.Date(2026, 11, 29, 12, 0, 0, 5, time.UTC),
			BootTime:    90 * time.Second,
			NetNS:       NetNS{Path: "/var/run/netns/x", Inode: 4026532000, MountNS: 4026531841},
			Pod:         Pod{Namespace: "default", Name: "web-0", UID: "u-1", InfraContainerID: "3f1c"},
		}, {
			Attachment: Attachment{ContainerID: "77aa"},
			Origin:     OriginHostLocal,
			Unknown:    []string{"ifname"},
			Mark:       "131074 1796212800.5",
		}},
	}
}

var byValue = cmp.Options{
	cmpopts.IgnoreUnexported(Allocation{}, Holder{}),
	cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
}

func TestAllocationSurvivesTheDisk(t *testing.T) {
	for name, want := range map[string]Allocation{
		"with everything": full(),
		"with the least":  {Addr: netip.MustParseAddr("fd00::1"), Holders: []Holder{{Attachment: Attachment{ContainerID: "a", IfName: "b"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := Encode("podnet", want)
			if err != nil {
				t.Fatal(err)
			}
			got, err := Decode("podnet", want.Addr, b)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, byValue); diff != "" {
				t.Errorf("read back (-want +got):\n%s", diff)
			}
			if EpochOf(b) != want.Epoch {
				t.Errorf("EpochOf = %d, want %d", EpochOf(b), want.Epoch)
			}
		})
	}
}

// The names are on disk: a change here is a change of the schema.
func TestJSONNamesArePinned(t *testing.T) {
	b, err := Encode("podnet", full())
	if err != nil {
		t.Fatal(err)
	}
	want := `{"holders":[` +
		`{"containerID":"3f1c","ifname":"eth0","origin":"add","allocatedAt":"2026-11-29T12:00:00.000000005Z","bootTimeNs":90000000000,` +
		`"netns":{"path":"/var/run/netns/x","inode":4026532000,"mountNS":4026531841},` +
		`"pod":{"namespace":"default","name":"web-0","uid":"u-1","infraContainerID":"3f1c"}},` +
		`{"containerID":"77aa","ifname":"","origin":"host-local","unknown":["ifname"],"mark":"131074 1796212800.5"}]}`
	if got := string(b[headerLen:]); got != want {
		t.Errorf("JSON on disk:\n got %s\nwant %s", got, want)
	}
	if got := b[:epochLen]; !bytes.Equal(got, []byte{0, 0, 0, 0, 0, 0, 0, 7}) {
		t.Errorf("epoch on disk: %x", got)
	}
}

func TestUnknownFieldsAreKept(t *testing.T) {
	doc := `{"later":{"x":1},"holders":[{"containerID":"a","ifname":"eth0","origin":"add","lease":"long",` +
		`"netns":{"path":"/n","cookie":12},"pod":{"name":"p","node":"n1"}}]}`
	b := append(make([]byte, headerLen), doc...)
	resum(b)
	a, err := Decode("podnet", addr, b)
	if err != nil {
		t.Fatal(err)
	}
	a.Holders[0].Pod.Name = "q" // a rewrite of what is known
	again, err := Encode("podnet", a)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"later":{"x":1}`, `"lease":"long"`, `"cookie":12`, `"node":"n1"`, `"name":"q"`} {
		if !strings.Contains(string(again), want) {
			t.Errorf("%s is lost in %s", want, again[headerLen:])
		}
	}
}

func resum(b []byte) {
	sum := checksum("podnet", addr, b)
	copy(b[epochLen:headerLen], []byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})
}

func TestDamageIsNoticed(t *testing.T) {
	b, err := Encode("podnet", full())
	if err != nil {
		t.Fatal(err)
	}
	for i := range b {
		for bit := range 8 {
			bad := bytes.Clone(b)
			bad[i] ^= 1 << bit
			if _, err := Decode("podnet", addr, bad); !errors.Is(err, ErrInvalid) {
				t.Fatalf("bit %d of byte %d flipped: %v", bit, i, err)
			}
		}
	}
	if _, err := Decode("podnet", addr.Next(), b); !errors.Is(err, ErrInvalid) {
		t.Errorf("under another address: %v", err)
	}
	if _, err := Decode("other", addr, b); !errors.Is(err, ErrInvalid) {
		t.Errorf("in another network: %v", err)
	}
	for n := range b {
		if _, err := Decode("podnet", addr, b[:n]); !errors.Is(err, ErrInvalid) {
			t.Fatalf("cut to %d bytes: %v", n, err)
		}
	}
}

func TestANameHasNoNUL(t *testing.T) {
	for name, att := range map[string]Attachment{"id": {"a\x00b", "eth0"}, "ifname": {"a", "eth\x000"}} {
		t.Run(name, func(t *testing.T) {
			a := Allocation{Addr: netip.MustParseAddr("10.0.0.1"), Holders: []Holder{{Attachment: att}}}
			if _, err := Encode("podnet", a); !errors.Is(err, ErrInvalid) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestAnAllocationNeedsAHolder(t *testing.T) {
	if _, err := Encode("podnet", Allocation{Addr: addr}); !errors.Is(err, ErrInvalid) {
		t.Errorf("encoding none: %v", err)
	}
	b := append(make([]byte, headerLen), `{"holders":[]}`...)
	resum(b)
	if _, err := Decode("podnet", addr, b); !errors.Is(err, ErrInvalid) {
		t.Errorf("decoding none: %v", err)
	}
}

// FuzzDecode: whatever a record says, it is refused, or read and written again
// without loss.
func FuzzDecode(f *testing.F) {
	b, err := Encode("podnet", full())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b[headerLen:])
	f.Add([]byte(`{"Holders":[{"containerid":"a","extra":null,"netns":null,"pod":{"x":[1]}}],"y":""}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		b := append(make([]byte, headerLen), doc...)
		resum(b)
		a, err := Decode("podnet", addr, b)
		if err != nil {
			return
		}
		again, err := Encode("podnet", a)
		if err != nil {
			t.Fatalf("read, but not written: %v", err)
		}
		twice, err := Decode("podnet", addr, again)
		if err != nil {
			t.Fatalf("written, but not read: %v", err)
		}
		if diff := cmp.Diff(a, twice, byValue, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("not the same after a rewrite:\n%s", diff)
		}
	})
}
