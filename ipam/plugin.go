package ipam

import (
	"fmt"
	"time"

	"github.com/bolt-local/bolt-local/store/record"
)

// Plugin carries out the CNI verbs.
type Plugin struct {
	// Open reaches the state that a configuration names. It does not touch the
	// disk.
	Open func(*Config) State
	// Namespaces tells network namespaces apart.
	Namespaces Namespaces
	// Now is the wall clock, BootTime is CLOCK_BOOTTIME.
	Now      func() time.Time
	BootTime func() time.Duration
	// Orphaned tells whether the process that called has died since.
	Orphaned func() bool
	// Warn gets a line for the operator (stderr).
	Warn func(string)
}

// Namespaces is what the verbs, and the operator's commands, ask of the kernel; see
// package netns.
type Namespaces interface {
	// Identify returns what to record of the namespace at path.
	Identify(path string) record.NetNS
	// IsOwn tells whether ns is the plugin's own.
	IsOwn(ns record.NetNS) bool
	// Alive tells whether the path still leads to the recorded namespace.
	Alive(ns record.NetNS) bool
	// Dead tells whether the recorded namespace is certainly gone.
	Dead(ns record.NetNS) bool
	// Elsewhere tells whether ns was recorded in another mount namespace, where
	// its path may lead to something else than here.
	Elsewhere(ns record.NetNS) bool
	// Unsure is why Dead was false for some that may be gone, nil if for none.
	Unsure() error
}

// Call is one call of a verb, as the runtime made it.
type Call struct {
	ContainerID string
	IfName      string
	NetNS       string
	Args        string // CNI_ARGS
	// NetNSOverride allows a call from within the container's own namespace.
	NetNSOverride bool
	Stdin         []byte
}

func (c Call) attachment() record.Attachment {
	return record.Attachment{ContainerID: c.ContainerID, IfName: c.IfName}
}

func (p *Plugin) warnf(format string, args ...any) { p.Warn(fmt.Sprintf(format, args...)) }

func (p *Plugin) warnAll(lines []string) {
	for _, line := range lines {
		p.Warn(line)
	}
}

// Stale tells whether an allocation was made before the last reboot and is
// thus free: pods do not outlive a boot. One with a living namespace is not.
// epoch is the number of this boot.
func (p *Plugin) Stale(epoch uint64, a record.Allocation) bool {
	if a.Epoch == 0 || a.Epoch >= epoch {
		return false
	}
	for _, h := range a.Holders {
		if p.Namespaces.Alive(h.NetNS) {
			return false
		}
	}
	return true
}

// dead tells whether the namespaces of all holders are certainly gone.
func (p *Plugin) dead(a record.Allocation) bool {
	for _, h := range a.Holders {
		if !p.Namespaces.Dead(h.NetNS) {
			return false
		}
	}
	return len(a.Holders) > 0
}
