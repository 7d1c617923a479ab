// Package differential calls host-local and bolt-local with the same
// configurations and compares their answers. Both run as processes, each with
// a data directory of its own. It needs no root.
package differential

import (
	"testing"

	"github.com/bolt-local/bolt-local/e2e/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }
