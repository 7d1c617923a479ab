package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os/exec"
	"time"
)

// Dump is the answer of `bolt-local dump --output json`, as documented.
type Dump struct {
	Schema   int       `json:"schema"`
	Networks []Network `json:"networks"`
}

// Network is one network of a dump.
type Network struct {
	Name        string       `json:"name"`
	Phase       string       `json:"phase"`
	Allocations []Allocation `json:"allocations"`
}

// Allocation is one address of a dump.
type Allocation struct {
	IP          netip.Addr `json:"ip"`
	Network     string     `json:"network"`
	ContainerID string     `json:"containerID"`
	IfName      string     `json:"ifname"`
	State       string     `json:"state"`
	Origin      string     `json:"origin"`
	AllocatedAt time.Time  `json:"allocatedAt"`
	BootID      string     `json:"bootID"`
	NetNS       string     `json:"netns"`
	Unknown     []string   `json:"unknown"` // fields that are a guess, or empty
}

// ReadDump asks the binary for all allocations in dataDir.
func ReadDump(ctx context.Context, binary, dataDir string) (Dump, error) {
	out, err := Tool(ctx, binary, "dump", "--output", "json", "--data-dir", dataDir)
	if err != nil {
		return Dump{}, err
	}
	var d Dump
	if err := json.Unmarshal(out, &d); err != nil {
		return Dump{}, fmt.Errorf("decoding dump %q: %w", out, err)
	}
	return d, nil
}

// Allocations are all allocations of the named network.
func (d Dump) Allocations(network string) []Allocation {
	for _, n := range d.Networks {
		if n.Name == network {
			return n.Allocations
		}
	}
	return nil
}

// Tool runs a command of the binary's command line and returns its stdout.
func Tool(ctx context.Context, binary string, args ...string) ([]byte, error) {
	out, err := exec.CommandContext(ctx, binary, args...).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil, fmt.Errorf("%s %v: %w: %s", binary, args, err, exit.Stderr)
	}
	return out, err
}
