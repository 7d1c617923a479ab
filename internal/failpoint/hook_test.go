//go:build !failpoints

package failpoint

import "testing"

func TestWithoutTheTagTheEnvironmentSetsNoHook(t *testing.T) {
	if Hook != nil {
		t.Error("there is a hook")
	}
	Hit("a") // passes
}
