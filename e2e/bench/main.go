// Command bench measures bolt-local side by side with host-local, as whole
// processes and in turn, and prints their table. It asserts
// nothing: what it prints is for people.
//
// It is run in the e2e module, which knows the version of host-local:
//
//	go -C e2e run ./bench -rounds 15 -only 0,100,floor
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	rounds     int
	dir, tmpfs string
	groups     []group
	given      programs
}

// parse reads the flags. Asked for help, it prints it and returns flag.ErrHelp.
func parse(args []string, help io.Writer) (options, error) {
	var o options
	names := make([]string, len(groups))
	for i, g := range groups {
		names[i] = g.name
	}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // an error is printed by main
	flags.IntVar(&o.rounds, "rounds", 31, "times that each thing is measured; bursts a fifth of that")
	flags.StringVar(&o.dir, "dir", "/var/tmp", "a directory on a disk; empty for none")
	flags.StringVar(&o.tmpfs, "tmpfs", "/dev/shm", "a directory on a tmpfs; empty for none")
	flags.StringVar(&o.given.boltLocal, "bolt-local", "", "the binary to measure; built if empty")
	flags.StringVar(&o.given.hostLocal, "host-local", "", "the binary to compare with; built if empty")
	only := flags.String("only", "", "what to measure, separated by commas: "+strings.Join(names, ", "))
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		flags.SetOutput(help)
		flags.PrintDefaults()
		return o, err
	} else if err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if o.rounds < 1 {
		return o, fmt.Errorf("-rounds %d: at least 1 is needed", o.rounds)
	}
	o.groups = groups
	if *only != "" {
		o.groups = nil
		for name := range strings.SplitSeq(*only, ",") {
			i := slices.Index(names, name)
			if i < 0 {
				return o, fmt.Errorf("-only %s: unknown, choose from %s", name, strings.Join(names, ", "))
			}
			o.groups = append(o.groups, groups[i])
		}
	}
	return o, nil
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	o, err := parse(args, stdout)
	if err != nil {
		return err
	}
	var places []*place
	for _, p := range []struct{ flag, parent string }{{"-dir", o.dir}, {"-tmpfs", o.tmpfs}} {
		if p.parent == "" {
			continue
		}
		made, err := newPlace(p.flag, p.parent)
		if err != nil {
			return err
		}
		defer made.close()
		places = append(places, made)
	}

	binaries, err := os.MkdirTemp("", "bolt-local-bench-bin-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(binaries)
	programs, err := buildPrograms(ctx, binaries, o.given)
	if err != nil {
		return err
	}

	fmt.Fprintf(stdout, "ours: %s\nbase: %s\nhost: Linux %s, %d CPUs, load %s, %d rounds\n",
		describe(programs.boltLocal), describe(programs.hostLocal),
		firstWord("/proc/sys/kernel/osrelease"), runtime.NumCPU(), firstWord("/proc/loadavg"), o.rounds)
	for _, p := range places {
		b := &bench{programs: programs, place: p, rounds: o.rounds}
		if err := b.report(ctx, stdout, o.groups); err != nil {
			return err
		}
	}
	fmt.Fprint(stdout, "\n", legend)
	return nil
}

// report prints the table of one place, each row as soon as it is measured.
func (b *bench) report(ctx context.Context, stdout io.Writer, groups []group) error {
	fs, err := b.place.fileSystem()
	if err != nil {
		return err
	}
	syncs, err := b.place.fdatasync(101)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "\n%s, %s: fdatasync of %d bytes takes %.3f ms (quartiles %.3f, %.3f)\n\n",
		b.place.parent, fs, pageSize, median(syncs), quantile(syncs, 0.25), quantile(syncs, 0.75))
	printHeader(stdout)
	for _, g := range groups {
		rows, err := g.run(b, ctx)
		if err != nil {
			return fmt.Errorf("%s in %s: %w", g.name, b.place.parent, err)
		}
		for _, r := range rows {
			printRow(stdout, r)
		}
	}
	return nil
}

// firstWord returns the first word of a file of /proc, "?" if there is none.
func firstWord(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return "?"
	}
	word, _, _ := bytes.Cut(bytes.TrimSpace(data), []byte(" "))
	return string(word)
}
