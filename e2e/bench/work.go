package main

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/bolt-local/bolt-local/migrate/engine"
)

// group is work that is measured together and can be chosen by its name.
type group struct {
	name string
	run  func(*bench, context.Context) ([]row, error)
}

// groups are the rows, with the goal of each.
var groups = []group{
	{"version", (*bench).version},
	{"0", held(0, 1.05)},
	{"100", held(100, 0.80)},
	{"250", held(250, 0.62)},
	{"1000", held(1_000, 0.31)},
	{"10000", held(10_000, 0.05)},
	{"100000", (*bench).large},
	{"switch", (*bench).mirrored},
	{"import", (*bench).imported},
	{"at-once", (*bench).atOnce},
	{"memory", (*bench).memory},
	{"floor", (*bench).floor},
}

// bench measures programs in one place.
type bench struct {
	programs programs
	place    *place
	rounds   int
}

// manyAtOnce is the number of ADDs of a node that starts all its pods.
const manyAtOnce = 100

// subnet has room for the addresses held in advance and those of each round.
func subnet(n int) netip.Prefix {
	if n > 50_000 {
		return netip.MustParsePrefix("10.64.0.0/12")
	}
	return netip.MustParsePrefix("10.64.0.0/16")
}

// newPlugin gives p a fresh data directory with n addresses held, and asks it
// for the next one to see that it knows of them.
func (b *bench) newPlugin(ctx context.Context, p plugin, n int) (plugin, error) {
	var err error
	if p.dataDir, err = b.newDataDir(p.name); err != nil {
		return p, err
	}
	if err := p.hold(n); err != nil {
		return p, err
	}
	return p, p.expectNext(ctx, addresses(p.subnet, n+1)[n])
}

func (b *bench) newDataDir(name string) (string, error) {
	parent, err := os.MkdirTemp(b.place.dir, name+"-")
	return filepath.Join(parent, "state"), err
}

// ours makes bolt-local with n addresses held. Its network is in switch, where
// that is asked for, and else in contract, as one that was never host-local's.
func (b *bench) ours(ctx context.Context, subnet netip.Prefix, phase engine.Phase, n int) (plugin, error) {
	p, err := b.newPlugin(ctx, plugin{name: boltLocal, path: b.programs.boltLocal, subnet: subnet, phase: phase}, n)
	if err != nil {
		return p, err
	}
	return p, p.expectSettled(cmp.Or(phase, engine.Contract), n)
}

// both makes the two plugins with n addresses held each, ours as ours does.
func (b *bench) both(ctx context.Context, phase engine.Phase, n int) (ours, theirs plugin, err error) {
	ours, err = b.ours(ctx, subnet(n), phase, n)
	if err != nil {
		return ours, theirs, err
	}
	theirs, err = b.newPlugin(ctx, plugin{name: hostLocal, path: b.programs.hostLocal, subnet: subnet(n)}, n)
	return ours, theirs, err
}

// step measures one thing in a round.
type step func(round int) (float64, error)

// interleave runs the steps in turn, round after round, and returns a series
// for each. The first round warms up and does not count.
func interleave(rounds int, steps ...step) ([][]float64, error) {
	series := make([][]float64, len(steps))
	for round := range rounds + 1 {
		for i, s := range steps {
			value, err := s(round)
			if err != nil {
				return nil, err
			}
			if round > 0 {
				series[i] = append(series[i], value)
			}
		}
	}
	return series, nil
}

// call is a step that calls verb, in each round for another attachment.
func call(ctx context.Context, p plugin, verb string) step {
	return func(round int) (float64, error) { return p.call(ctx, verb, containerID("round", round)) }
}

func (b *bench) version(ctx context.Context) ([]row, error) {
	ours, theirs, err := b.both(ctx, "", 0)
	if err != nil {
		return nil, err
	}
	s, err := interleave(b.rounds, call(ctx, ours, "VERSION"), call(ctx, theirs, "VERSION"))
	if err != nil {
		return nil, err
	}
	return []row{{"VERSION", s[0], s[1], 1.00}}, nil
}

