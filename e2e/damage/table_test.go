package damage

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// table counts outcomes by what was done.
type table struct {
	rows    map[string]*counts
	classes map[string]bool
}

// counts are those of a row.
type counts struct {
	trials, faults, alone int
	lost, risen, given    int
	of                    map[string]int // classes
}

func newTable() *table { return &table{map[string]*counts{}, map[string]bool{}} }

func (t *table) count(c trial, o outcome) {
	t.classes[o.Class] = true
	for _, row := range []string{c.row(), c.group(), "everything"} {
		n := t.rows[row]
		if n == nil {
			n = &counts{of: map[string]int{}}
			t.rows[row] = n
		}
		n.trials++
		n.of[o.Class]++
		if len(o.Faults) > 0 {
			n.faults++
		}
		if o.Alone {
			n.alone++
		}
		n.lost, n.risen, n.given = n.lost+o.Lost, n.risen+o.Risen, n.given+o.Given
	}
}

// String has a line for each row: how many trials, how many of each class, and
// how many had a fault; in how many a network was healed without the other; and
// attachments: living ones that `repair` did not find, dead ones that it found,
// and those that were given what another held.
func (t *table) String() string {
	classes := slices.Sorted(maps.Keys(t.classes))
	var b strings.Builder
	fmt.Fprintf(&b, "%-72s %6s", "", "trials")
	for _, class := range classes {
		fmt.Fprintf(&b, " | %s", class)
	}
	fmt.Fprint(&b, " | faults | alone | not found | risen | given twice\n")
	for _, row := range slices.Sorted(maps.Keys(t.rows)) {
		n := t.rows[row]
		fmt.Fprintf(&b, "%-72s %6d", row, n.trials)
		for _, class := range classes {
			fmt.Fprintf(&b, " | %*d", len(class), n.of[class])
		}
		fmt.Fprintf(&b, " | %6d | %5d | %9d | %5d | %11d\n", n.faults, n.alone, n.lost, n.risen, n.given)
	}
	return b.String()
}
