package record

import (
	"net/netip"
	"testing"
)

func TestNamesTellsWhoIsAHolder(t *testing.T) {
	addr := netip.MustParseAddr("10.0.0.2")
	a := Allocation{Addr: addr, Epoch: 1, Holders: []Holder{
		{Attachment: Attachment{ContainerID: "abc", IfName: "eth0"}, Origin: OriginAdd},
		{Attachment: Attachment{ContainerID: `odd"<id>`, IfName: "net1"}, Origin: OriginAdd},
	}}
	value, err := Encode("podnet", a)
	if err != nil {
		t.Fatal(err)
	}
	for att, want := range map[Attachment]bool{
		{ContainerID: "abc", IfName: "eth0"}:      true,
		{ContainerID: `odd"<id>`, IfName: "net1"}: true, // JSON writes it in another way
		{ContainerID: "abc", IfName: "eth"}:       false,
		{ContainerID: "ab", IfName: "eth0"}:       false,
		{ContainerID: "abc", IfName: "net1"}:      false,
		{ContainerID: "abc"}:                      false,
	} {
		if got := Names("podnet", addr, value, att); got != want {
			t.Errorf("%+v: %v", att, got)
		}
	}
}
