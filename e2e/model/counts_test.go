package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bolt-local/bolt-local/migrate/engine"
)

// counts tell what a run has shown.
type counts struct {
	actions, points map[string]int
	phases          map[engine.Phase]int
	shared, full    int
}

func (c *counts) String() string {
	var b strings.Builder
	for _, part := range []map[string]int{c.actions, c.points} {
		for _, key := range slices.Sorted(maps.Keys(part)) {
			fmt.Fprintf(&b, "%6d %s\n", part[key], key)
		}
	}
	fmt.Fprintf(&b, "writing calls by the phase they ended in: %v; with an address held twice: %d; STATUS of a full range set: %d",
		c.phases, c.shared, c.full)
	return b.String()
}
