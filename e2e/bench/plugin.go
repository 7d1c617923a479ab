package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/bolt-local/bolt-local/migrate/engine"
)

const (
	networkName = "bench"
	ifName      = "eth0"

	// netnsPath leads nowhere, so that neither plugin takes it for its own
	// namespace.
	netnsPath = "/var/run/netns/bench-none"
)

// plugin is an IPAM plugin with a data directory of its own.
type plugin struct {
	name    string // the ipam.type
	path    string
	dataDir string
	subnet  netip.Prefix
	phase   engine.Phase // ipam.migration.phase, "" for none; host-local has none
}

// config is the network configuration on the plugin's stdin, the same for both
// but for ipam.type, ipam.dataDir and a phase. No result cache of this host is
// read: the directory named for it does not exist.
func (p plugin) config() string {
	migration := ""
	if p.phase != "" {
		migration = fmt.Sprintf(`"migration":{"phase":%q},`, p.phase)
	}
	return fmt.Sprintf(`{"cniVersion":"1.0.0","name":%q,"type":"bridge","bridge":"cni0",
"ipam":{"type":%q,"dataDir":%q,"cniCacheDirs":[%q],%s
"ranges":[[{"subnet":%q}]],"routes":[{"dst":"0.0.0.0/0"}]}}`,
		networkName, p.name, p.dataDir, p.dataDir+".results", migration, p.subnet)
}

// command prepares a call of verb; a launcher, if there is one, runs the
// plugin.
func (p plugin) command(ctx context.Context, verb, containerID string, launcher ...string) *exec.Cmd {
	argv := append(launcher, p.path)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = []string{
		"CNI_COMMAND=" + verb,
		"CNI_CONTAINERID=" + containerID,
		"CNI_NETNS=" + netnsPath,
		"CNI_NETNS_OVERRIDE=1",
		"CNI_IFNAME=" + ifName,
		"CNI_PATH=" + filepath.Dir(p.path),
	}
	return cmd
}

// call runs verb as a whole process and returns how long it took, in ms.
func (p plugin) call(ctx context.Context, verb, containerID string) (float64, error) {
	took, _, err := timed(p.command(ctx, verb, containerID), p.config())
	return milliseconds(took), err
}

// peakMemory runs verb by way of the launcher (the program maxrss) and returns
// the plugin's peak resident memory, in MiB.
func (p plugin) peakMemory(ctx context.Context, launcher, verb, containerID string) (float64, error) {
	_, out, err := timed(p.command(ctx, verb, containerID, launcher), p.config())
	if err != nil {
		return 0, err
	}
	kib, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	return kib / 1024, err
}

// expectNext has the plugin give out an address and take it back. The address
// has to be want.
func (p plugin) expectNext(ctx context.Context, want netip.Addr) error {
	id := containerID("next", 0)
	_, result, err := timed(p.command(ctx, "ADD", id), p.config())
	if err != nil {
		return err
	}
	got, err := addressOf(result)
	if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("%s gave %s, not %s: it does not know what is held", p.name, got, want)
	}
	_, err = p.call(ctx, "DEL", id)
	return err
}

// addressOf returns the address in the result of an ADD.
func addressOf(result []byte) (netip.Addr, error) {
	var r struct {
		IPs []struct {
			Address netip.Prefix `json:"address"`
		} `json:"ips"`
	}
	if err := json.Unmarshal(result, &r); err != nil {
		return netip.Addr{}, fmt.Errorf("result of ADD: %w", err)
	}
	if len(r.IPs) != 1 {
		return netip.Addr{}, fmt.Errorf("result of ADD has %d addresses, want 1: %s", len(r.IPs), result)
	}
	return r.IPs[0].Address.Addr(), nil
}
