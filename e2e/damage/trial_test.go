package damage

import (
	"encoding/json"
	"fmt"
)

// trial is what is done to the files of a node, and how it goes on. As JSON it
// repeats a case.
type trial struct {
	// How each file is spoiled: a key of the spoilers.
	Checkpoint string
	Journal    string
	Lock       string
	// N and K say where, Seed decides what is left to chance.
	N, K int    `json:",omitempty"`
	Seed uint64 `json:",omitempty"`
	// Big: the checkpoint is too big to be looked at by each call.
	Big bool `json:",omitempty"`
	// Processes: each call is a process of the real binary. A big file can end
	// the process.
	Processes bool `json:",omitempty"`
	// OpenFirst: the network in switch is called before the other.
	OpenFirst bool `json:",omitempty"`
	// Backup: `repair` is given a backup.
	Backup bool `json:",omitempty"`
}

func (c trial) String() string {
	b, err := json.Marshal(c)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// kind is the row of the table that it counts in.
func (c trial) kind() string {
	k := c.Checkpoint
	switch {
	case c.Journal == whole && c.Lock == whole:
		return k + " | all else whole"
	case c.Journal == "gone" && c.Lock == whole:
		return k + " | journal gone"
	case c.Lock == whole:
		return fmt.Sprintf("%s | journal: %s", k, c.Journal)
	}
	return fmt.Sprintf("%s | journal: %s | lock: %s", k, c.Journal, c.Lock)
}

// order is the networks in the order in which they are called.
func (c trial) order() []string {
	if c.OpenFirst {
		return []string{open, shut}
	}
	return []string{shut, open}
}

// heals: everything has to be back after one ADD.
func (c trial) heals() bool { return c.Journal == whole && c.Lock == whole }

// untold: nothing is left that tells of the damage. An older copy without lock
// and journal is what the node was.
func (c trial) untold() bool {
	return c.Lock != whole && c.Journal != whole && (c.Checkpoint == "an older copy" || c.Checkpoint == "gone")
}

// withOrWithout tells whether the journal is whole.
func (c trial) withOrWithout() string {
	if c.heals() {
		return " with the journal"
	}
	return " without it"
}
