// Package churn is a day of pods that come and go, in fast forward: the
// checkpoint must stay as small as on its first hour, and nothing be left behind.
package churn

import (
	"testing"

	"github.com/bolt-local/bolt-local/e2e/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }
