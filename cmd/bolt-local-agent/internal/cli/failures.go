package cli

import (
	"errors"
	"fmt"

	"github.com/bolt-local/bolt-local/cmd/bolt-local-agent/internal/cri"
	"github.com/bolt-local/bolt-local/cmd/internal/wording"
)

// shown is how many of many a line names: a node may have thousands of sandboxes.
const shown = 5

// few are the first of the errors, and how many more there are.
func few(errs []error) []error {
	if len(errs) <= shown {
		return errs
	}
	return append(errs[:shown:shown], fmt.Errorf("and %d more", len(errs)-shown))
}

// missing names what keeps a listing and the configurations from being complete,
// "" where they are.
func missing(l cri.Listing, configs []error) string {
	errs := few(configs)
	if len(l.Failed) > 0 {
		errs = append(errs[:len(errs):len(errs)], errors.New("the runtime could not tell of "+wording.Counted(len(l.Failed), "sandbox", "sandboxes")))
	}
	if len(errs) == 0 {
		return ""
	}
	return wording.OneLine(errors.Join(errs...).Error())
}
