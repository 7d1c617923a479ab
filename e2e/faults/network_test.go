package faults

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/e2e/testenv"
)

// object is a JSON object.
type object = map[string]any

// The targets of ipam.migration.phase, and the phases that dump shows.
const (
	legacy   = "legacy"
	expand   = "expand"
	switched = "switch" // switch is a keyword
	contract = "contract"

	noTarget = ""
)

// network is one network, whose IPAM plugins are called directly.
type network struct {
	name     string
	root     string // all that may be written is below it
	parent   string // host-local's dataDir
	dataDir  string // bolt-local's
	cacheDir string // libcni's results

	hostLocal, boltLocal string // the binaries
}

// newNetwork is a network that nobody has used yet.
func newNetwork(t *testing.T) network {
	t.Helper()
	root := t.TempDir()
	return network{
		name:      "pods",
		root:      root,
		parent:    filepath.Join(root, "networks"),
		dataDir:   filepath.Join(root, "bolt-local"),
		cacheDir:  filepath.Join(root, "results"),
		hostLocal: testenv.Binary(t, lab.HostLocal),
		boltLocal: testenv.Binary(t, lab.BoltLocal),
	}
}

// dir is host-local's directory of the network, or its tombstone.
func (n network) dir() string { return filepath.Join(n.parent, n.name) }

func (n network) checkpoint() string { return filepath.Join(n.dataDir, "checkpoint.db") }

// backup is where the tests put one.
func (n network) backup() string { return filepath.Join(n.root, "backup.db") }

// plugin is one binary with the configuration that it is called with.
type plugin struct {
	network
	binary string
	config []byte
}

// theirs is host-local.
func (n network) theirs() plugin {
	return plugin{network: n, binary: n.hostLocal, config: n.configuration(lab.HostLocal, object{"dataDir": n.parent}, nil)}
}

// ours is bolt-local with a target.
func (n network) ours(target string) plugin { return n.configured(target, nil) }

// configured is ours, with more keys at the configuration's top.
func (n network) configured(target string, more object) plugin {
	migration := object{"hostLocalDir": n.parent}
	if target != noTarget {
		migration["phase"] = target
	}
	ipam := object{"dataDir": n.dataDir, "cniCacheDirs": []string{n.cacheDir}, "migration": migration}
	return plugin{network: n, binary: n.boltLocal, config: n.configuration(lab.BoltLocal, ipam, more)}
}

// sweeper is ours with the containers that live, for GC.
func (n network) sweeper(target string, alive ...string) plugin {
	return n.configured(target, object{"cni.dev/valid-attachments": lab.Valid(alive...)})
}

func (n network) configuration(ipamType string, ipam, more object) []byte {
	ipam["type"] = ipamType
	ipam["ranges"] = [][]object{{{"subnet": "10.96.0.0/24"}}}
	conf := object{"cniVersion": "1.1.0", "name": n.name, "type": "bridge", "ipam": ipam}
	for key, value := range more {
		conf[key] = value
	}
	data, err := json.Marshal(conf)
	if err != nil {
		panic(err) // of strings and lists only
	}
	return data
}

// call is a call for the container's eth0. Its namespace does not exist, so
// nothing can be told from it.
func (p plugin) call(verb, containerID string) lab.Call {
	return lab.Call{
		Verb:        verb,
		ContainerID: containerID,
		IfName:      "eth0",
		NetNS:       "/var/run/netns/none-of-ours",
		AnyNetNS:    true,
		Config:      p.config,
	}
}

// run makes a call, and fails the test if the verb fails.
func (p plugin) run(t *testing.T, verb, containerID string) lab.Reply {
	t.Helper()
	reply, err := p.call(verb, containerID).Run(t.Context(), p.binary)
	if err == nil {
		err = reply.Error()
	}
	if err != nil {
		t.Errorf("%s: %s of %s: %v", filepath.Base(p.binary), verb, containerID, err)
	}
	return reply
}
