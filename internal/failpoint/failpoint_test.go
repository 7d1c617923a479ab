package failpoint

import (
	"slices"
	"testing"
)

func TestAHookHearsOfEachPoint(t *testing.T) {
	before := Hook
	t.Cleanup(func() { Hook = before })
	var passed []string
	Hook = func(name string) { passed = append(passed, name) }
	Hit("a")
	Hit("b")
	Hit("a")
	if want := []string{"a", "b", "a"}; !slices.Equal(passed, want) {
		t.Errorf("passed %q, want %q", passed, want)
	}
}
