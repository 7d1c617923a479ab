package pages

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTmp(t *testing.T) {
	f := newFile(t, 0)
	f.records(500)
	if diff := cmp.Diff(f.held(), scanned(t, f.bytes())); diff != "" {
		t.Error(diff)
	}
}
