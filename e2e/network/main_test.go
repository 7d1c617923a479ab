// Package network tests the whole path: a runtime calls libcni, libcni calls
// a main plugin, that calls bolt-local, and two pods send each other packets.
package network

import (
	"testing"

	"github.com/bolt-local/bolt-local/e2e/testenv"
)

func TestMain(m *testing.M) { testenv.MainWithNetwork(m) }
