package cli

import (
	"encoding/json"
	"net/netip"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/bolt-local/bolt-local/cmd/internal/nodestatus"
	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/record"
)

// States of an allocation.
const (
	stateActive       = "active"
	statePreviousBoot = "previous-boot"
)

// dump is the document that `dump` prints, as JSON and as YAML. Scripts rely on
// it: fields are added, never renamed.
type dump struct {
	Schema   int           `json:"schema"`
	Networks []dumpNetwork `json:"networks"`
}

type dumpNetwork struct {
	Name string `json:"name"`
	// Phase is where the move from host-local's directory stands.
	Phase       engine.Phase     `json:"phase,omitempty"`
	Allocations []dumpAllocation `json:"allocations"`
}

// dumpAllocation is one address and one of its holders.
type dumpAllocation struct {
	IP          netip.Addr    `json:"ip"`
	Network     string        `json:"network"`
	ContainerID string        `json:"containerID"`
	IfName      string        `json:"ifname"`
	State       string        `json:"state"`
	Origin      record.Origin `json:"origin"`
	AllocatedAt time.Time     `json:"allocatedAt,omitzero"`
	BootID      string        `json:"bootID,omitempty"`
	NetNS       string        `json:"netns,omitempty"`
	Pod         dumpPod       `json:"pod,omitzero"`
	Unknown     []string      `json:"unknown,omitempty"`
}

type dumpPod struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	UID       string `json:"uid,omitempty"`
}

func (a *app) dumpCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dump [flags]",
		Short: "Show all allocations",
		Long: `Show who holds which address, one line for each holder, as the next call would
find it: what host-local has changed in its directory since is seen as well.

The table shortens container ids, and on a narrow terminal names too; wide, json
and yaml never do. A ? stands for an interface whose name is not known;
behind a network it says that bolt-local-agent backfill could not tell which
network gave the address.
An allocation of a previous boot is free: the next ADD may take its address.`,
		Example: `  bolt-local dump
  bolt-local dump --network podnet --output wide
  bolt-local dump --output json | jq -r '.networks[].allocations[].ip'`,
	}
	only := a.networkFlag(cmd, "show this `network` alone")
	form := outputFlag(cmd, outputTable, outputWide, outputJSON, outputYAML)
	return a.command(cmd, func(*cobra.Command) error {
		snap, err := a.load(*only)
		if err != nil {
			return err
		}
		d, problem := newDump(snap, a.plugin), snap.Err()
		// Nothing that could be seen must not look like nothing that is held.
		if problem == nil || len(d.Networks) > 0 {
			if err := a.printDump(d, form.value); err != nil {
				return err
			}
		}
		return problem
	})
}

func (a *app) printDump(d dump, form string) error {
	switch form {
	case outputJSON:
		return printJSON(a.out, d)
	case outputYAML:
		return printYAML(a.out, d)
	}
	return printDumpTable(a.out, d, form == outputWide, a.now())
}

func newDump(snap nodestatus.Snapshot, plugin *ipam.Plugin) dump {
	d := dump{Schema: store.Schema, Networks: []dumpNetwork{}}
	if snap.Exists {
		d.Schema = snap.Format.Schema
	}
	for _, n := range snap.Networks {
		if n.Unseen() {
			continue
		}
		dn := dumpNetwork{Name: n.Name, Phase: n.Migration.Phase, Allocations: []dumpAllocation{}}
		for _, alloc := range n.Allocations {
			state := stateActive
			if plugin.Stale(snap.Epoch, alloc) {
				state = statePreviousBoot
			}
			for _, h := range alloc.Holders {
				dn.Allocations = append(dn.Allocations, newDumpAllocation(n.Name, alloc.Addr, h, state, snap.Boots[alloc.Epoch]))
			}
		}
		d.Networks = append(d.Networks, dn)
	}
	return d
}

func newDumpAllocation(network string, addr netip.Addr, h record.Holder, state, bootID string) dumpAllocation {
	unknown := h.Unknown
	if h.IfName == "" && !slices.Contains(unknown, record.UnknownIfName) {
		unknown = append(slices.Clone(unknown), record.UnknownIfName)
	}
	return dumpAllocation{
		IP:          addr,
		Network:     network,
		ContainerID: h.ContainerID,
		IfName:      h.IfName,
		State:       state,
		Origin:      h.Origin,
		AllocatedAt: h.AllocatedAt.UTC().Truncate(time.Second),
		BootID:      bootID,
		NetNS:       h.NetNS.Path,
		Pod:         dumpPod{Namespace: h.Pod.Namespace, Name: h.Pod.Name, UID: h.Pod.UID},
		Unknown:     unknown,
	}
}

// printJSON prints one line, or on a terminal what is easier to read.
func printJSON(s screen, doc any) error {
	enc := json.NewEncoder(s)
	enc.SetEscapeHTML(false)
	if s.terminal() {
		enc.SetIndent("", "  ")
	}
	return enc.Encode(doc)
}
