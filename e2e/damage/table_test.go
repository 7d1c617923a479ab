package damage

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// table counts outcomes by what was done.
type table struct {
	rows    map[string]map[string]int
	classes map[string]bool
	lost    map[string]int // living attachments that repair did not find
	risen   map[string]int
	given   map[string]int
}

func newTable() *table {
	return &table{map[string]map[string]int{}, map[string]bool{}, map[string]int{}, map[string]int{}, map[string]int{}}
}

func (t *table) count(row string, o outcome) {
	if t.rows[row] == nil {
		t.rows[row] = map[string]int{}
	}
	t.rows[row][o.Class]++
	t.classes[o.Class] = true
	if len(o.Faults) > 0 {
		t.rows[row]["faults"]++
		t.classes["faults"] = true
	}
	t.lost[row] += o.Lost
	t.risen[row] += o.Risen
	t.given[row] += o.Given
}

func (t *table) String() string {
	classes := slices.Sorted(maps.Keys(t.classes))
	var b strings.Builder
	fmt.Fprintf(&b, "%-70s %6s", "what was done", "trials")
	for _, class := range classes {
		fmt.Fprintf(&b, " | %s", class)
	}
	fmt.Fprintf(&b, " | given up | risen | given twice\n")
	total := map[string]int{}
	for _, row := range slices.Sorted(maps.Keys(t.rows)) {
		trials := 0
		for class, n := range t.rows[row] {
			if class != "faults" {
				trials += n
			}
			total[class] += n
		}
		fmt.Fprintf(&b, "%-70s %6d", row, trials)
		for _, class := range classes {
			fmt.Fprintf(&b, " | %*d", len(class), t.rows[row][class])
		}
		fmt.Fprintf(&b, " | %8d | %5d | %5d\n", t.lost[row], t.risen[row], t.given[row])
	}
	fmt.Fprintf(&b, "%-70s       ", "all")
	for _, class := range classes {
		fmt.Fprintf(&b, " | %*d", len(class), total[class])
	}
	return b.String()
}
