package faults

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/bolt-local/bolt-local/e2e/trace"
)

const bootIDFile = "/proc/sys/kernel/random/boot_id"

// point is one system call of a call of bolt-local.
type point struct {
	call string
	file string // below the network's root, "boot_id", or two files with a space between
	nth  int    // of these calls on this file, from 1 on
	like trace.Call

	onFullDisk, overQuota bool // it fails there
}

func (p point) String() string { return fmt.Sprintf("%s %s %d", p.call, p.file, p.nth) }

// random are the parts of names that are others in each run: of files without a
// name, as /proc shows them, of temporary ones, and times.
var random = regexp.MustCompile(`#\d+ \(deleted\)$|\d{8}T\d{6}Z|-\d{6,}`)

// file names the files of a call, "" for one that is not the network's. It is the
// same name in each run.
func (n network) file(c *trace.Call) string {
	name := n.relative(c.Path)
	if second := n.relative(c.NewPath); second != "" { // of an unnamed file the first is a descriptor
		name = strings.TrimSpace(name + " " + second)
	}
	return name
}

func (n network) relative(path string) string {
	if path == bootIDFile {
		return "boot_id"
	}
	rest, ok := strings.CutPrefix(filepath.Clean(path), n.root)
	switch {
	case path == "" || !ok || rest != "" && rest[0] != '/':
		return ""
	case rest == "":
		return "."
	}
	return random.ReplaceAllString(rest[1:], "*")
}

// match finds the point again in another run.
func (p point) match(n network) func(*trace.Call) bool {
	return func(c *trace.Call) bool { return c.Name == p.call && n.file(c) == p.file }
}

// record makes the call without a fault and returns its points: the system calls
// that touch the network's files or the boot id. The start of the process is not
// among them.
func (f faulty) record(t *testing.T) []point {
	t.Helper()
	n := newNetwork(t)
	f.prepare(t, n)
	var all []point
	times := map[string]int{}
	o := run(t, f.process(n), func(c *trace.Call) trace.Effect {
		if file := n.file(c); file != "" {
			key := c.Name + " " + file
			times[key]++
			all = append(all, point{
				call: c.Name, file: file, nth: times[key], like: *c,
				onFullDisk: fullDisk(c).Errno != 0, overQuota: quotaReached(c).Errno != 0,
			})
		}
		return trace.Effect{}
	})
	if o.ExitCode != 0 {
		t.Fatalf("without a fault it ends with %d: %s%s", o.ExitCode, o.Stdout, o.Stderr)
	}
	return all
}
