package cri

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// containerdConfig is of the version that containerd 1.6, 1.7 and 2 all read.
// It leaves out what a node of tests has no use for, or has no right to: oom
// scores below its own need CAP_SYS_RESOURCE.
const containerdConfig = `version = 2
disabled_plugins = [
  "io.containerd.internal.v1.opt",
  "io.containerd.nri.v1.nri",
  "io.containerd.snapshotter.v1.aufs",
  "io.containerd.snapshotter.v1.blockfile",
  "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.overlayfs",
  "io.containerd.snapshotter.v1.zfs",
]
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = %q
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = %q
    conf_dir = %q
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "native"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.cri.v1.images"]
  snapshotter = "native"
[plugins."io.containerd.transfer.v1.local"]
  [[plugins."io.containerd.transfer.v1.local".unpack_config]]
    platform = "linux"
    snapshotter = "native"
`

// startLimit is how long a start of containerd may take here.
const startLimit = time.Minute

// start starts containerd, and waits until it answers.
func (n *node) start(t *testing.T) {
	t.Helper()
	config := filepath.Join(n.confDir, "..", "containerd.toml")
	text := fmt.Sprintf(containerdConfig, sandboxImage, n.binDir, n.confDir)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("containerd", "--config", config)
	cmd.Stdout, cmd.Stderr = n.log, n.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	n.containerd = cmd

	conn, err := grpc.NewClient(scheme+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	n.conn = conn
	n.runtime = runtimeapi.NewRuntimeServiceClient(conn)
	eventually(t, startLimit, "containerd answers", func() error {
		_, err := n.runtime.Version(t.Context(), &runtimeapi.VersionRequest{})
		return err
	})
	eventually(t, startLimit, "containerd has loaded the network", func() error {
		return n.networkReady(t)
	})
}

// networkReady asks whether the conflist was read. STATUS of a plugin is part
// of that from containerd 2 on.
func (n *node) networkReady(t *testing.T) error {
	resp, err := n.runtime.Status(t.Context(), &runtimeapi.StatusRequest{})
	if err != nil {
		return err
	}
	for _, c := range resp.GetStatus().GetConditions() {
		if c.GetType() == runtimeapi.NetworkReady && !c.GetStatus() {
			return fmt.Errorf("%s: %s", c.GetReason(), c.GetMessage())
		}
	}
	return nil
}

// kill ends containerd as the kernel does when memory is out. Its shims and
// pods live on.
func (n *node) kill(t *testing.T) {
	t.Helper()
	n.disconnect()
	if err := unix.Kill(n.containerd.Process.Pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = n.containerd.Wait() // it was killed
}

func (n *node) disconnect() {
	_ = n.conn.Close() // nothing is in flight
}

// importImage gives containerd the sandbox image.
func (n *node) importImage(t *testing.T) {
	t.Helper()
	n.ctr(t, "images", "import", "--no-unpack", writeImage(t))
	images := runtimeapi.NewImageServiceClient(n.conn)
	eventually(t, startLimit, "the CRI knows the sandbox image", func() error {
		resp, err := images.ImageStatus(t.Context(), &runtimeapi.ImageStatusRequest{
			Image: &runtimeapi.ImageSpec{Image: sandboxImage},
		})
		if err == nil && resp.GetImage() == nil {
			err = fmt.Errorf("no image %s", sandboxImage)
		}
		return err
	})
}

// ctr runs containerd's own command line in the namespace of the CRI.
func (n *node) ctr(t *testing.T, args ...string) {
	t.Helper()
	if err := n.tryCtr(t, args...); err != nil {
		t.Fatal(err)
	}
}

func (n *node) tryCtr(t *testing.T, args ...string) error {
	t.Helper()
	args = append([]string{"--address", socket, "--namespace", "k8s.io"}, args...)
	if out, err := exec.CommandContext(t.Context(), "ctr", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("ctr %v: %w: %s", args, err, out)
	}
	return nil
}

// eventually asks until there is no error, or fails after the limit.
func eventually(t *testing.T, limit time.Duration, what string, ask func() error) {
	t.Helper()
	var err error
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if err = ask(); err == nil {
			return
		}
	}
	t.Fatalf("not within %v: %s: %v", limit, what, err)
}
