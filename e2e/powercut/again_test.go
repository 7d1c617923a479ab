package powercut

import (
	"fmt"
	"io"
	"os"
	"slices"
	"testing"

	"github.com/bolt-local/bolt-local/e2e/powercut/disk"
	"github.com/bolt-local/bolt-local/e2e/testenv"
	"github.com/bolt-local/bolt-local/ipam"
)

// cutAgain are scenarios after whose power cuts the next boot's first ADD is cut
// as well.
var cutAgain = []string{
	"the first ADDs of a node",
	"ADD, ADD again and DEL in switch",
	"the first ADD imports host-local's directory",
	"the step to contract and back at once",
	"down by target",
	"the first ADD of a boot in switch",
}

// treesCutAgain are how many of a scenario's trees are taken.
func treesCutAgain() int {
	if all() {
		return 6
	}
	return 1
}

func TestAPowerCutInTheFirstCallAfterAPowerCut(t *testing.T) {
	seed := testenv.Seed(t)
	var sum counts
	t.Run("scenarios", func(t *testing.T) { // waits for the parallel ones
		for i, name := range cutAgain {
			at := slices.IndexFunc(scenarios, func(s scenario) bool { return s.name == name })
			if at < 0 {
				t.Fatalf("no scenario is named %q", name)
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				r := scenarios[at].record(t, scenarios[at].begin(t))
				r.random = testenv.Rand(seed, uint64(i))
				r.cutTwice(t, &sum)
			})
		}
	})
	t.Logf("in all: %s", &sum)
}

// cutTwice takes some of the trees that a power cut may leave, and cuts the first
// ADD that comes after it.
func (r *run) cutTwice(t *testing.T, sum *counts) {
	type left struct {
		disk.Tree
		cut
	}
	var trees []left
	r.eachCut(t, func(c cut) {
		now := r.replay.disk.Cut()
		more := now.All(limit, r.random)
		trees = append(trees, left{now.Tree(more[r.random.IntN(len(more))]), c})
	})
	r.random.Shuffle(len(trees), func(i, j int) { trees[i], trees[j] = trees[j], trees[i] })
	for _, tree := range trees[:min(len(trees), treesCutAgain())] {
		n := r.in(r.next)
		if err := n.lay(tree.Tree); err != nil {
			t.Fatal(err)
		}
		if err := r.marks.settle(tree.Tree, n.root); err != nil {
			t.Fatal(err)
		}
		first := scenario{
			name:  r.name,
			sets:  r.scenario.sets,
			calls: []call{add("second", r.calls[tree.call].target)},
		}
		again := first.record(t, n)
		again.next, again.random = bootLast, r.random
		again.cutEverywhere(t)
		sum.add(&again.counts)
		if t.Failed() {
			t.Fatalf("the first power cut was in %s, after %s", r.calls[tree.call], tree.after)
		}
	}
}

// The environment variables of a call by this binary, as bolt-local would make
// it in another boot.
const (
	bootVariable = "POWERCUT_BOOT"
	rootVariable = "POWERCUT_ROOT"
)

// callInBoot carries out an ADD in the boot, and returns the exit status.
func callInBoot(boot string) int {
	stdin, err := io.ReadAll(os.Stdin)
	if err == nil {
		n := node{root: os.Getenv(rootVariable), boot: boot}
		_, err = n.plugin().Add(ipam.Call{
			ContainerID: os.Getenv("CNI_CONTAINERID"),
			IfName:      os.Getenv("CNI_IFNAME"),
			NetNS:       os.Getenv("CNI_NETNS"),
			Stdin:       stdin,
		})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
