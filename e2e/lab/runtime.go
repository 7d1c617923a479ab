package lab

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/cni/pkg/invoke"
	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/cni/pkg/version"
)

// Runtime plays a container runtime on a node: libcni, which calls the
// plugins in the node's namespace.
type Runtime struct {
	*libcni.CNIConfig
	exec *nodeExec
}

// NewRuntime makes a runtime that finds its plugins in binDir and keeps
// libcni's cache in cacheDir.
func NewRuntime(node *Namespace, binDir, cacheDir string) *Runtime {
	exec := &nodeExec{node: node}
	exec.RawExec = &invoke.RawExec{Stderr: &exec.stderr}
	return &Runtime{
		CNIConfig: libcni.NewCNIConfigWithCacheDir([]string{binDir}, cacheDir, exec),
		exec:      exec,
	}
}

// AddPod attaches a container to the network and returns the result in the
// newest version.
func (r *Runtime) AddPod(ctx context.Context, list *libcni.NetworkConfigList, rt *libcni.RuntimeConf) (*current.Result, error) {
	result, err := r.AddNetworkList(ctx, list, rt)
	if err != nil {
		return nil, fmt.Errorf("ADD of %s to %s: %w", rt.ContainerID, list.Name, err)
	}
	return current.NewResultFromResult(result)
}

// Attachment is how GC names what rt attached.
func Attachment(rt *libcni.RuntimeConf) types.GCAttachment {
	return types.GCAttachment{ContainerID: rt.ContainerID, IfName: rt.IfName}
}

// Stderr is what the plugins have printed there so far.
func (r *Runtime) Stderr() string { return r.exec.stderr.String() }

// nodeExec runs plugins in a namespace.
type nodeExec struct {
	*invoke.RawExec
	version.PluginDecoder
	node   *Namespace
	stderr syncBuffer
}

// ExecPlugin overrides that of RawExec.
func (e *nodeExec) ExecPlugin(ctx context.Context, path string, stdin []byte, env []string) (stdout []byte, err error) {
	// A failed plugin is told apart by the type of its error, which Do
	// would hide.
	var pluginErr error
	err = e.node.Do(func() error {
		stdout, pluginErr = e.RawExec.ExecPlugin(ctx, path, stdin, env)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return stdout, pluginErr
}

// syncBuffer is a buffer that concurrent calls may write.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
