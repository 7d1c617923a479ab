package damage

import (
	"encoding/json"
	"strings"
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

// row is where it counts in the table.
func (c trial) row() string {
	switch {
	case c.heals():
		return "checkpoint: " + c.Checkpoint + ", with its journal"
	case c.Lock == whole && c.Journal == "gone":
		return "checkpoint: " + c.Checkpoint + ", without its journal"
	case c.Lock == whole:
		return "journal: " + c.Journal
	}
	return "lock: " + c.Lock
}

// group is what docs/reliability.md counts together.
func (c trial) group() string {
	switch {
	case c.Lock != whole:
		return "all of lock"
	case c.Journal != whole && c.Journal != "gone":
		return "all of journal"
	case strings.HasPrefix(c.Checkpoint, "cut"):
		return "all of cuts"
	case strings.Contains(c.Checkpoint, "page k"):
		return "all of pages in the place of others"
	case strings.Contains(c.Checkpoint, "bit"):
		return "all of flipped bits"
	case strings.Contains(c.Checkpoint, "page n"):
		return "all of other pages"
	}
	return "all of whole files"
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

// othersOnly: what is beside the checkpoint is another node's, and fits itself.
func (c trial) othersOnly() bool { return c.Journal == "another's" && c.Lock == "another's" }

// withOrWithout tells whether the journal is whole.
func (c trial) withOrWithout() string {
	if c.heals() {
		return " with the journal"
	}
	return " without it"
}
