package churn

import (
	"net/netip"
	"path/filepath"
	"testing"
	"time"

	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/e2e/testenv"
	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/ipam/netns"
	"github.com/bolt-local/bolt-local/migrate"
	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/record"
)

func TestAMillionCallsLeaveNothingBehind(t *testing.T) {
	root := memory(t)
	l := &library{root: root, config: config(root), warn: func(line string) { t.Log(line) }}
	churn(t, number(t, libraryVariable, libraryCalls), filepath.Join(root, "data"), l)
}

func TestThousandsOfProcessesLeaveNothingBehind(t *testing.T) {
	root := memory(t)
	p := &processes{t: t, root: root, config: config(root), binary: testenv.Binary(t, lab.BoltLocal)}
	churn(t, number(t, processVariable, processCalls), filepath.Join(root, "data"), p)
}

// library calls the verbs in this process.
type library struct {
	root   string
	config []byte
	warn   func(string)
}

func (l *library) store() *store.Store {
	return store.New(filepath.Join(l.root, "data"), store.Options{Warn: l.warn})
}

func (l *library) plugin() *ipam.Plugin {
	p := &ipam.Plugin{
		Namespaces: &netns.System{},
		Now:        time.Now,
		BootTime:   func() time.Duration { return time.Minute },
		Orphaned:   func() bool { return false },
		Warn:       l.warn,
	}
	p.Open = func(cfg *ipam.Config) ipam.State {
		return migrate.State{Store: l.store(), Config: cfg, Namespaces: p.Namespaces, Stale: p.Stale, Warn: l.warn}
	}
	return p
}

func (l *library) call(id string) ipam.Call {
	return ipam.Call{ContainerID: id, IfName: "eth0", NetNS: filepath.Join(l.root, "no-netns", id), NetNSOverride: true, Stdin: l.config}
}

func (l *library) add(id string) (netip.Addr, error) {
	result, err := l.plugin().Add(l.call(id))
	if err != nil {
		return netip.Addr{}, err
	}
	r, err := current.GetResult(result)
	if err != nil {
		return netip.Addr{}, err
	}
	addr, _ := netip.AddrFromSlice(r.IPs[0].Address.IP)
	return addr.Unmap(), nil
}

func (l *library) del(id string) error { return l.plugin().Del(l.call(id)) }

func (l *library) held() (map[string]netip.Addr, error) {
	held := map[string]netip.Addr{}
	err := l.store().ReadWhole(func(tx *store.Tx) error {
		return tx.Network("churn").Each(func(a record.Allocation) error {
			held[a.Holders[0].ContainerID] = a.Addr
			return nil
		})
	})
	return held, err
}

// processes calls the binary.
type processes struct {
	t      *testing.T
	root   string
	config []byte
	binary string
}

func (p *processes) run(verb, id string) (lab.Reply, error) {
	reply, err := lab.Call{
		Verb: verb, ContainerID: id, IfName: "eth0", Config: p.config,
		NetNS: filepath.Join(p.root, "no-netns", id), AnyNetNS: true,
	}.Run(p.t.Context(), p.binary)
	if err == nil {
		err = reply.Error()
	}
	return reply, err
}

func (p *processes) add(id string) (netip.Addr, error) {
	reply, err := p.run("ADD", id)
	if err != nil {
		return netip.Addr{}, err
	}
	r, err := reply.Result()
	if err != nil {
		return netip.Addr{}, err
	}
	addr, _ := netip.AddrFromSlice(r.IPs[0].Address.IP)
	return addr.Unmap(), nil
}

func (p *processes) del(id string) error {
	_, err := p.run("DEL", id)
	return err
}

func (p *processes) held() (map[string]netip.Addr, error) {
	held := map[string]netip.Addr{}
	for _, n := range testenv.Dump(p.t, filepath.Join(p.root, "data")).Networks {
		for _, a := range n.Allocations {
			held[a.ContainerID] = a.IP
		}
	}
	return held, nil
}
