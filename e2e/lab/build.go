package lab

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// The binaries that Build can make.
const (
	BoltLocal = "bolt-local"
	Bridge    = "bridge"
	CNITool   = "cnitool"
	HostLocal = "host-local"
	Loopback  = "loopback"
	Macvlan   = "macvlan"
	PTP       = "ptp"
)

const (
	productModule = "github.com/bolt-local/bolt-local"
	thisModule    = productModule + "/e2e"
)

// packages maps a binary to its package. Their versions stand in this
// module's go.mod; the product comes from the checkout.
var packages = map[string]string{
	BoltLocal: productModule + "/cmd/bolt-local",
	Bridge:    "github.com/containernetworking/plugins/plugins/main/bridge",
	CNITool:   "github.com/containernetworking/cni/cnitool",
	HostLocal: "github.com/containernetworking/plugins/plugins/ipam/host-local",
	Loopback:  "github.com/containernetworking/plugins/plugins/main/loopback",
	Macvlan:   "github.com/containernetworking/plugins/plugins/main/macvlan",
	PTP:       "github.com/containernetworking/plugins/plugins/main/ptp",
}

// Build builds the named binaries into dir. It has to run within this module,
// as tests and `go run` do.
func Build(ctx context.Context, dir string, names ...string) error {
	root, err := moduleDir(ctx)
	if err != nil {
		return err
	}
	var ours, theirs []string
	for _, name := range names {
		pkg, ok := packages[name]
		switch {
		case !ok:
			return fmt.Errorf("build: no package is known for %q", name)
		case name == BoltLocal:
			ours = append(ours, pkg)
		default:
			theirs = append(theirs, pkg)
		}
	}
	// The product is a module of its own, so it is built from there.
	if err := goBuild(ctx, filepath.Dir(root), dir, ours); err != nil {
		return err
	}
	return goBuild(ctx, root, dir, theirs)
}

// goBuild builds statically, as the product is shipped.
func goBuild(ctx context.Context, module, dir string, pkgs []string) error {
	if len(pkgs) == 0 {
		return nil
	}
	args := append([]string{"build", "-C", module, "-o", dir + string(filepath.Separator)}, pkgs...)
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
