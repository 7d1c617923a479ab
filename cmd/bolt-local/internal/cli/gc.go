package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bolt-local/bolt-local/cmd/internal/command"
	"github.com/bolt-local/bolt-local/cmd/internal/nodestatus"
	"github.com/bolt-local/bolt-local/cmd/internal/wording"
	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/cnicache"
)

type gcFlags struct {
	network string
	list    string // file with the valid attachments
	given   bool   // whether there is a list
	caches  []string
	dryRun  bool
}

func (a *app) gcCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "gc [flags]",
		Short: "Free what nobody uses any more",
		Long: `Free the addresses that nobody uses any more.

Without a list, that is what was allocated before the last reboot, and what
recorded a network namespace that is certainly gone. With a list of the
attachments that are valid, it is all that is not in it. Whoever has a living
network namespace, recorded or in libcni's cache of results, keeps the address
in either case, and so does what was recorded in another mount namespace, until
the next reboot.

The list is a JSON array as the CNI specification has it for GC:
  [{"containerID":"3f1c","ifname":"eth0"}]`,
		Example: `  bolt-local gc --dry-run
  bolt-local gc --network podnet
  bolt-local gc --network podnet --valid-attachments valid.json
  echo '[]' | bolt-local gc --network podnet --valid-attachments - --dry-run`,
	}
	var f gcFlags
	network := a.networkFlag(cmd, "free in this `network` alone")
	cmd.Flags().StringVar(&f.list, "valid-attachments", "", "`file` with the list, - for stdin")
	cacheDirFlag(cmd, &f.caches)
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "say what would be freed, and free nothing")
	return a.command(cmd, func(cmd *cobra.Command) error {
		f.network, f.given = *network, cmd.Flags().Changed("valid-attachments")
		return a.gc(cmd, f)
	})
}

func (a *app) gc(cmd *cobra.Command, f gcFlags) error {
	sweep := &sweeper{plugin: a.plugin, cache: cnicache.Cache{Dirs: caches(f.caches)}}
	if f.given {
		list, err := readAttachments(f.list, cmd.InOrStdin())
		if err != nil {
			return err
		}
		sweep.unlisted = ipam.KeepOnly(list)
	}
	snap, err := a.loadHealed(f)
	if err != nil {
		return fmt.Errorf("nothing was freed: %w", err)
	}
	if f.given && f.network == "" && len(snap.Networks) > 1 {
		return command.UsageError(fmt.Errorf("a list of valid attachments is that of one network: say which with --network (%s)", networkNames(snap.Networks)))
	}
	total := 0
	var errs []error
	for _, n := range snap.Networks {
		for _, err := range sweep.readCache(n.Name) {
			a.warn(wording.Printable("libcni's cache: " + wording.OneLine(err.Error())))
		}
		freed, err := a.sweep(sweep, snap, n, f.dryRun)
		total += len(freed)
		errs = append(errs, err)
		for _, one := range freed {
			line := one.String()
			if f.dryRun {
				line = one.Planned()
			}
			fmt.Fprintln(a.out, wording.Printable(line))
		}
		for _, line := range sweep.takeKept() {
			a.warn(wording.Printable(line))
		}
	}
	if unsure := a.plugin.Namespaces.Unsure(); unsure != nil {
		a.warn(unsure.Error())
	}
	err = errors.Join(errs...)
	if err != nil && total == 0 {
		return fmt.Errorf("nothing was freed: %w", err)
	}
	_, printErr := fmt.Fprintln(a.out, wording.TotalFreed(total, f.dryRun))
	return errors.Join(err, printErr)
}

// loadHealed copies what is to be swept. A damaged checkpoint is healed before, as
// any call that writes does, but for a dry run. What is wrong with the directory of
// one network is no error: it keeps nothing from being freed in others.
func (a *app) loadHealed(f gcFlags) (nodestatus.Snapshot, error) {
	if !f.dryRun {
		if err := a.state().Heal(f.network); err != nil {
			return nodestatus.Snapshot{}, err
		}
	}
	carriedOut, err := a.carryOut(f)
	if err != nil {
		return nodestatus.Snapshot{}, err
	}
	snap, err := a.load(f.network)
	if err == nil || carriedOut && snap.Problem == nil { // it need not be stored
		err = snap.CheckpointErr()
	}
	return snap, err
}

// carryOut carries out the DELs that wait for a network, also for one that is not
// stored any more, and tells whether there were any.
func (a *app) carryOut(f gcFlags) (bool, error) {
	waiting := a.store(0).CountDeferred()
	if f.dryRun || f.network == "" || waiting == 0 {
		return false, nil
	}
	err := a.state().Update(ipam.VerbOperatorGC, f.network, func(ipam.Tx) error { return nil })
	return a.store(0).CountDeferred() < waiting, err
}

// sweep frees in one network. What it returns is freed, also where it fails later.
func (a *app) sweep(s *sweeper, snap nodestatus.Snapshot, n nodestatus.Network, dryRun bool) ([]ipam.Freed, error) {
	if n.Problem != nil {
		return nil, fmt.Errorf("network %s is left out: %w", n.Name, n.Problem)
	}
	if !dryRun {
		freed, err := ipam.Sweep(a.state(), ipam.VerbOperatorGC, n.Name, s.selector(n.Name))
		if err != nil {
			err = fmt.Errorf("network %s: %w", n.Name, err)
		}
		return freed, err
	}
	var all []ipam.Freed
	for _, alloc := range n.Allocations {
		_, freed := ipam.Select(n.Name, snap.Epoch, alloc, s.selector(n.Name))
		all = append(all, freed...)
	}
	return all, nil
}

func networkNames(networks []nodestatus.Network) string {
	names := make([]string, len(networks))
	for i, n := range networks {
		names[i] = n.Name
	}
	return strings.Join(names, ", ")
}
