package cli

import (
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"

	"github.com/bolt-local/bolt-local/cmd/internal/nodestatus"
	"github.com/bolt-local/bolt-local/cmd/internal/wording"
	"github.com/bolt-local/bolt-local/internal/cmdline"
	"github.com/bolt-local/bolt-local/store"
)

// report is the document that `repair` and `restore` print as JSON. Scripts rely
// on it: fields are added, never renamed.
type report struct {
	Checkpoint string `json:"checkpoint"`
	// DryRun: nothing was changed.
	DryRun bool `json:"dryRun"`
	// Problem is what was wrong, "" where nothing was.
	Problem string `json:"problem,omitempty"`
	// Kept is the file that was replaced, under its new name.
	Kept string `json:"kept,omitempty"`
	// Complete is the source that had everything, "" where none did.
	Complete    string             `json:"complete,omitempty"`
	Allocations []reportAllocation `json:"allocations"`
	// Lost are the networks in which ADD is refused, OtherNetworksLost that it is
	// in those that are not stored, too.
	Lost              []string `json:"lost"`
	OtherNetworksLost bool     `json:"otherNetworksLost"`
	// Accepted: what was found counts as all there is.
	Accepted     bool                      `json:"accepted"`
	Notes        []string                  `json:"notes"`
	Acknowledged []nodestatus.FormerDamage `json:"acknowledged"`

	// existed: there was a checkpoint before.
	existed bool
	// searched: there was something to rebuild the checkpoint from.
	searched bool
	// resume is the command that lets ADD go on, dump the one that shows all.
	resume, dump string
	// stdin: resume reads the backup from there.
	stdin bool
}

// reportAllocation is one address, one of its holders, and who says so.
type reportAllocation struct {
	IP          netip.Addr `json:"ip"`
	Network     string     `json:"network"`
	ContainerID string     `json:"containerID"`
	IfName      string     `json:"ifname"`
	Pod         dumpPod    `json:"pod,omitzero"`
	// Sources vouch for the address, the best first.
	Sources []string `json:"sources"`
	// Contested is why the address has several holders.
	Contested string `json:"contested,omitempty"`
}

// inDir is the path of a file of a directory, "" for none.
func inDir(dir, name string) string {
	if name == "" {
		return ""
	}
	return filepath.Join(dir, name)
}

func (a *app) newReport(done store.Report, f repairFlags) report {
	r := report{
		Checkpoint:        a.store(0).Path(),
		DryRun:            f.DryRun,
		Kept:              inDir(a.dataDir, done.Kept),
		Complete:          done.Complete,
		Allocations:       newReportAllocations(done.Allocations),
		Lost:              append([]string{}, done.Lost...),
		OtherNetworksLost: done.Others,
		Accepted:          f.Accept,
		Notes:             append([]string{}, done.Notes...),
		Acknowledged:      []nodestatus.FormerDamage{},
		searched:          !errors.Is(done.Problem, store.ErrLost) || done.Kept != "" || len(done.Allocations) > 0,
		resume:            a.resume(f),
		stdin:             f.DryRun && f.restored == "-",
		dump:              cmdline.Command(a.dataDir, "dump"),
	}
	if done.Problem != nil {
		r.Problem = wording.OneLine(done.Problem.Error())
	}
	return r
}

// resume is the command that lets ADD go on. After a dry run it has all sources,
// too: without them it would find less than the report shows.
func (a *app) resume(f repairFlags) string {
	if !f.DryRun {
		return cmdline.Command(a.dataDir, "repair", "--accept")
	}
	words := []string{"repair"}
	switch {
	case f.restored != "":
		words = []string{"restore", shellWord(f.restored)}
	case f.Backup != "":
		words = append(words, "--backup", shellWord(f.Backup))
	}
	return a.sources(f.cacheDirs).Command(a.dataDir, append(words, "--accept")...)
}

// sources are those that the operator has named, cacheDirs among them.
func (a *app) sources(cacheDirs []string) cmdline.Sources {
	return cmdline.Sources{HostLocalDirs: everywhere(a.hostLocalDirs), CacheDirs: everywhere(cacheDirs)}
}

func everywhere(names []string) []string {
	paths := make([]string, len(names))
	for i, name := range names {
		paths[i] = fromEverywhere(name)
	}
	return paths
}

// fromEverywhere is a file from wherever the command is copied to; "-" is stdin.
func fromEverywhere(name string) string {
	if abs, err := filepath.Abs(name); err == nil && name != "-" {
		name = abs
	}
	return name
}

func shellWord(name string) string { return cmdline.Word(fromEverywhere(name)) }

func newReportAllocations(all []store.Vouched) []reportAllocation {
	list := []reportAllocation{}
	for _, v := range all {
		for _, h := range v.Allocation.Holders {
			list = append(list, reportAllocation{
				IP:          v.Allocation.Addr,
				Network:     v.Network,
				ContainerID: h.ContainerID,
				IfName:      h.IfName,
				Pod:         dumpPod{Namespace: h.Pod.Namespace, Name: h.Pod.Name, UID: h.Pod.UID},
				Sources:     v.Sources,
				Contested:   v.Contested,
			})
		}
	}
	return list
}

// printReport prints r as JSON, or with text for people. What was done stays
// done where that fails.
func (a *app) printReport(r report, form string, text func(screen, report) error) error {
	print := func() error { return text(a.out, r) }
	if form == outputJSON {
		print = func() error { return printJSON(a.out, r) }
	}
	if err := print(); err != nil {
		return fmt.Errorf("it is done, but the report was not printed: %w", err)
	}
	return nil
}