// atOnce measures a burst of ADDs from the first start to the last answer. It
// takes seconds, and so fewer rounds.
func (b *bench) atOnce(ctx context.Context) ([]row, error) {
	empty, err := b.burst(ctx, 0)
	if err != nil {
		return nil, err
	}
	used, err := b.burst(ctx, 250)
	if err != nil {
		return nil, err
	}
	return []row{
		{fmt.Sprintf("%d ADDs at 0", manyAtOnce), empty[0], empty[1], 0},
		{fmt.Sprintf("%d ADDs at 250", manyAtOnce), used[0], used[1], 0.5},
	}, nil
}

func (b *bench) burst(ctx context.Context, n int) ([][]float64, error) {
	ours, theirs, err := b.both(ctx, "", n)
	if err != nil {
		return nil, err
	}
	burst := func(p plugin) step {
		return func(round int) (float64, error) {
			ids := make([]string, manyAtOnce)
			for i := range ids {
				ids[i] = containerID("burst", round*manyAtOnce+i)
			}
			took, err := addAll(ctx, p, ids)
			if err != nil {
				return 0, err
			}
			for _, id := range ids {
				if _, err := p.call(ctx, "DEL", id); err != nil {
					return 0, err
				}
			}
			return took, nil
		}
	}
	return interleave(max(3, b.rounds/5), burst(ours), burst(theirs))
}

// addAll starts an ADD for each container at once and returns the time until
// the last has ended, in ms. Two answers with one address are an error.
func addAll(ctx context.Context, p plugin, ids []string) (float64, error) {
	var running []*process
	var failed error
	begin := time.Now()
	for _, id := range ids {
		proc, err := start(p.command(ctx, "ADD", id), p.config())
		if err != nil {
			failed = err
			break
		}
		running = append(running, proc)
	}
	results := make([][]byte, len(running))
	for i, proc := range running {
		_, out, err := proc.wait()
		if err != nil && failed == nil {
			failed = err
		}
		results[i] = out
	}
	took := time.Since(begin)
	if failed != nil {
		return 0, failed
	}
	given := make(map[netip.Addr]bool)
	for _, result := range results {
		addr, err := addressOf(result)
		if err != nil {
			return 0, err
		}
		if given[addr] {
			return 0, fmt.Errorf("%s gave %s to two of %d ADDs at once", p.name, addr, len(ids))
		}
		given[addr] = true
	}
	return milliseconds(took), nil
}

// memory compares the peak memory of an ADD, in MiB.
func (b *bench) memory(ctx context.Context) ([]row, error) {
	ours, theirs, err := b.both(ctx, "", 10_000)
	if err != nil {
		return nil, err
	}
	peak := func(p plugin) step {
		return func(round int) (float64, error) {
			return p.peakMemory(ctx, b.programs.maxrss, "ADD", containerID("round", round))
		}
	}
	s, err := interleave(b.rounds,
		peak(ours), peak(theirs),
		call(ctx, ours, "DEL"), call(ctx, theirs, "DEL"))
	if err != nil {
		return nil, err
	}
	return []row{{"ADD peak, MiB", s[0], s[1], 0.5}}, nil
}

// floor compares an ADD with the least that any such program costs, and skel,
// which it is bound to use, with the same.
func (b *bench) floor(ctx context.Context) ([]row, error) {
	ours, err := b.ours(ctx, subnet(0), "", 0)
	if err != nil {
		return nil, err
	}
	idle := plugin{name: "skel", path: b.programs.skel, dataDir: b.place.dir, subnet: subnet(0)}
	program := func(argv ...string) step {
		return func(int) (float64, error) {
			took, _, err := timed(exec.CommandContext(ctx, argv[0], argv[1:]...), "")
			return milliseconds(took), err
		}
	}
	s, err := interleave(b.rounds,
		call(ctx, ours, "ADD"),
		program(b.programs.empty),
		program(b.programs.fdatasync, b.place.floorFile()),
		call(ctx, idle, "ADD"),
		call(ctx, ours, "DEL"))
	if err != nil {
		return nil, err
	}
	return []row{
		{"ADD 0/empty", s[0], s[1], 0},
		{"ADD 0/floor", s[0], s[2], 1.30},
		{"skel/empty", s[3], s[1], 0},
	}, nil
}
