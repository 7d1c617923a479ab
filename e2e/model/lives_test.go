package model

import (
	"context"
	"flag"
	"os"
	"os/signal"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/e2e/testenv"
	"github.com/bolt-local/bolt-local/migrate/engine"
)

// What a run is made of, unless rapid's flags say otherwise.
const (
	sequences = 500
	steps     = 25 // of a sequence, on average
)

// soakVariable is an environment variable: for how long runs with new seeds
// follow each other, 0 for no end; without it there is one run.
const soakVariable = "E2E_SOAK"

func TestRandomLivesOfANode(t *testing.T) {
	hostLocal := testenv.Binary(t, lab.HostLocal)
	c := &counts{actions: map[string]int{}, points: map[string]int{}, phases: map[engine.Phase]int{}}
	set := defaults(t)
	set("rapid.checks", strconv.Itoa(sequences))
	set("rapid.steps", strconv.Itoa(steps))
	for more := soak(t); ; {
		set("rapid.seed", strconv.FormatUint(testenv.Seed(t)+1, 10)) // 0 is any
		rapid.Check(t, func(t *rapid.T) { live(t, hostLocal, c) })
		if !more() {
			break
		}
	}
	t.Logf("%s", c)
}

// defaults sets those flags that were not given.
func defaults(t *testing.T) func(name, value string) {
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	return func(name, value string) {
		if given[name] {
			return
		}
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
}

// soak tells whether one more run follows: until the time is over, or the first
// interrupt; the second ends the process.
func soak(t *testing.T) (more func() bool) {
	value := os.Getenv(soakVariable)
	if value == "" {
		return func() bool { return false }
	}
	length, err := time.ParseDuration(value)
	if err != nil {
		t.Fatalf("%s: %v", soakVariable, err)
	}
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt)
	context.AfterFunc(ctx, stop)
	end := time.Now().Add(length)
	return func() bool { return ctx.Err() == nil && (length == 0 || time.Now().Before(end)) }
}

// live plays one life.
func live(t *rapid.T, hostLocal string, c *counts) {
	root, err := os.MkdirTemp(disk(t), "bolt-local-model-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(root)
	sets := []addressSet{ipv4}
	if rapid.Bool().Draw(t, "dual stack") {
		sets = append(sets, ipv6)
	}
	m := &model{node: newNode(root, hostLocal, rapid.Bool().Draw(t, "one data directory"), sets...), count: c}
	m.target = aPhase(t)
	m.reread(t)
	t.Repeat(m.byName())
}

// disk is where the node's disk is: file systems give inodes and change times
// in other ways. Memory needs no syncs, so it is used most.
func disk(t *rapid.T) string {
	const memory = "/dev/shm"
	if info, err := os.Stat(memory); err == nil && info.IsDir() && rapid.IntRange(0, 3).Draw(t, "memory") > 0 {
		return memory
	}
	return os.TempDir()
}
