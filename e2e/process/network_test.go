package process

import (
	"encoding/json"
	"net/netip"
	"path/filepath"
	"testing"

	"github.com/containernetworking/cni/pkg/types"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/e2e/testenv"
)

// object is a JSON object.
type object = map[string]any

// network is one network, whose plugin is called directly.
type network struct {
	name    string
	subnet  string
	dataDir string
	binary  string
}

// newDataDir is a data directory that does not exist yet.
func newDataDir(t *testing.T) string { return filepath.Join(t.TempDir(), "data") }

// config is the network's configuration, with more keys at its top.
func (n network) config(more object) []byte {
	ipam := object{
		"type":        lab.BoltLocal,
		"dataDir":     n.dataDir,
		"ranges":      [][]object{{{"subnet": n.subnet}}},
		"lockTimeout": "1m", // a busy machine is no fault
		// The machine's own caches are not this network's.
		"cniCacheDirs": []string{filepath.Join(n.dataDir, "no-cache")},
	}
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
func (n network) call(verb, containerID string) lab.Call {
	return lab.Call{
		Verb:        verb,
		ContainerID: containerID,
		IfName:      "eth0",
		NetNS:       filepath.Join(n.dataDir, "no-netns", containerID),
		AnyNetNS:    true,
		Config:      n.config(nil),
	}
}

// gc is a GC that lists the containers that live.
func (n network) gc(alive ...string) lab.Call {
	return lab.Call{Verb: "GC", Config: n.config(object{"cni.dev/valid-attachments": lab.Valid(alive...)})}
}

// run makes the call, and fails the test if the verb fails. It may be used
// from any goroutine.
func (n network) run(t *testing.T, call lab.Call) lab.Reply {
	t.Helper()
	reply, err := call.Run(t.Context(), n.binary)
	if err == nil {
		err = reply.Error()
	}
	if err != nil {
		t.Errorf("%s of %s in %s: %v", call.Verb, call.ContainerID, n.name, err)
	}
	return reply
}

// maxTries bounds persist.
const maxTries = 20

// persist makes the call again while the lock cannot be had in time, as
// runtimes do. It returns the last reply and the number of calls before it.
func (n network) persist(t *testing.T, call lab.Call) (reply lab.Reply, before int) {
	t.Helper()
	for ; before < maxTries; before++ {
		var err error
		if reply, err = call.Run(t.Context(), n.binary); err != nil {
			t.Error(err)
			return reply, before
		}
		if reply.ErrorCode() != types.ErrTryAgainLater {
			break
		}
	}
	if err := reply.Error(); err != nil {
		t.Errorf("%s of %s in %s: %v", call.Verb, call.ContainerID, n.name, err)
	}
	return reply, before
}

// add attaches the container and returns its address, the zero one if that
// failed.
func (n network) add(t *testing.T, containerID string) netip.Addr {
	t.Helper()
	return testenv.Address(t, n.run(t, n.call("ADD", containerID)))
}

// holdings maps each container of the network to the address that it holds.
// That an address or a container comes twice fails the test.
func (n network) holdings(t *testing.T, dump lab.Dump) map[string]netip.Addr {
	t.Helper()
	byContainer := map[string]netip.Addr{}
	byAddress := map[netip.Addr]string{}
	for _, a := range dump.Allocations(n.name) {
		if other, ok := byAddress[a.IP]; ok {
			t.Errorf("%s is held by %s and by %s", a.IP, other, a.ContainerID)
		}
		if other, ok := byContainer[a.ContainerID]; ok {
			t.Errorf("%s holds %s and %s", a.ContainerID, other, a.IP)
		}
		byAddress[a.IP], byContainer[a.ContainerID] = a.ContainerID, a.IP
	}
	return byContainer
}

// dump is what the network's data directory holds.
func (n network) dump(t *testing.T) map[string]netip.Addr {
	t.Helper()
	return n.holdings(t, testenv.Dump(t, n.dataDir))
}
