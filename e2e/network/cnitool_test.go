package network

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/e2e/testenv"
)

// inPrivateCache runs "$@" where /var/lib/cni is the directory $0, and
// nowhere else: cnitool cannot be told another place for libcni's cache.
const inPrivateCache = `set -e
mount -t tmpfs tmpfs /var/lib
mkdir /var/lib/cni
mount --bind "$0" /var/lib/cni
exec "$@"`

// cnitool runs cnitool for the pod, and returns its stdout.
func (n *node) cnitool(t *testing.T, confDir, verb, network string, p *pod) ([]byte, error) {
	t.Helper()
	testenv.NeedProgram(t, "unshare", "util-linux")
	cmd := exec.CommandContext(t.Context(), "unshare", "--mount", "--",
		"sh", "-c", inPrivateCache, n.cacheDir,
		testenv.Binary(t, lab.CNITool), verb, network, p.NetNS)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "NETCONFPATH=" + confDir, "CNI_PATH=" + n.binDir}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := n.ns.Do(cmd.Run); err != nil {
		return nil, fmt.Errorf("cnitool %s: %w: %s", verb, err, stderr.String())
	}
	return stdout.Bytes(), nil
}

// adopt makes the pod the one that cnitool speaks of: it derives the id from
// the namespace.
func (n *node) adopt(t *testing.T, network string, p *pod, stdout []byte) {
	t.Helper()
	p.result = new(current.Result)
	if err := json.Unmarshal(stdout, p.result); err != nil {
		t.Fatalf("cnitool add printed no result: %v: %s", err, stdout)
	}
	for _, a := range testenv.Dump(t, n.dataDir).Allocations(network) {
		if a.NetNS == p.NetNS {
			p.ContainerID = a.ContainerID
		}
	}
	if !strings.HasPrefix(p.ContainerID, "cnitool-") {
		t.Fatalf("dump shows no allocation of cnitool in %s", p.NetNS)
	}
}

func TestCNITool(t *testing.T) {
	n := newNode(t, lab.Bridge)
	const network = "tool"
	confDir := t.TempDir()
	conf := conflistJSON(t, network, bridge(n.ipam()))
	if err := os.WriteFile(filepath.Join(confDir, "10-tool.conflist"), conf, 0o644); err != nil {
		t.Fatal(err)
	}
	run := func(verb string, p *pod) []byte {
		t.Helper()
		stdout, err := n.cnitool(t, confDir, verb, network, p)
		if err != nil {
			t.Fatal(err)
		}
		return stdout
	}
	web, db := newPod(t, "web"), newPod(t, "db")
	n.adopt(t, network, web, run("add", web))
	n.adopt(t, network, db, run("add", db))
	n.expectHeld(t, network, web, db)
	expectPing(t, web, db)

	run("check", web)
	run("status", web)
	run("del", web)
	n.expectHeld(t, network, db)
	if _, err := n.cnitool(t, confDir, "check", network, web); err == nil {
		t.Error("cnitool check succeeds after del")
	}

	// libcni sends a DEL for each attachment that it remembers.
	run("gc", db)
	n.expectHeld(t, network)
}
