package faults

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bolt-local/bolt-local/e2e/trace"

	"github.com/bolt-local/bolt-local/e2e/testenv"
)

// aftermath is what follows a call in which something has failed.
type aftermath struct {
	faulty
	network
	fault   fault
	outcome trace.Outcome
	failed  bool // the call
	before  held // who held what before it
	way     way
}

// way is how a runtime carries on.
type way int

const (
	callAgain  way = iota // it makes the call again
	addAnother            // it attaches another pod before that
	deleteIt              // it deletes what it could not attach, before that
	ways
)

func (w way) String() string { return [...]string{"again", "another", "DEL"}[w] }

// touched are the containers whose allocation the call is to make or to free.
func (a aftermath) touched() []string {
	if _, held := a.before[a.id]; a.verb == "ADD" && !held {
		return []string{a.id}
	}
	return a.frees
}

// after is who holds what after the call, if it did as it answered.
func (a aftermath) after(t *testing.T) held {
	t.Helper()
	if a.failed {
		return a.before.without() // a copy
	}
	pods := a.before.without(a.frees...)
	if a.verb == "ADD" {
		pods.note(t, a.id, testenv.Address(t, reply(a.outcome)))
	}
	return pods
}

// expectAtOnce checks what dump shows before any other call may have mended
// something. What a failed call was about may be there or not.
func (a aftermath) expectAtOnce(t *testing.T) {
	t.Helper()
	if a.damaged && (a.failed || a.hasDeferred(t)) {
		return // it may be so still
	}
	got, phase := a.dump(t)
	if phase == "" && a.failed {
		return // the network is not known, as before its first call
	}
	want := a.after(t)
	if a.failed || a.verb != "ADD" && a.hasDeferred(t) {
		want, got = want.without(a.touched()...), got.without(a.touched()...)
	}
	want.expect(t, "dump right after it", got)
	if !a.failed && phase != "" && len(a.outcome.Stderr) == 0 { // else it has said what is left to do
		a.expectVerified(t)
	}
}

// hasDeferred tells whether a DEL waits to be carried out.
func (n network) hasDeferred(t *testing.T) bool {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(n.dataDir, "deferred"))
	return err == nil && len(entries) > 0
}

// carryOn makes another call first. It returns who holds what then.
func (a aftermath) carryOn(t *testing.T) held {
	t.Helper()
	pods := a.after(t)
	switch {
	case a.way == addAnother:
		if a.failed && a.verb != "ADD" { // what it was to free may be free
			pods = pods.without(a.frees...)
		}
		pods.add(t, a.ours(a.target), "another")
	case a.way == deleteIt && a.verb == "ADD":
		a.ours(a.target).run(t, "DEL", a.id)
		pods = pods.without(a.id)
	default:
		return pods
	}
	var open []string
	if a.failed && (a.verb != "ADD" || a.cannotBeTakenBack()) {
		open = a.touched()
	}
	certain := pods.without(open...)
	got, phase := a.dump(t)
	certain.expect(t, "dump after the next call", got.without(open...))
	if phase == "" {
		return pods // the network is not known
	}
	if phase != contract {
		certain.expect(t, "host-local's directory after the next call", a.files(t).without(open...))
	}
	a.expectVerified(t)
	return pods
}

// cannotBeTakenBack: a disk that stays broken keeps what was written to it. The
// DEL of the runtime frees it.
func (a aftermath) cannotBeTakenBack() bool { return a.fault.lasting != nil && a.way != deleteIt }

// callAgain makes the call again, and one more, and checks that all ends well.
func (a aftermath) callAgain(t *testing.T, pods held) {
	t.Helper()
	switch {
	case a.verb != "":
		answer := a.plugin(a.network).run(t, a.verb, a.id)
		if a.verb == "ADD" {
			pods = pods.without() // a copy
			pods.note(t, a.id, testenv.Address(t, answer))
		}
	case a.failed && !a.wasTaken(t) && !a.isDone(t):
		if o := run(t, a.process(a.network), nil); o.ExitCode != 0 {
			t.Errorf("%v again: %s", a.command(a.network), said(o))
		}
	}
	pods = pods.without(a.frees...)
	if a.verb == "GC" {
		pods = pods.without("another") // it was not listed
	}
	pods.add(t, a.ours(a.target), "last")
	a.expectEnd(t, pods)
}

// wasTaken: a step that cannot be called durable is one, and so is one that could
// not be taken back. To take it again would be another one.
func (a aftermath) wasTaken(t *testing.T) bool {
	t.Helper()
	if a.fault.lasting != nil && bytes.Contains(a.outcome.Stderr, []byte("may be seen by the next")) {
		_, phase := a.dump(t)
		return phase == a.faulty.phase
	}
	return bytes.Contains(a.outcome.Stderr, []byte("was taken"))
}

// isDone: a step that was begun is ended by the next call, and a commit of which
// no more than its last sync has failed may be there.
func (a aftermath) isDone(t *testing.T) bool {
	t.Helper()
	if !a.forgets && (a.replaces || a.way != addAnother) {
		return false
	}
	_, phase := a.dump(t)
	return a.forgets && phase == "" || a.way == addAnother && phase == a.faulty.phase
}

// expectEnd checks what all is to come to.
func (a aftermath) expectEnd(t *testing.T, pods held) {
	t.Helper()
	got, phase := a.dump(t)
	pods.expect(t, "dump", got)
	if phase != a.faulty.phase && !a.bornOtherwise(phase) {
		t.Errorf("dump shows phase %q, want %q", phase, a.faulty.phase)
	}
	if phase != contract {
		pods.expect(t, "host-local's directory", a.files(t))
	} else if !a.isShut() {
		t.Errorf("%s is not a tombstone", a.dir())
	}
	a.expectVerified(t)
	a.expectNothingBeside(t)
}

// bornOtherwise: a disk that stays broken keeps the directory of a network whose
// first ADD has failed. The next one takes it for host-local's.
func (a aftermath) bornOtherwise(phase string) bool {
	return a.verb == "ADD" && len(a.before) == 0 && a.failed && a.fault.lasting != nil && phase == switched
}

// expectNothingBeside checks that nothing is left of what was made on the way.
func (a aftermath) expectNothingBeside(t *testing.T) {
	t.Helper()
	beside := ".bolt-local-" + a.network.name
	for dir, known := range map[string][]string{
		a.root:    {"backup.db", "bolt-local", "networks"},
		a.parent:  {a.network.name},
		a.dataDir: {"checkpoint.db", "deferred", "journal", "lock"},
	} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Error(err)
		}
		for _, e := range entries {
			left := e.Name()
			switch {
			case slices.Contains(known, left):
			case a.replaces && strings.HasPrefix(left, "checkpoint.db."):
			case left == beside && a.fault.spoilsTidying(): // until the next swap
			case strings.HasPrefix(left, ".bolt-local-backup-") && a.fault.lasting != nil:
			default:
				t.Errorf("%s is left in %s", left, dir)
			}
		}
	}
}
