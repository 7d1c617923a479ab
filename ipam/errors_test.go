package ipam

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/containernetworking/cni/pkg/types"
)

func TestAnErrorReachesTheRuntimeWithItsCode(t *testing.T) {
	// The way in which skel asks.
	wrapped := fmt.Errorf("while adding: %w", Errorf(CodeRequestedTaken, "10.0.0.5 is held by %s", "abc"))
	var e *types.Error
	if !errors.As(wrapped, &e) {
		t.Fatal("skel sees no CNI error")
	}
	if e.Code != 102 || e.Msg != "10.0.0.5 is held by abc" || e.Details != "" {
		t.Errorf("got %+v", e)
	}
	if got := CodeOf(wrapped); got != CodeRequestedTaken {
		t.Errorf("CodeOf: %d", got)
	}
}

func TestTheOuterCodeCounts(t *testing.T) {
	err := Errorf(CodeDamaged, "network a: %w", Errorf(CodeIO, "read checkpoint.db: %w", fs.ErrPermission))
	if got := CodeOf(err); got != CodeDamaged {
		t.Errorf("CodeOf: %d", got)
	}
	if !errors.Is(err, fs.ErrPermission) {
		t.Error("the cause is lost")
	}
}

func TestCodesOfOtherErrors(t *testing.T) {
	if got := CodeOf(types.NewError(CodeTryAgain, "busy", "")); got != CodeTryAgain {
		t.Errorf("a plain CNI error: %d", got)
	}
	if got := CodeOf(errors.New("boom")); got != types.ErrInternal {
		t.Errorf("an error without a code: %d", got)
	}
}

func TestNoErrorSaysTheWordsThatGoCNITakesForSuccess(t *testing.T) {
	err := Errorf(CodeIO, "open /srv/not found/checkpoint.db: %w", errors.New("bucket not found"))
	var e *types.Error
	errors.As(err, &e)
	for _, text := range []string{err.Error(), e.Error()} {
		if strings.Contains(text, "not found") {
			t.Errorf("got %q", text)
		}
	}
}
