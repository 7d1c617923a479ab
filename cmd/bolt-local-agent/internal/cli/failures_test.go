package cli

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/bolt-local/bolt-local/cmd/bolt-local-agent/internal/cri"
)

func numbered(n int) (errs []error) {
	for i := range n {
		errs = append(errs, fmt.Errorf("error %d", i+1))
	}
	return errs
}

func TestOfManyErrorsAFewAreNamed(t *testing.T) {
	for n, want := range map[int]string{
		0:    "",
		5:    "error 1|error 2|error 3|error 4|error 5",
		1000: "error 1|error 2|error 3|error 4|error 5|and 995 more",
	} {
		all := numbered(n)
		var got []string
		for _, err := range few(all) {
			got = append(got, err.Error())
		}
		if text := strings.Join(got, "|"); text != want || len(all) != n {
			t.Errorf("of %d: %s", n, text)
		}
		if n > 0 && !errors.Is(errors.Join(few(all)...), all[0]) {
			t.Errorf("of %d the first is not to be found", n)
		}
	}
}

func TestWhatIsMissingIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		failed, configs int
		want            string
	}{
		"nothing":       {0, 0, ""},
		"configuration": {0, 1, "error 1"},
		"a sandbox":     {1, 0, "the runtime could not tell of 1 sandbox"},
		"both":          {2, 7, "error 1; error 2; error 3; error 4; error 5; and 2 more; the runtime could not tell of 2 sandboxes"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := missing(cri.Listing{Failed: numbered(c.failed)}, numbered(c.configs)); got != c.want {
				t.Errorf("missing %q, want %q", got, c.want)
			}
		})
	}
}
