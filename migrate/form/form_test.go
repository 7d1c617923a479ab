package form

import "testing"

func TestTheBootOfATombstone(t *testing.T) {
	for name, c := range map[string]struct {
		renewed, asked string
		want           bool
	}{
		"the same":                   {"b1", "b1", true},
		"another":                    {"b1", "b2", false},
		"one that cannot be read":    {"b1", "", false},
		"neither of them can be":     {"", "", false},
		"renewed where it could not": {"", "b1", false},
	} {
		if got := (Tombstone{BootID: c.renewed}).OfBoot(c.asked); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
