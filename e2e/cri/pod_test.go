package cri

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/bolt-local/bolt-local/e2e/lab"
)

// pod is a sandbox that runs.
type pod struct {
	name, id string
	addrs    []netip.Addr
	pid      int            // of its first process
	ns       *lab.Namespace // as long as it runs
	inode    uint64         // of that
}

// run starts a pod.
func (n *node) run(t *testing.T, name string) *pod {
	t.Helper()
	id, err := n.tryRun(t, name)
	if err != nil {
		t.Fatalf("starting pod %s: %v", name, err)
	}
	p := &pod{name: name, id: id}
	n.look(t, p)
	return p
}

// look takes over what the runtime says of a pod that runs.
func (n *node) look(t *testing.T, p *pod) {
	t.Helper()
	status := n.status(t, p)
	p.addrs = status.addrs
	p.pid = status.pid
	p.ns = &lab.Namespace{Path: fmt.Sprintf("/proc/%d/ns/net", p.pid)}
	var st unix.Stat_t
	if err := unix.Stat(p.ns.Path, &st); err != nil {
		t.Fatalf("the namespace of pod %s: %v", p.name, err)
	}
	p.inode = st.Ino
}

func (n *node) runAll(t *testing.T, names ...string) []*pod {
	t.Helper()
	var pods []*pod
	for _, name := range names {
		pods = append(pods, n.run(t, name))
	}
	return pods
}

// tryRun may be used from any goroutine.
func (n *node) tryRun(t *testing.T, name string) (id string, err error) {
	resp, err := n.runtime.RunPodSandbox(t.Context(), &runtimeapi.RunPodSandboxRequest{Config: &runtimeapi.PodSandboxConfig{
		Metadata: &runtimeapi.PodSandboxMetadata{Name: name, Namespace: "default", Uid: "uid-of-" + name, Attempt: n.attempts.Add(1)},
		Hostname: name,
		Linux: &runtimeapi.LinuxPodSandboxConfig{
			CgroupParent: cgroup(t),
			SecurityContext: &runtimeapi.LinuxSandboxSecurityContext{
				NamespaceOptions: &runtimeapi.NamespaceOption{Pid: runtimeapi.NamespaceMode_CONTAINER},
			},
		},
	}})
	return resp.GetPodSandboxId(), err
}

// sandbox is what the runtime says of a pod.
type sandbox struct {
	ready bool
	addrs []netip.Addr
	pid   int
}

func (n *node) status(t *testing.T, p *pod) sandbox {
	t.Helper()
	resp, err := n.runtime.PodSandboxStatus(t.Context(), &runtimeapi.PodSandboxStatusRequest{PodSandboxId: p.id, Verbose: true})
	if err != nil {
		t.Fatalf("status of pod %s: %v", p.name, err)
	}
	s := sandbox{ready: resp.GetStatus().GetState() == runtimeapi.PodSandboxState_SANDBOX_READY}
	network := resp.GetStatus().GetNetwork()
	texts := []string{network.GetIp()}
	for _, more := range network.GetAdditionalIps() {
		texts = append(texts, more.GetIp())
	}
	for _, text := range texts {
		if text == "" {
			continue // its namespace is gone
		}
		addr, err := netip.ParseAddr(text)
		if err != nil {
			t.Fatalf("status of pod %s: %v", p.name, err)
		}
		s.addrs = append(s.addrs, addr)
	}
	var info struct {
		PID int `json:"pid"`
	}
	if err := json.Unmarshal([]byte(resp.GetInfo()["info"]), &info); err != nil {
		t.Fatalf("verbose info of pod %s: %v", p.name, err)
	}
	s.pid = info.PID
	return s
}

// stop and remove are what the kubelet asks for, in this order.
func (n *node) stop(t *testing.T, p *pod) {
	t.Helper()
	if err := n.tryStop(t, p); err != nil {
		t.Fatalf("stopping pod %s: %v", p.name, err)
	}
}

func (n *node) tryStop(t *testing.T, p *pod) error {
	_, err := n.runtime.StopPodSandbox(t.Context(), &runtimeapi.StopPodSandboxRequest{PodSandboxId: p.id})
	return err
}

func (n *node) remove(t *testing.T, p *pod) {
	t.Helper()
	if _, err := n.runtime.RemovePodSandbox(t.Context(), &runtimeapi.RemovePodSandboxRequest{PodSandboxId: p.id}); err != nil {
		t.Fatalf("removing pod %s: %v", p.name, err)
	}
}
