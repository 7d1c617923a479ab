package powercut

import "github.com/bolt-local/bolt-local/migrate/engine"

const (
	noTarget = engine.Phase("")
	legacy   = engine.Legacy
	expand   = engine.Expand
	switched = engine.Switch
	contract = engine.Contract
)

// scenario is a part of a node's life: what is durable before, and the calls
// that are cut.
type scenario struct {
	name  string
	sets  []set
	base  []call
	calls []call
}

// before says that calls were made in the boot before.
func before(calls ...call) []call {
	for i := range calls {
		calls[i].before = true
	}
	return calls
}

// killed is the call that ends before it makes a system call.
func killed(c call, at kill) call {
	c.kill = &at
	return c
}

// The points between a change that the next process finds and its sync.
var (
	atCommit  = kill{"fdatasync", dataName + "/checkpoint.db", 2}
	atCreated = kill{"fsync", dataName, 1}
	atSwapped = kill{"fsync", parentName, 1}
)

func then(list []call, more ...call) []call { return append(list[:len(list):len(list)], more...) }

var (
	native   = []call{add("a", noTarget), add("b", noTarget)}
	imported = []call{theirs("h"), add("a", noTarget)}
	mirrored = []call{add("a", switched), add("b", switched)}
	byHand   = then(native, by(stepBack)) // in switch, without a target
)

var scenarios = []scenario{
	{"the first ADDs of a node", ipv4, nil, []call{add("a", noTarget), add("b", noTarget)}},
	{"ADD, ADD again and DEL in contract", ipv4, native, []call{add("c", noTarget), add("c", noTarget), del("a", noTarget)}},
	{"GC in contract", ipv4, native, []call{gc(noTarget, "b")}},
	{"the first ADD imports host-local's directory", ipv4, []call{theirs("h"), theirs("i")}, []call{add("a", noTarget), del("h", noTarget)}},
	{"the first call is the DEL of what host-local gave", ipv4, []call{theirs("h"), theirs("i")}, []call{del("h", noTarget), add("a", noTarget)}},
	{"host-local's directory has its first ADD in expand", ipv4, []call{theirs("h")}, []call{add("a", expand)}},
	{"ADD, ADD again and DEL in legacy", ipv4, []call{theirs("h"), add("a", legacy)}, []call{add("b", legacy), add("b", legacy), del("a", legacy), del("h", legacy)}},
	{"ADD and DEL in expand", ipv4, []call{theirs("h"), add("a", expand)}, []call{add("b", expand), del("a", expand), del("h", expand)}},
	{"ADD, ADD again and DEL in switch", ipv4, imported, []call{add("b", noTarget), add("b", noTarget), del("a", noTarget), del("h", noTarget)}},
	{"GC in switch", ipv4, mirrored, []call{gc(switched, "b")}},
	{"two addresses for each", both, []call{theirs("h")}, []call{add("a", noTarget), del("h", noTarget), add("b", noTarget)}},
	{"up by target", ipv4, []call{add("a", legacy)}, []call{add("b", expand), add("b", switched), add("b", contract)}},
	{"down by target", ipv4, native, []call{add("b", switched), add("b", expand), add("b", legacy)}},
	{"up by hand", ipv4, []call{add("a", legacy), add("b", noTarget)}, []call{by(stepForward), by(stepForward)}},
	{"to contract by hand", ipv4, byHand, []call{by(stepForward), add("c", noTarget)}},
	{"down by hand", ipv4, native, []call{by(stepBack), by(stepBack), by(stepBack)}},
	{"the step to contract and back at once", ipv4, mirrored, []call{add("c", contract), add("c", switched)}},
	{"the first ADD of a boot in switch", ipv4, before(add("a", switched), add("b", switched)), []call{add("c", switched), del("a", switched)}},
	{"the first ADD of a boot in expand", ipv4, before(add("a", expand), add("b", expand)), []call{add("a", expand)}},
	{"the first ADD of a boot in contract", ipv4, before(add("a", noTarget), add("b", noTarget)), []call{add("c", noTarget), del("b", noTarget)}},
	{"the checkpoint was lost with the boot before", ipv4, then(before(add("a", noTarget)), by(loseFile)), []call{add("b", noTarget), add("c", noTarget)}},
	{"the checkpoint was lost with the boot before, in switch", ipv4, then(before(add("a", switched)), by(loseFile)), []call{add("b", switched)}},
	{"host-local's directories were removed in switch", ipv4, then(mirrored, by(wipeNetworks)), []call{add("c", switched)}},
	{"the tombstone was removed", ipv4, then(native, by(wipeNetworks)), []call{add("c", noTarget)}},
	{"host-local gave an address meanwhile", ipv4, then(mirrored, theirs("h")), []call{add("c", switched), del("h", switched)}},
	{"a network is forgotten", ipv4, then(native, del("a", noTarget), del("b", noTarget)), []call{by(forget), add("c", noTarget)}},
	{"a network is forgotten in switch", ipv4, then(mirrored, del("a", switched), del("b", switched)), []call{by(forget), add("c", switched)}},
	{"a call is killed before its last sync", ipv4, native, []call{killed(add("c", noTarget), atCommit), add("c", noTarget)}},
	{"another call comes after one that was killed", ipv4, native, []call{killed(add("c", noTarget), atCommit), del("b", noTarget)}},
	{"an ADD in switch is killed before its last sync", ipv4, mirrored, []call{killed(add("c", switched), atCommit), del("a", switched)}},
	{"the creation is killed before its last sync", ipv4, nil, []call{killed(add("a", noTarget), atCreated), add("a", noTarget)}},
	{"the step to contract is killed before its last sync", ipv4, byHand, []call{killed(by(stepForward), atCommit), add("c", noTarget)}},
	{"the step to contract is killed before its swap is synced", ipv4, byHand, []call{killed(by(stepForward), atSwapped), add("c", noTarget)}},
	{"the step to switch is killed before its last sync", ipv4, native, []call{killed(by(stepBack), atCommit), add("c", noTarget)}},
	{"a damaged checkpoint is healed, and damaged again", ipv4, native, []call{by(damageFile), add("c", noTarget), by(damageFile), add("d", noTarget)}},
	{"a damaged checkpoint is healed in switch", ipv4, mirrored, []call{by(damageFile), add("c", switched)}},
	{"a backup is restored where the checkpoint was lost with the boot before", ipv4, then(before(add("a", noTarget)), by(backup), by(loseFile)), []call{by(restore), add("b", noTarget)}},
	{"a damaged checkpoint is repaired", ipv4, native, []call{by(damageFile), by(repair), add("c", noTarget)}},
	{"a damaged checkpoint is repaired from a backup", ipv4, then(native, by(backup)), []call{by(damageFile), by(restore), add("c", noTarget), by(damageFile), by(restore)}},
}
