package testenv

import (
	"fmt"
	"os"
	"testing"
)

// partVariable is an environment variable: "2/5" is the second of five parts of
// a run that takes too long for one sitting, or for one machine.
const partVariable = "E2E_PART"

// Part returns the part of all that is asked for, all of it where none is. The
// parts of the same list have everything once.
func Part[T any](tb testing.TB, all []T) []T {
	tb.Helper()
	text := os.Getenv(partVariable)
	if text == "" {
		return all
	}
	var i, n int
	if _, err := fmt.Sscanf(text, "%d/%d", &i, &n); err != nil || i < 1 || i > n || fmt.Sprintf("%d/%d", i, n) != text {
		tb.Fatalf("%s=%s is no part such as 2/5", partVariable, text)
	}
	var part []T
	for k := i - 1; k < len(all); k += n {
		part = append(part, all[k])
	}
	return part
}
