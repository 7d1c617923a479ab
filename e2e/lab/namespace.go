package lab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/containernetworking/plugins/pkg/ns"
)

// Prefix begins the name of every namespace that the lab makes; its maker
// follows. `ip netns list | grep bolt-lab-` shows leftovers.
const Prefix = "bolt-lab-"

// runNetns is where ip-netns(8) keeps its namespaces.
const runNetns = "/run/netns"

var made atomic.Int64

// Namespace is a network namespace that ip(8) knows by name.
type Namespace struct {
	Name string
	Path string // for CNI_NETNS

	deleted bool
}

// NewNamespace makes a namespace whose name ends in role, with its loopback
// up. Close deletes it, and with it all its devices.
func NewNamespace(role string) (*Namespace, error) {
	name := fmt.Sprintf("%s%s-%d-%s", Prefix, maker(), made.Add(1), role)
	if _, err := ip("netns", "add", name); err != nil {
		return nil, err
	}
	n := &Namespace{Name: name, Path: filepath.Join(runNetns, name)}
	if err := n.prepare(); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

func (n *Namespace) prepare() error {
	if _, err := n.IP("link", "set", "lo", "up"); err != nil {
		return err
	}
	return n.Do(func() error {
		// An IPv6 address is usable only after duplicate address
		// detection, more than a second. Nobody else is on these links.
		err := os.WriteFile("/proc/sys/net/ipv6/conf/default/accept_dad", []byte("0"), 0o644)
		if errors.Is(err, os.ErrNotExist) {
			return nil // a kernel without IPv6
		}
		return err
	})
}

// Do runs fn on a thread that is in the namespace. Sockets that fn opens and
// processes that it starts belong there; goroutines that it starts do not.
func (n *Namespace) Do(fn func() error) error {
	return ns.WithNetNSPath(n.Path, func(ns.NetNS) error { return fn() })
}

// IP runs ip(8) on the namespace and returns what it prints.
func (n *Namespace) IP(args ...string) (string, error) {
	return ip(append([]string{"-n", n.Name}, args...)...)
}

// Close deletes the namespace. The kernel then deletes its devices. To close
// it again does nothing.
func (n *Namespace) Close() error {
	if n.deleted {
		return nil
	}
	_, err := ip("netns", "delete", n.Name)
	n.deleted = err == nil
	return err
}

func ip(args ...string) (string, error) {
	out, err := exec.Command("ip", args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return string(out), nil
}
