// Package plugin is the process that a container runtime starts: skel around
// the verbs of package ipam.
package plugin

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/types"
	"github.com/containernetworking/cni/pkg/version"

	"github.com/bolt-local/bolt-local/cmd/internal/boottime"
	"github.com/bolt-local/bolt-local/cmd/internal/wording"
	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/ipam/netns"
	"github.com/bolt-local/bolt-local/migrate"
	"github.com/bolt-local/bolt-local/store"
)

const overrideVar = "CNI_NETNS_OVERRIDE"

// Main carries out the verb in the environment and returns the exit status.
// parent is the process that started this one, as read at the very start: an
// ADD whose caller has died since is given up.
func Main(writer string, parent int) (status int) {
	defer func() {
		if r := recover(); r != nil {
			status = fail(types.NewError(types.ErrInternal, fmt.Sprintf("bolt-local failed, please report it: %v", r), ""))
		}
	}()
	// skel would hold CNI_NETNS against the plugin's own namespace after the
	// verb, when the address is given; ADD does it before, and DEL must not be
	// stopped by it.
	override := os.Getenv(overrideVar)
	_ = os.Setenv(overrideVar, "1")
	v := verbs{plugin: newPlugin(writer, parent), override: override == "1" || strings.EqualFold(override, "true")}
	err := skel.PluginMainFuncsWithError(skel.CNIFuncs{
		Add:    v.add,
		Del:    v.del,
		Check:  v.check,
		GC:     v.gc,
		Status: v.status,
	}, version.All, "CNI plugin bolt-local "+writer)
	if err != nil {
		return fail(err)
	}
	return 0
}

func fail(err *types.Error) int {
	if printErr := err.Print(); printErr != nil {
		warn(fmt.Sprintf("printing the error %q: %v", err.Error(), printErr))
	}
	return 1
}

// warn writes one line to stderr, which runtimes put into their log. Names of
// pods come from CNI_ARGS and may have anything in them.
func warn(line string) {
	fmt.Fprintln(os.Stderr, "bolt-local: "+wording.Printable(wording.OneLine(line)))
}

func newPlugin(writer string, parent int) *ipam.Plugin {
	p := &ipam.Plugin{
		Namespaces: &netns.System{},
		Now:        time.Now,
		BootTime:   boottime.Now,
		Orphaned:   func() bool { return os.Getppid() != parent },
		Warn:       warn,
	}
	p.Open = func(cfg *ipam.Config) ipam.State {
		return migrate.State{
			Store:      store.New(cfg.DataDir, store.Options{LockTimeout: cfg.LockTimeout, Writer: writer, Warn: warn, Stuck: giveUp, Alone: true}),
			Config:     cfg,
			Namespaces: p.Namespaces,
			Stale:      p.Stale,
			Warn:       warn,
		}
	}
	return p
}

// giveUp ends the process in the middle of a verb that makes no progress. The
// runtime's next call looks closer.
func giveUp(err error) { os.Exit(fail(types.NewError(types.ErrTryAgainLater, err.Error(), ""))) }

type verbs struct {
	plugin   *ipam.Plugin
	override bool
}

func (v verbs) call(args *skel.CmdArgs) ipam.Call {
	return ipam.Call{
		ContainerID:   args.ContainerID,
		IfName:        args.IfName,
		NetNS:         args.Netns,
		Args:          args.Args,
		NetNSOverride: v.override,
		Stdin:         args.StdinData,
	}
}

func (v verbs) add(args *skel.CmdArgs) error {
	result, err := v.plugin.Add(v.call(args))
	if err != nil {
		return err
	}
	if err := result.Print(); err != nil {
		return ipam.Errorf(ipam.CodeIO, "printing the result: %w", err)
	}
	return nil
}

func (v verbs) del(args *skel.CmdArgs) error    { return v.plugin.Del(v.call(args)) }
func (v verbs) check(args *skel.CmdArgs) error  { return v.plugin.Check(v.call(args)) }
func (v verbs) gc(args *skel.CmdArgs) error     { return v.plugin.GC(v.call(args)) }
func (v verbs) status(args *skel.CmdArgs) error { return v.plugin.Status(v.call(args)) }
