package cri

import "testing"

func TestPodsOfContainerdGetAddressesAndPingEachOther(t *testing.T) {
	if !onNode(t) {
		return
	}
	n := newNode(t, bridge(ipam("10.77.0.0/24", "fd00:77::/64")))
	web, db := n.run(t, "web"), n.run(t, "db")
	expectAddresses(t, web, "10.77.0.2", "fd00:77::2")
	expectAddresses(t, db, "10.77.0.3", "fd00:77::3")
	expectHeld(t, web, db)
	expectPing(t, web, db)

	n.stop(t, web)
	expectHeld(t, db)
	n.stop(t, web) // the kubelet repeats it
	expectHeld(t, db)
	again := n.run(t, "again")
	n.remove(t, web) // a DEL once more
	expectHeld(t, db, again)
	expectPing(t, again, db)

	n.stop(t, db)
	n.remove(t, db)
	n.remove(t, again) // without a stop: it is a part
	expectHeld(t)
}
