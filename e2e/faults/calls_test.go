package faults

import (
	"testing"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/e2e/trace"
)

// faulty is a call of bolt-local in which something fails, and the state that it
// comes upon.
type faulty struct {
	name    string
	prepare func(*testing.T, network) held // returns what is held

	// The call is a verb of the plugin, or a command of the command line.
	verb    string
	id      string // its container; with GC the only one that is listed
	target  string // of the configuration, also of the calls that follow
	command func(network) []string

	frees []string // the containers that hold nothing after it
	phase string   // after it

	// damaged: the checkpoint is so at first, and heals; replaces: it becomes
	// another file. The old one is kept.
	damaged, replaces bool

	forgets bool // after it the network is not known, until its next ADD
}

// faulties are what faults are tried in. A row needs nothing else.
var faulties = []faulty{
	{name: "the first ADD, without a directory", prepare: nothing, verb: "ADD", id: "new", phase: contract},
	{name: "the first ADD, of the target switch", prepare: nothing, verb: "ADD", id: "new", target: switched, phase: switched},
	{name: "the first ADD, which imports", prepare: onHostLocal, verb: "ADD", id: "new", phase: switched},
	{name: "the first DEL, which imports", prepare: onHostLocal, verb: "DEL", id: "old", frees: []string{"old"}, phase: switched},

	{name: "ADD in contract", prepare: inContract, verb: "ADD", id: "new", target: contract, phase: contract},
	{name: "DEL in contract", prepare: inContract, verb: "DEL", id: "web", target: contract, frees: []string{"web"}, phase: contract},
	{name: "GC in contract", prepare: inContract, verb: "GC", id: "web", target: contract, frees: []string{"db", "mail"}, phase: contract},
	{name: "ADD in expand", prepare: reached(expand), verb: "ADD", id: "new", target: expand, phase: expand},
	{name: "DEL in expand", prepare: reached(expand), verb: "DEL", id: "web", target: expand, frees: []string{"web"}, phase: expand},
	{name: "ADD in switch", prepare: reached(switched), verb: "ADD", id: "new", target: switched, phase: switched},
	{name: "ADD again in switch", prepare: reached(switched), verb: "ADD", id: "web", target: switched, phase: switched},
	{name: "DEL in switch", prepare: reached(switched), verb: "DEL", id: "web", target: switched, frees: []string{"web"}, phase: switched},
	{name: "GC in switch", prepare: reached(switched), verb: "GC", id: "web", target: switched, frees: []string{"old", "db"}, phase: switched},
	{name: "ADD in switch after host-local", prepare: afterHostLocal, verb: "ADD", id: "new", target: switched, phase: switched},
	{name: "ADD in switch after a wipe", prepare: afterWipe, verb: "ADD", id: "new", target: switched, phase: switched},

	{name: "the step to expand", prepare: reached(legacy), verb: "ADD", id: "new", target: expand, phase: expand},
	{name: "the step to switch", prepare: reached(expand), verb: "ADD", id: "new", target: switched, phase: switched},
	{name: "the step to contract", prepare: readyFor(switched), verb: "ADD", id: "new", target: contract, phase: contract},
	{name: "the step back to switch", prepare: inContract, verb: "ADD", id: "new", target: switched, phase: switched},
	{name: "the step back to expand", prepare: reached(switched), verb: "ADD", id: "new", target: expand, phase: expand},

	{name: "migrate advance to switch", prepare: inExpandByHand, command: migrate("advance"), phase: switched},
	{name: "migrate advance to contract", prepare: readyFor(noTarget), command: migrate("advance"), phase: contract},
	{name: "migrate rollback to switch", prepare: born, command: migrate("rollback"), phase: switched},
	{name: "migrate rollback to expand", prepare: reached(noTarget), command: migrate("rollback"), phase: expand},

	{name: "ADD, which heals from the journal", prepare: damaged, verb: "ADD", id: "new", target: contract, phase: contract, damaged: true, replaces: true},
	{name: "DEL, which heals from the journal", prepare: damaged, verb: "DEL", id: "web", target: contract, frees: []string{"web"}, phase: contract, damaged: true, replaces: true},
	{name: "ADD in switch, which heals from the directory", prepare: damagedInSwitch, verb: "ADD", id: "new", target: switched, phase: switched, damaged: true, replaces: true},
	{name: "repair", prepare: damaged, target: contract, command: repair, phase: contract, damaged: true, replaces: true},
	{name: "backup", prepare: inContract, target: contract, command: backup, phase: contract},
	{name: "restore", prepare: afterBackup, target: contract, command: restore, phase: contract, replaces: true},

	{name: "forget", prepare: unused, target: contract, command: forget, phase: contract, forgets: true},

	{name: "STATUS in switch", prepare: reached(switched), verb: "STATUS", target: switched, phase: switched},
	{name: "dump in switch", prepare: reached(switched), target: switched, command: dump, phase: switched},
}

// inANewBoot are calls that are the first ones after a reboot.
var inANewBoot = []faulty{
	{name: "ADD in contract", prepare: inContract, verb: "ADD", id: "new", target: contract, phase: contract},
	{name: "ADD in switch", prepare: reached(switched), verb: "ADD", id: "new", target: switched, phase: switched},
	{name: "DEL in switch", prepare: reached(switched), verb: "DEL", id: "web", target: switched, frees: []string{"web"}, phase: switched},
}

// migrate is a command that changes the phase by hand.
func migrate(command string) func(network) []string {
	return func(n network) []string {
		return []string{"migrate", command, "--network", n.name, "--data-dir", n.dataDir}
	}
}

func dump(n network) []string { return []string{"dump", "--output", "json", "--data-dir", n.dataDir} }

func repair(n network) []string {
	return []string{"repair", "--cni-cache-dir", n.cacheDir, "--data-dir", n.dataDir}
}

func backup(n network) []string { return []string{"backup", n.backup(), "--data-dir", n.dataDir} }

func restore(n network) []string {
	return []string{"restore", n.backup(), "--cni-cache-dir", n.cacheDir, "--data-dir", n.dataDir}
}

func forget(n network) []string { return []string{"forget", n.name, "--data-dir", n.dataDir} }

// plugin is bolt-local as the verb is called.
func (f faulty) plugin(n network) plugin {
	if f.verb == "GC" {
		return n.sweeper(f.target, f.id)
	}
	return n.ours(f.target)
}

// process is the call.
func (f faulty) process(n network) trace.Process {
	if f.command != nil {
		return trace.Process{Path: n.boltLocal, Args: f.command(n)}
	}
	p := f.plugin(n)
	call := p.call(f.verb, f.id)
	return trace.Process{Path: n.boltLocal, Env: call.Env(), Stdin: call.Config}
}

// reply is the answer of a traced call of the plugin.
func reply(o trace.Outcome) lab.Reply {
	return lab.Reply{Stdout: o.Stdout, Stderr: o.Stderr, ExitCode: o.ExitCode}
}
