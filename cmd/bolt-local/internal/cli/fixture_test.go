package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// printed returns what print writes to a screen of this width without colour.
func printed(t *testing.T, width int, print func(screen) error) string {
	t.Helper()
	var b strings.Builder
	if err := print(screen{Writer: &b, width: width}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func wantText(t *testing.T, got, want string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s\n%s", diff, got)
	}
}
