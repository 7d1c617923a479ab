package differential

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/e2e/testenv"
)

// peer is one of the two plugins with a data directory.
type peer struct {
	name   string
	binary string
	ipam   object // what it needs in ipam
	dir    string
}

// newPeers are both plugins, each with an empty data directory.
func newPeers(t *testing.T) (hostLocal, boltLocal *peer) {
	t.Helper()
	newPeer := func(name string) *peer {
		dir := filepath.Join(t.TempDir(), name)
		return &peer{
			name:   name,
			binary: testenv.Binary(t, name),
			dir:    dir,
			ipam:   object{"type": name, "dataDir": dir},
		}
	}
	hostLocal, boltLocal = newPeer(lab.HostLocal), newPeer(lab.BoltLocal)
	// The machine's own caches are not this network's.
	boltLocal.ipam["cniCacheDirs"] = []string{filepath.Join(boltLocal.dir, "no-cache")}
	return hostLocal, boltLocal
}

// step is one call of both plugins.
type step struct {
	verb    string
	id      string
	ifname  string
	cniArgs string // CNI_ARGS
	request request
}

// outcome is what a plugin did with a step.
type outcome struct {
	lab.Reply
	answer any // stdout, decoded; nil if it printed nothing
}

// call makes the step a call of the plugin.
func (p *peer) call(c config, s step) lab.Call {
	return lab.Call{
		Verb:        s.verb,
		ContainerID: s.id,
		IfName:      s.ifname,
		NetNS:       "/nowhere/netns", // nothing can be told from it
		Args:        s.cniArgs,
		AnyNetNS:    true,
		Config:      c.json(s.request, p.ipam),
	}
}

// run calls the plugin. That it prints no JSON is an error.
func (p *peer) run(t *testing.T, c config, s step) outcome {
	t.Helper()
	reply, err := p.call(c, s).Run(t.Context(), p.binary)
	if err != nil {
		t.Fatalf("%s: %v", p.name, err)
	}
	o := outcome{Reply: reply}
	if len(bytes.TrimSpace(reply.Stdout)) > 0 {
		if err := json.Unmarshal(reply.Stdout, &o.answer); err != nil {
			t.Fatalf("%s %s: stdout is no JSON: %v: %s", p.name, s.verb, err, reply.Stdout)
		}
	}
	return o
}

// runBoth makes one step with both plugins at once.
func runBoth(t *testing.T, hostLocal, boltLocal *peer, c config, s step) (hl, bl outcome) {
	t.Helper()
	var wg sync.WaitGroup
	wg.Go(func() { hl = hostLocal.run(t, c, s) })
	bl = boltLocal.run(t, c, s)
	wg.Wait()
	return hl, bl
}

// agree says how two outcomes differ, nil if they do not. Of failures the
// codes and texts may differ; but bolt-local has to name a code of the spec or
// of its own, while host-local has 999, "internal", for most.
func agree(hl, bl outcome) error {
	switch {
	case hl.Failed() && bl.Failed():
		return expectOwnCode(bl)
	case hl.Failed() != bl.Failed():
		return fmt.Errorf("only one of them failed")
	case !reflect.DeepEqual(hl.answer, bl.answer):
		return fmt.Errorf("the answers differ")
	}
	return nil
}

// internalCode is what the CNI library uses for an error without a code.
const internalCode = 999

// expectOwnCode checks that a failure has a code that means something.
func expectOwnCode(bl outcome) error {
	if code := bl.ErrorCode(); !bl.Failed() || code == 0 || code == internalCode {
		return fmt.Errorf("bolt-local's error has code %d: %w", code, bl.Error())
	}
	return nil
}

// shell is the step as one line that can be pasted into a shell.
func (p *peer) shell(c config, s step) string {
	call := p.call(c, s)
	var line strings.Builder
	fmt.Fprintf(&line, "echo %s | env", quote(string(call.Config)))
	for _, variable := range call.Env() {
		if strings.HasPrefix(variable, "CNI_") {
			fmt.Fprintf(&line, " %s", quote(variable))
		}
	}
	fmt.Fprintf(&line, " %s", p.name)
	return line.String()
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
