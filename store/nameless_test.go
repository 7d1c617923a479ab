package store

import "testing"

// A call that cannot read the boot id does not know whose number the newest is.
func TestWhatIsWrittenWithoutABootIDIsNotOfAnEarlierBoot(t *testing.T) {
	n := newNode(t)
	n.add("10.0.0.2", "a")
	n.boot = ""
	n.add("10.0.0.3", "b")
	n.boot = "boot-002"
	n.add("10.0.0.4", "c")
	for addr, current := range map[string]bool{"10.0.0.2": false, "10.0.0.3": true, "10.0.0.4": true} {
		err := n.Read(func(tx *Tx) error {
			a, _, err := tx.Network("podnet").Get(ip(addr))
			if got := a.Epoch == tx.Epoch(); err == nil && got != current {
				t.Errorf("%s has epoch %d in epoch %d", addr, a.Epoch, tx.Epoch())
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
