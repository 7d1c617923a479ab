// Package process tests bolt-local as processes: many at once, killed, and
// replaced while they run. It needs no root: an IPAM plugin only opens files.
package process

import (
	"testing"

	"github.com/bolt-local/bolt-local/e2e/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }
