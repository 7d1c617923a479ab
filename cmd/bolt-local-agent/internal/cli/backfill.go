package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bolt-local/bolt-local/cmd/bolt-local-agent/internal/netconf"
	"github.com/bolt-local/bolt-local/cmd/internal/boottime"
	"github.com/bolt-local/bolt-local/cmd/internal/wording"
	"github.com/bolt-local/bolt-local/internal/cmdline"
	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/ipam/netns"
	"github.com/bolt-local/bolt-local/migrate"
	"github.com/bolt-local/bolt-local/migrate/backfill"
)

// fillFlags are those of a backfill.
type fillFlags struct {
	confDir   string
	cacheDirs []string
	network   string
	dryRun    bool
}

func (a *app) backfillCommand() *cobra.Command {
	var f fillFlags
	cmd := &cobra.Command{
		Use:   "backfill [flags]",
		Short: "Record the addresses of running pods that are not known",
		Long: `Record the addresses of all running pods that bolt-local does not know, and what
its records lack: interface, network namespace, pod.

For a node that moves to bolt-local from another IPAM plugin with its pods
running, or that has lost its data directory. A damaged checkpoint is repaired
first. Networks and their ranges are those of the configurations in --conf-dir
that have this data directory, and those that are stored.

Which network gave an address is known from libcni's cache of results: where its
configuration says with ipam.cniCacheDirs, and in --cni-cache-dir for a network
that is only stored. Without it the address is recorded in every network that
has it in a range, marked as a guess, until a DEL, a repeated ADD or a later
backfill settles it. What is recorded wins over what the runtime says, unless
its network namespace is certainly gone: a conflict is told, nothing is changed,
and the exit status is 1.

Where ADD was refused because allocations had been lost, it is served again if
the runtime has told of every pod, and of one at least, each address lies in a
known range, none is in conflict, none that is not ready may run unrecorded, and
every configuration and cached result could be read; else a line says why not,
and the exit status is 1.`,
		Example: `  bolt-local-agent backfill --dry-run
  bolt-local-agent backfill`,
	}
	cmd.Flags().StringVar(&f.network, "network", "", "fill this `network` alone")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "say what would be recorded, and change nothing")
	confDirFlag(cmd, &f.confDir)
	cacheDirFlag(cmd, &f.cacheDirs)
	return a.command(cmd, func(ctx context.Context) error {
		atOnce := func(string) string { return "" }
		left, err := a.backfill(ctx, f, atOnce, func(counts) bool { return true })
		if err == nil {
			err = left.err()
		}
		return err
	})
}

// filled is what a backfill that did all it could has left to a person.
type filled struct {
	conflicts int
	refused   bool // ADD stays so
}

func (f filled) err() error {
	var errs []error
	if f.conflicts > 0 {
		errs = append(errs, errors.New(wording.Counted(f.conflicts, "address is", "addresses are")+" in conflict"))
	}
	if f.refused {
		errs = append(errs, errors.New("ADD stays refused"))
	}
	return errors.Join(errs...)
}

func confDirFlag(cmd *cobra.Command, dir *string) {
	cmd.Flags().StringVar(dir, "conf-dir", netconf.DefaultDir, "CNI configurations in this `dir`ectory")
	_ = cmd.MarkFlagDirname("conf-dir")
}

func cacheDirFlag(cmd *cobra.Command, dirs *[]string) {
	cmd.Flags().StringArrayVar(dirs, "cni-cache-dir", ipam.DefaultCNICacheDirs(), "cached results in this `dir`ectory; may be repeated")
	_ = cmd.MarkFlagDirname("cni-cache-dir")
}

// backfill is one round. It fails where one sandbox or network did, after all
// others are done. later is why a loss that could be accepted is not yet, ""
// where it is. sumsUp tells whether the last line, with the counts, is printed.
func (a *app) backfill(ctx context.Context, f fillFlags, later func(loss string) string, sumsUp func(counts) bool) (filled, error) {
	client, err := a.runtime()
	if err != nil {
		return filled{}, unchanged(err)
	}
	defer client.Close()
	identify := (&netns.System{}).Identify
	listing, err := client.Sandboxes(ctx, identify)
	if err != nil {
		return filled{}, unchanged(err)
	}
	configs, leftOut := a.configs(f.confDir)
	if len(configs) == 0 && !a.state().Store.Exists() {
		return filled{}, unchanged(fmt.Errorf("no configuration in %s uses bolt-local with ipam.dataDir %s: name its directory with --conf-dir", f.confDir, a.dataDir))
	}
	report, err := a.state().Backfill(migrate.Backfill{
		Configs:   configs,
		Network:   f.network,
		CacheDirs: f.cacheDirs,
		Running:   listing.Running,
		NotReady:  listing.NotReady,
		Unready: func(ids []string) ([]backfill.Sandbox, error) {
			return client.Unready(ctx, ids, identify)
		},
		Complete: len(leftOut) == 0 && len(listing.Failed) == 0,
		Missing:  missing(listing, leftOut),
		Doubt: func(loss string) string {
			if why := doubt(listing, client.Endpoint()); why != "" {
				return why
			}
			return later(loss)
		},
		BootTime: boottime.Now(),
		DryRun:   f.dryRun,
	})
	if err != nil && len(report.Filled) == 0 {
		sumsUp = func(counts) bool { return false } // there is nothing to sum up
	}
	count := a.printFilled(report, client.Endpoint(), f.dryRun, sumsUp)
	return filled{conflicts: count[backfill.Conflict], refused: report.Lost != ""}, errors.Join(append([]error{err}, few(listing.Failed)...)...)
}

// unchanged says that nothing has happened yet.
func unchanged(err error) error { return fmt.Errorf("nothing was changed: %w", err) }

// configs are those of the networks in this data directory. The errors name each
// file that could not be read.
func (a *app) configs(dir string) (mine []*ipam.Config, errs []error) {
	found, errs := netconf.Load(dir)
	for _, err := range errs {
		a.warn(wording.OneLine(err.Error()))
	}
	for _, c := range found {
		for _, w := range c.Warnings {
			a.warn("network " + c.Network + ": " + w)
		}
		if c.DataDir != a.dataDir {
			if c.Role == ipam.Chained {
				continue // the network's other entry says it
			}
			a.warn(fmt.Sprintf("network %s is left out: it has ipam.dataDir %s; run once more with --data-dir %s for it", c.Network, c.DataDir, cmdline.Word(c.DataDir)))
			continue
		}
		mine = append(mine, c)
	}
	parents := make([]string, len(mine))
	for i, c := range mine {
		parents[i] = c.LegacyParent
	}
	a.legacyParents.Store(&parents)
	return mine, errs
}

// counts are those of what became of the claims.
type counts map[backfill.Outcome]int

func (c counts) changed() bool { return c[backfill.Added]+c[backfill.Completed] > 0 }

func (a *app) printFilled(r migrate.BackfillReport, endpoint string, dryRun bool, sumsUp func(counts) bool) counts {
	if r.Repaired != nil {
		a.say(done(dryRun, "repaired", "would repair") + " the checkpoint: " + wording.OneLine(r.Repaired.Error()))
	}
	count := counts{}
	for _, f := range r.Filled {
		count[f.Outcome]++
		switch f.Outcome {
		case backfill.Added:
			a.say(describe(done(dryRun, "added", "would add"), f))
		case backfill.Completed:
			a.say(describe(done(dryRun, "completed", "would complete"), f))
		case backfill.Conflict:
			a.warn(fmt.Sprintf("network %s: container %s uses %s, which is recorded for container %s: delete the pod of one",
				f.Network, f.Claim.Holder.ContainerID, f.Addr, f.Held.Holders[0].ContainerID))
		case backfill.Blocked:
			a.warn(fmt.Sprintf("network %s: container %s uses %s, which a file in host-local's directory that names no holder sets aside: nobody is given it in this boot",
				f.Network, f.Claim.Holder.ContainerID, f.Addr))
		}
	}
	for _, g := range r.Dropped {
		a.say(fmt.Sprintf("network %s: %s the guess that container %s holds %s: another network gave it", g.Network, done(dryRun, "dropped", "would drop"), g.ContainerID, g.Addr))
	}
	if sumsUp(count) && len(r.Elsewhere) > 0 {
		a.warn(fmt.Sprintf("%s no address in a range of a network that is stored, or configured in --conf-dir: %s",
			wording.Counted(len(r.Elsewhere), "running sandbox has", "running sandboxes have"), sandboxes(r.Elsewhere)))
	}
	if sumsUp(count) {
		a.say(fmt.Sprintf("%d %s, %d %s, %d known already, %d in conflict.",
			count[backfill.Added], done(dryRun, "added", "would be added"), count[backfill.Completed], done(dryRun, "completed", "would be completed"),
			count[backfill.Known], count[backfill.Conflict]))
	}
	switch {
	case r.Accepted:
		a.say("Every running pod that the container runtime at " + endpoint + " knows is recorded: ADD " + done(dryRun, "is", "would be") + " served again.")
	case r.Lost != "":
		a.warn(staysRefused(a.dataDir, a.state().Sources(), r.Lost))
	}
	return count
}

// sandboxes names some.
func sandboxes(all []backfill.Sandbox) string {
	var names []string
	for _, s := range all[:min(shown, len(all))] {
		text := s.ID
		if s.Pod.Name != "" {
			text += " (" + s.Pod.Namespace + "/" + s.Pod.Name + ")"
		}
		for _, i := range s.Interfaces {
			for _, addr := range i.Addrs {
				text += " " + addr.String()
			}
		}
		names = append(names, text)
	}
	if len(all) > shown {
		names = append(names, fmt.Sprintf("and %d more", len(all)-shown))
	}
	return strings.Join(names, ", ")
}

func done(dryRun bool, did, would string) string {
	if dryRun {
		return would
	}
	return did
}

func describe(did string, f migrate.Filled) string {
	h := f.Claim.Holder
	text := fmt.Sprintf("network %s: %s %s of container %s", f.Network, did, f.Addr, h.ContainerID)
	if h.IfName != "" {
		text += ", ifname " + h.IfName
	}
	if h.Pod.Name != "" {
		text += ", pod " + h.Pod.Namespace + "/" + h.Pod.Name
	}
	text += fmt.Sprintf(" (%s)", h.Origin)
	if len(h.Unknown) > 0 {
		text += ", unknown: " + strings.Join(h.Unknown, ", ")
	}
	return text
}
