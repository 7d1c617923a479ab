package wording

import (
	"fmt"
	"math/big"
	"strings"
	"unicode"
)

// Printable keeps what came from outside from controlling the terminal: a pod's
// name is whatever CNI_ARGS said.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
}

// OneLine joins the lines of an error that was joined from several.
func OneLine(text string) string { return strings.ReplaceAll(strings.TrimSpace(text), "\n", "; ") }

// Number writes n in full as long as it is readable, else like 1.8e19.
func Number(n *big.Int) string {
	if n.IsInt64() && n.Int64() < 1e9 {
		return n.String()
	}
	text := new(big.Float).SetInt(n).Text('e', 1) // 1.8e+19, 1.0e+09
	return strings.NewReplacer("e+0", "e", "e+", "e").Replace(text)
}

// Counted is "1 thing" or "2 things".
func Counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// TotalFreed is the last line of a garbage collection.
func TotalFreed(n int, dryRun bool) string {
	switch {
	case n == 0 && dryRun:
		return "Nothing would be freed."
	case n == 0:
		return "Nothing was freed."
	case dryRun:
		return "Would free " + Counted(n, "allocation", "allocations") + "."
	}
	return "Freed " + Counted(n, "allocation", "allocations") + "."
}

// NoCheckpoint says so of a data directory. It may be the wrong one.
func NoCheckpoint(dataDir string) string {
	return "there is no checkpoint in " + dataDir + ": where ipam.dataDir names another directory, name it with --data-dir"
}

// listShown is how many items a sentence names.
const listShown = 4

// List names the first items and counts the rest.
func List[T fmt.Stringer](items []T) string {
	var names []string
	for i, item := range items {
		if i == listShown && len(items) > listShown+1 {
			return strings.Join(names, ", ") + fmt.Sprintf(" and %d more", len(items)-i)
		}
		names = append(names, item.String())
	}
	return strings.Join(names, ", ")
}

// NotStored says that a network that was asked for is not in a checkpoint, and
// which are.
func NotStored(network, checkpoint string, stored []string) error {
	if len(stored) == 0 {
		return fmt.Errorf("network %s is not stored in %s, nor is any other", network, checkpoint)
	}
	return fmt.Errorf("network %s is not stored in %s, which has %s", network, checkpoint, strings.Join(stored, ", "))
}
