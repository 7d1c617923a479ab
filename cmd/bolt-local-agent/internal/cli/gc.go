package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/bolt-local/bolt-local/cmd/bolt-local-agent/internal/netconf"
	"github.com/bolt-local/bolt-local/cmd/bolt-local-agent/internal/sweep"
	"github.com/bolt-local/bolt-local/cmd/internal/boottime"
	"github.com/bolt-local/bolt-local/cmd/internal/command"
	"github.com/bolt-local/bolt-local/cmd/internal/wording"
	"github.com/bolt-local/bolt-local/migrate/cnicache"
)

// Defaults of a garbage collection. The grace period is longer than any ADD in
// flight: the kubelet gives up after 4 minutes, CRI-O after 5 and its request's
// own time.
const (
	defaultGrace        = 10 * time.Minute
	defaultConfirmAfter = 30 * time.Second
)

// gcFlags are those of a garbage collection.
type gcFlags struct {
	grace, confirmAfter time.Duration
	networks            []string
	confDir             string
	cacheDirs           []string
	dryRun              bool
}

func (f *gcFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.DurationVar(&f.grace, "grace", defaultGrace, "how old an allocation has to be")
	flags.DurationVar(&f.confirmAfter, "confirm-after", defaultConfirmAfter, "ask the runtime once more after this time")
	flags.StringArrayVar(&f.networks, "network", nil, "free in this `network` alone, and there also what carries no pod's identity; may be repeated")
	confDirFlag(cmd, &f.confDir)
	cacheDirFlag(cmd, &f.cacheDirs)
}

func (f *gcFlags) check() error {
	if f.grace < 0 || f.confirmAfter < 0 {
		return command.UsageError(errors.New("--grace and --confirm-after are not negative"))
	}
	return nil
}

func (a *app) gcCommand() *cobra.Command {
	var f gcFlags
	cmd := &cobra.Command{
		Use:   "gc [flags]",
		Short: "Take back what pods have left that the runtime does not know",
		Long: `Free the addresses of pods that the container runtime does not know any more, as
their DEL was lost. For containerd, which never calls CNI's GC.

An allocation is freed only when it carries a pod's uid or infra container id
(recorded, or in libcni's cache), is older than --grace, is in neither of two
listings that began after that, was not changed in between, and its network
namespace is not alive. What nerdctl, or podman from 4.0 on, have made carries
no such id, and is left alone, unless its network is named with --network: then
that network alone is looked at.

libcni's caches are those in --cni-cache-dir, and those that the configurations
in --conf-dir name with ipam.cniCacheDirs.

Run it in the mount namespace of the runtime. Do not name a network that another
runtime uses, too.`,
		Example: `  bolt-local-agent gc --dry-run
  bolt-local-agent gc
  bolt-local-agent gc --interval 5m`,
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "say what would be freed, and free nothing")
	interval := cmd.Flags().Duration("interval", 0, "do it again and again, after this time; 0 for once")
	return a.command(cmd, func(ctx context.Context) error {
		if err := f.check(); err != nil {
			return err
		}
		if *interval < 0 {
			return command.UsageError(errors.New("--interval is not negative"))
		}
		if *interval == 0 {
			return a.gcOnce(ctx, f)
		}
		a.gcEvery(ctx, *interval, f)
		return nil
	})
}

// gcOnce is one round, and its count.
func (a *app) gcOnce(ctx context.Context, f gcFlags) error {
	if !a.state().Store.Exists() {
		a.warn(wording.NoCheckpoint(a.dataDir))
	}
	swept, err := a.gcRound(ctx, a.sweeper(f), f)
	if freed := len(swept.Freed); freed > 0 || err == nil {
		_, printErr := fmt.Fprintln(a.out, wording.TotalFreed(freed, f.dryRun))
		err = errors.Join(err, printErr)
	}
	return errors.Join(append(swept.Unstored, err)...)
}

// gcEvery makes a round after each interval until ctx ends. One that fails is told.
func (a *app) gcEvery(ctx context.Context, interval time.Duration, f gcFlags) {
	sweeper := a.sweeper(f)
	for ctx.Err() == nil {
		swept, err := a.gcRound(ctx, sweeper, f)
		a.warnUnstored(swept)
		if err != nil && ctx.Err() == nil {
			a.warn(wording.OneLine(err.Error()))
		}
		pause(ctx, interval)
	}
}

// gcRound reads the configurations anew, and sweeps.
func (a *app) gcRound(ctx context.Context, s *sweep.Sweeper, f gcFlags) (sweep.Swept, error) {
	cache, errs := a.cache(f)
	for _, err := range errs {
		a.warn(wording.OneLine(err.Error()))
	}
	return a.sweep(ctx, s, cache, f)
}

// pause waits until d is over or ctx has ended.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

func (a *app) sweeper(f gcFlags) *sweep.Sweeper {
	return &sweep.Sweeper{
		Options: sweep.Options{
			Grace:        f.grace,
			ConfirmAfter: f.confirmAfter,
			Networks:     f.networks,
			DryRun:       f.dryRun,
		},
		State:    a.state,
		List:     a.list,
		BootTime: boottime.Now,
	}
}

// cache has the directories of --cni-cache-dir, and those that the networks in
// this data directory are configured with. The errors name each configuration
// that cannot be read.
func (a *app) cache(f gcFlags) (cnicache.Cache, []error) {
	dirs := slices.Clone(f.cacheDirs)
	configs, errs := netconf.Load(f.confDir)
	if f.confDir == netconf.DefaultDir { // which not every runtime has
		errs = slices.DeleteFunc(errs, func(err error) bool { return errors.Is(err, fs.ErrNotExist) })
	}
	for _, c := range configs {
		if c.DataDir != a.dataDir {
			continue
		}
		for _, dir := range c.CNICacheDirs {
			if !slices.Contains(dirs, dir) {
				dirs = append(dirs, dir)
			}
		}
	}
	return cnicache.Cache{Dirs: dirs}, errs
}

// list asks the runtime, on a connection of its own: it may have been restarted
// since.
func (a *app) list(ctx context.Context) (map[string]bool, error) {
	client, err := a.runtime()
	if err != nil {
		return nil, err
	}
	defer client.Close()
	return client.List(ctx)
}

// sweep is one round. It tells of what was freed, also where it fails.
func (a *app) sweep(ctx context.Context, s *sweep.Sweeper, cache cnicache.Cache, f gcFlags) (sweep.Swept, error) {
	s.Cache = cache
	swept, err := s.Run(ctx)
	for _, one := range swept.Freed {
		line := one.String()
		if f.dryRun {
			line = one.Planned()
		}
		a.say(line)
	}
	for _, line := range swept.Kept {
		a.warn(line)
	}
	if err != nil && len(swept.Freed) == 0 {
		err = fmt.Errorf("nothing was freed: %w", err)
	}
	return swept, err
}

// warnUnstored is for who goes on: a network may be stored later.
func (a *app) warnUnstored(swept sweep.Swept) {
	for _, err := range swept.Unstored {
		a.warn(err.Error())
	}
}
