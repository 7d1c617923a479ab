// Package model plays random lives of a node and holds each against a model of
// it in plain maps: bolt-local's verbs in every phase of the migration, the real
// host-local on the same directory, steps by hand, kills, reboots, wiped
// directories and checkpoints that went back. It needs no root.
//
// bolt-local runs in this process, for its boots, its namespaces and its kills
// are made up; host-local runs as a process.
package model

import (
	"testing"

	"github.com/bolt-local/bolt-local/e2e/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }
