package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/cni/pkg/types/create"
)

// Call is one call of a plugin: its CNI environment and its stdin.
type Call struct {
	Verb        string // CNI_COMMAND
	ContainerID string
	IfName      string
	NetNS       string
	Args        string // CNI_ARGS
	Path        string // CNI_PATH
	Config      []byte

	// AnyNetNS sets CNI_NETNS_OVERRIDE: the plugin then accepts its own
	// namespace as CNI_NETNS, and so can be called without root.
	AnyNetNS bool

	// MoreEnv are further variables, as "name=value".
	MoreEnv []string

	// Credential, if set, is the user that the plugin runs as.
	Credential *syscall.Credential

	// Node is the namespace that the plugin runs in; nil is the caller's.
	Node *Namespace

	// KillAfter, if positive, is the time after which the plugin gets
	// SIGKILL.
	KillAfter time.Duration
}

// Reply is what a plugin did with a call.
type Reply struct {
	Stdout, Stderr []byte
	ExitCode       int
	Killed         bool          // by KillAfter
	Took           time.Duration // from its start to its end
}

// Env is the environment of the call. Only what the plugin is told is in it,
// and PATH, for the main plugins run other programs.
func (c Call) Env() []string {
	path := c.Path
	if path == "" {
		path = "/nowhere" // required of every caller, used by main plugins only
	}
	env := []string{
		"PATH=" + os.Getenv("PATH"),
		"CNI_COMMAND=" + c.Verb,
		"CNI_CONTAINERID=" + c.ContainerID,
		"CNI_IFNAME=" + c.IfName,
		"CNI_NETNS=" + c.NetNS,
		"CNI_ARGS=" + c.Args,
		"CNI_PATH=" + path,
	}
	if c.AnyNetNS {
		env = append(env, "CNI_NETNS_OVERRIDE=1")
	}
	return append(env, c.MoreEnv...)
}

// Run calls the plugin. The error is of starting it; a plugin that fails is
// not one.
func (c Call) Run(ctx context.Context, binary string) (Reply, error) {
	cmd := exec.CommandContext(ctx, binary)
	cmd.Env = c.Env()
	cmd.Stdin = bytes.NewReader(c.Config)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if c.Credential != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.Credential}
	}

	if err := c.start(cmd); err != nil {
		return Reply{}, err
	}
	start := time.Now() // many starts at once wait for each other
	if c.KillAfter > 0 {
		timer := time.AfterFunc(c.KillAfter, func() { _ = cmd.Process.Kill() })
		defer timer.Stop()
	}
	err := cmd.Wait()
	var exit *exec.ExitError
	// A plugin that is gone before it has read its stdin breaks the pipe.
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, syscall.EPIPE) {
		return Reply{}, err
	}
	status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
	return Reply{
		Stdout:   stdout.Bytes(),
		Stderr:   stderr.Bytes(),
		ExitCode: cmd.ProcessState.ExitCode(),
		Killed:   status.Signaled() && status.Signal() == syscall.SIGKILL,
		Took:     time.Since(start),
	}, nil
}

func (c Call) start(cmd *exec.Cmd) error {
	if c.Node == nil {
		return cmd.Start()
	}
	// A child begins in the namespace of the thread that starts it.
	return c.Node.Do(cmd.Start)
}

// Valid is the list of a GC: the eth0 of each container. It is never null.
func Valid(containerIDs ...string) []types.GCAttachment {
	valid := []types.GCAttachment{}
	for _, id := range containerIDs {
		valid = append(valid, types.GCAttachment{ContainerID: id, IfName: "eth0"})
	}
	return valid
}

// Failed reports whether the plugin says that the verb failed.
func (r Reply) Failed() bool { return r.ExitCode != 0 }

// Result decodes the answer to an ADD, of any version of the spec.
func (r Reply) Result() (*current.Result, error) {
	if r.Failed() {
		return nil, r.Error()
	}
	var v struct {
		CNIVersion string `json:"cniVersion"`
	}
	if err := json.Unmarshal(r.Stdout, &v); err != nil {
		return nil, fmt.Errorf("decoding result %q: %w", r.Stdout, err)
	}
	result, err := create.Create(v.CNIVersion, r.Stdout)
	if err != nil {
		return nil, fmt.Errorf("decoding result %q: %w", r.Stdout, err)
	}
	return current.NewResultFromResult(result)
}

// Error decodes the error that the plugin printed. It is nil if the verb did
// not fail, and never of another type than *types.Error.
func (r Reply) Error() error {
	if !r.Failed() {
		return nil
	}
	var e types.Error
	if err := json.Unmarshal(r.Stdout, &e); err != nil || e.Code == 0 {
		return &types.Error{
			Code: types.ErrInternal,
			Msg: fmt.Sprintf("exit code %d without a CNI error: stdout %q, stderr %q",
				r.ExitCode, r.Stdout, r.Stderr),
		}
	}
	return &e
}

// ErrorCode is the CNI error code that the plugin printed, 0 for none.
func (r Reply) ErrorCode() uint {
	var e *types.Error
	if errors.As(r.Error(), &e) {
		return e.Code
	}
	return 0
}
