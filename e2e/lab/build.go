package lab

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// The binaries that Build can make.
const (
	Agent     = "bolt-local-agent"
	BoltLocal = "bolt-local"
	Bridge    = "bridge"
	CNITool   = "cnitool"
	HostLocal = "host-local"
	Loopback  = "loopback"
	Macvlan   = "macvlan"
	Pause     = "pause" // all that a pod of e2e/cri runs
	PTP       = "ptp"
	Static    = "static"

	// BoltLocalFailpoints is bolt-local with the tag failpoints: the environment
	// says where it is killed (package internal/failpoint).
	BoltLocalFailpoints = "bolt-local-failpoints"
)

const (
	productModule = "github.com/bolt-local/bolt-local"
	thisModule    = productModule + "/e2e"
	ourPackage    = productModule + "/cmd/bolt-local"
	agentPackage  = productModule + "/cmd/bolt-local-agent"
)

// packages maps a binary to its package. Their versions stand in this
// module's go.mod; the product comes from the checkout.
var packages = map[string]string{
	Agent:               agentPackage,
	BoltLocal:           ourPackage,
	BoltLocalFailpoints: ourPackage,
	Bridge:              "github.com/containernetworking/plugins/plugins/main/bridge",
	CNITool:             "github.com/containernetworking/cni/cnitool",
	HostLocal:           "github.com/containernetworking/plugins/plugins/ipam/host-local",
	Loopback:            "github.com/containernetworking/plugins/plugins/main/loopback",
	Macvlan:             "github.com/containernetworking/plugins/plugins/main/macvlan",
	Pause:               thisModule + "/cri/pause",
	PTP:                 "github.com/containernetworking/plugins/plugins/main/ptp",
	Static:              "github.com/containernetworking/plugins/plugins/ipam/static",
}

// Programs are the names of all binaries.
func Programs() []string { return slices.Sorted(maps.Keys(packages)) }

// Build builds the named binaries into dir. It has to run within this module,
// as tests and `go run` do.
func Build(ctx context.Context, dir string, names ...string) error {
	root, err := moduleDir(ctx)
	if err != nil {
		return err
	}
	var ours, theirs []string
	failpoints := false
	for _, name := range names {
		pkg, ok := packages[name]
		switch {
		case !ok:
			return fmt.Errorf("build: no package is known for %q", name)
		case name == BoltLocalFailpoints:
			failpoints = true
		case name == BoltLocal, name == Agent:
			ours = append(ours, pkg)
		default:
			theirs = append(theirs, pkg)
		}
	}
	// The product is a module of its own, so it is built from there.
	product, into := filepath.Dir(root), dir+string(filepath.Separator)
	if failpoints {
		err := goBuild(ctx, product, filepath.Join(dir, BoltLocalFailpoints), []string{ourPackage}, "-tags", "failpoints")
		if err != nil {
			return err
		}
	}
	if err := goBuild(ctx, product, into, ours); err != nil {
		return err
	}
	return goBuild(ctx, root, into, theirs)
}

// goBuild builds statically, as the product is shipped, into the file output,
// or into a directory if that ends in a separator.
func goBuild(ctx context.Context, module, output string, pkgs []string, flags ...string) error {
	if len(pkgs) == 0 {
		return nil
	}
	args := append([]string{"build", "-C", module, "-o", output}, flags...)
	args = append(args, pkgs...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w\n%s", strings.Join(pkgs, " "), err, out)
	}
	return nil
}

// moduleDir is the directory of this module's go.mod.
func moduleDir(ctx context.Context) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", thisModule)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("finding module %s: %w\n%s", thisModule, err, stderr.String())
	}
	return strings.TrimSpace(string(out)), nil
}
