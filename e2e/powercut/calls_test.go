package powercut

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/e2e/trace"
	"github.com/bolt-local/bolt-local/migrate/engine"
)

// call is something that happens to a node.
type call struct {
	what   string // see below
	id     string // of the container
	target engine.Phase
	keep   []string // of a GC
	// kill, if set, ends the process before a call.
	kill *kill
	// before: it happens in the boot before the recorded one. Only what is not
	// recorded may.
	before bool
}

// kill is a point in a process: before its nth call of that name on that file,
// or before its nth sync of anything where there is no name.
type kill struct {
	name, file string // the latter below the node's root
	nth        int
}

func (k *kill) matches(n node, c *trace.Call) bool {
	if k.name == "" {
		return isSync(c.Name)
	}
	return c.Name == k.name && c.Path == n.path(k.file)
}

func isSync(call string) bool { return call == "fsync" || call == "fdatasync" }

// What may happen: CNI verbs, steps by hand, and what a script on the node does.
const (
	verbAdd      = "ADD"
	verbDel      = "DEL"
	verbGC       = "GC"
	theirAdd     = "host-local's ADD"
	stepForward  = "migrate advance"
	stepBack     = "migrate rollback"
	backup       = "backup"
	restore      = "restore"
	repair       = "repair"
	forget       = "forget"
	loseFile     = "the checkpoint is removed"
	damageFile   = "the checkpoint is emptied"
	wipeNetworks = "host-local's directories are removed"
)

// commands are the arguments of bolt-local's own commands.
var commands = map[string][]string{
	stepForward: {"migrate", "advance", "--network", network},
	stepBack:    {"migrate", "rollback", "--network", network},
	backup:      {"backup", backupFile},
	restore:     {"restore", backupFile, "--host-local-dir", parentName},
	repair:      {"repair", "--host-local-dir", parentName},
	forget:      {"forget", network},
}

const backupFile = "backup.db" // below the node's root

func add(id string, target engine.Phase) call { return call{what: verbAdd, id: id, target: target} }
func del(id string, target engine.Phase) call { return call{what: verbDel, id: id, target: target} }
func theirs(id string) call                   { return call{what: theirAdd, id: id} }
func by(what string) call                     { return call{what: what} }

func gc(target engine.Phase, keep ...string) call {
	return call{what: verbGC, target: target, keep: keep}
}

func (c call) String() string {
	s := c.what
	if c.id != "" {
		s += " of " + c.id
	}
	if c.target != "" {
		s += ", target " + string(c.target)
	}
	return s
}

// process is the call as that of a binary.
func (c call) process(n node) trace.Process {
	if c.what == damageFile {
		return trace.Process{Path: "/bin/sh", Args: []string{"-c", ": >" + n.store().Path()}}
	}
	if args, ok := commands[c.what]; ok {
		args = append(slices.Clone(args), "--data-dir", dataName)
		for i, arg := range args {
			if arg == backupFile || arg == parentName || arg == dataName {
				args[i] = n.path(arg)
			}
		}
		return trace.Process{Path: n.boltLocal, Args: args}
	}
	binary, plugin, verb := n.boltLocal, lab.BoltLocal, c.what
	if c.what == theirAdd {
		binary, plugin, verb = n.hostLocal, lab.HostLocal, verbAdd
	}
	l := lab.Call{Verb: verb, ContainerID: c.id, IfName: ifname, NetNS: n.netns(c.id), AnyNetNS: true}
	if verb == verbGC {
		l.ContainerID, l.IfName, l.NetNS = "", "", ""
	}
	p := trace.Process{Path: binary, Env: l.Env(), Stdin: n.config(plugin, c.target, c.keep)}
	if n.boot != bootNow {
		p.Path, p.Env = n.self, append(p.Env, bootVariable+"="+n.boot, rootVariable+"="+n.root)
	}
	return p
}

// happen lets the call happen without recording it.
func (c call) happen(t *testing.T, n node) {
	t.Helper()
	var err error
	switch {
	case c.what == loseFile:
		err = os.Remove(n.store().Path())
	case c.what == wipeNetworks:
		err = os.RemoveAll(n.path(parentName))
	case c.before && c.what == verbAdd:
		_, err = n.in(bootBefore).add(c.id, c.target)
	case c.before:
		err = errors.New("only an ADD can be of the boot before")
	default:
		c.record(t, n)
	}
	if err != nil {
		t.Fatalf("%s: %v", c, err)
	}
}

// patience is how long a call may take that does not hang.
const patience = time.Minute

// record runs the call's process and returns what it did to files.
func (c call) record(t *testing.T, n node) trace.Outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	o, err := trace.Run(ctx, c.process(n), c.kill.hook(t, n))
	switch {
	case errors.Is(err, trace.ErrUnavailable):
		fmt.Fprintf(os.Stderr, "SKIPPED: %s: %v\n", t.Name(), err)
		t.Skip(err)
	case err != nil:
		t.Fatalf("%s: %v", c, err)
	case c.kill != nil && o.Signal == syscall.SIGKILL:
	case o.ExitCode != 0 || c.kill != nil:
		t.Fatalf("%s: exit code %d, signal %v: %s%s", c, o.ExitCode, o.Signal, o.Stdout, o.Stderr)
	}
	return o
}

func (k *kill) hook(t *testing.T, n node) trace.Hook {
	if k == nil {
		return nil
	}
	seen := 0
	return func(c *trace.Call) trace.Effect {
		if k.matches(n, c) {
			if seen++; seen == k.nth {
				if err := syscall.Kill(c.Thread, syscall.SIGKILL); err != nil {
					t.Errorf("killing it: %v", err)
				}
			}
		}
		return trace.Effect{}
	}
}
