// Package migration tests the way from the real host-local to bolt-local and
// back, with both binaries on the same directory: behind the real bridge, at
// once, killed at every point, after wipes and reboots, and on broken disks.
package migration

import (
	"testing"

	"github.com/bolt-local/bolt-local/e2e/testenv"
)

func TestMain(m *testing.M) { testenv.MainWithNetwork(m) }
