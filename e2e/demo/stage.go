package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/containernetworking/cni/libcni"
	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/bolt-local/bolt-local/e2e/lab"
)

const networkName = "podnet"

// stage is a node with its runtime, and two pods.
type stage struct {
	dir          string // all files of the demo
	node         *lab.Namespace
	web, db, job *pod
	runtime      *lab.Runtime
	list         *libcni.NetworkConfigList
}

// pod is a container with a namespace.
type pod struct {
	*libcni.RuntimeConf
	ns     *lab.Namespace
	result *current.Result
}

// newStage makes the directory of the demo; the story makes the rest.
func newStage() (*stage, error) {
	dir, err := os.MkdirTemp("", "bolt-demo-")
	return &stage{dir: dir}, err
}

func (s *stage) binDir() string     { return filepath.Join(s.dir, "bin") }
func (s *stage) dataDir() string    { return filepath.Join(s.dir, "data") }
func (s *stage) cache() string      { return filepath.Join(s.dir, "cache") }
func (s *stage) configFile() string { return filepath.Join(s.dir, networkName+".conflist") }

// hostLocalDir is where host-local keeps the network, and bolt-local as well.
func (s *stage) hostLocalDir() string { return filepath.Join(s.dataDir(), networkName) }

// newPod makes a container's namespace.
func newPod(name string) (*pod, error) {
	ns, err := lab.NewNamespace(name)
	if err != nil {
		return nil, err
	}
	command("ip netns add %s", ns.Name)
	return &pod{
		RuntimeConf: &libcni.RuntimeConf{
			ContainerID: name,
			NetNS:       ns.Path,
			IfName:      "eth0",
			// As kubelet's runtimes do.
			Args: [][2]string{
				{"IgnoreUnknown", "1"},
				{"K8S_POD_NAMESPACE", "default"},
				{"K8S_POD_NAME", name},
			},
		},
		ns: ns,
	}, nil
}

// add attaches the pod and says what it got.
func (s *stage) add(ctx context.Context, p *pod) error {
	call("ADD %s eth0", p.ContainerID)
	var err error
	if p.result, err = s.runtime.AddPod(ctx, s.list, p.RuntimeConf); err != nil {
		return err
	}
	var got []string
	for _, ip := range p.result.IPs {
		got = append(got, fmt.Sprintf("%v, gateway %v", &ip.Address, ip.Gateway))
	}
	output(strings.Join(got, "\n"))
	return nil
}

// addresses are those of the pod.
func (p *pod) addresses() []netip.Addr {
	var out []netip.Addr
	for _, ip := range p.result.IPs {
		if a, ok := netip.AddrFromSlice(ip.Address.IP); ok {
			out = append(out, a.Unmap())
		}
	}
	return out
}

// tool runs bolt-local's command line and shows what it prints.
func (s *stage) tool(ctx context.Context, name string) error {
	command("bolt-local %s --data-dir %s", name, s.dataDir())
	out, err := lab.Tool(ctx, filepath.Join(s.binDir(), lab.BoltLocal), name, "--data-dir", s.dataDir())
	if err != nil {
		return err
	}
	output(string(out))
	return nil
}

// show lists the files in a directory.
func (s *stage) show(dir string) error {
	command("ls %s", dir)
	entries, err := os.ReadDir(dir)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	output(strings.Join(names, "\n"))
	return err
}

// held are all allocations that bolt-local knows.
func (s *stage) held(ctx context.Context) ([]lab.Allocation, error) {
	d, err := lab.ReadDump(ctx, filepath.Join(s.binDir(), lab.BoltLocal), s.dataDir())
	return d.Allocations(networkName), err
}

// clear takes everything down, and adds to err what could not be.
func (s *stage) clear(err error) error {
	errs := []error{err}
	for _, ns := range s.namespaces() {
		errs = append(errs, ns.Close())
	}
	if s.dir != "" {
		errs = append(errs, os.RemoveAll(s.dir))
	}
	return errors.Join(errs...)
}

func (s *stage) namespaces() []*lab.Namespace {
	var out []*lab.Namespace
	for _, p := range []*pod{s.web, s.db, s.job} {
		if p != nil {
			out = append(out, p.ns)
		}
	}
	if s.node != nil {
		out = append(out, s.node)
	}
	return out
}
