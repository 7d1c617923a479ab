package damage

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/record"
)

// What a call may use, whatever it finds.
const (
	mostMemory    = 256 << 20 // bytes, resident
	mostProcessor = 5 * time.Second
	// mostTime ends a call that hangs. It is not a bound for one that works: the
	// machine may be busy.
	mostTime = time.Minute
)

// processes makes each call a process of the real binary.
type processes struct {
	*node
	binary string
	fault  func(format string, args ...any)
}

// signs are what a Go program says when it crashes.
var signs = []string{"goroutine ", "panic", "fatal error", "SIGSEGV", "SIGBUS", "please report it"}

// run starts one process and holds what it used against the bounds.
func (p *processes) run(name string, cmd *exec.Cmd) (stdout, stderr []byte, failed bool) {
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.fault("%s: %v", name, err)
		return nil, nil, true
	}
	used := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if peak := used.Maxrss << 10; peak > mostMemory {
		p.fault("%s takes %d MiB", name, peak>>20)
	}
	if took := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(); took > mostProcessor {
		p.fault("%s takes %s of the processor", name, took)
	}
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signaled() {
		p.fault("%s ended by signal %s", name, status.Signal())
	}
	for _, sign := range signs {
		if bytes.Contains(errOut.Bytes(), []byte(sign)) || bytes.Contains(out.Bytes(), []byte(sign)) {
			p.fault("%s says %.2000s %.500s", name, errOut.Bytes(), out.Bytes())
			break
		}
	}
	return out.Bytes(), errOut.Bytes(), err != nil
}

// verb calls the plugin. One that was given up is called again, as a runtime does.
func (p *processes) verb(verb, network string, att record.Attachment, c conf) ([]byte, error) {
	call := lab.Call{
		Verb: verb, ContainerID: att.ContainerID, IfName: att.IfName, NetNS: p.spaces.path(att.ContainerID),
		AnyNetNS: true, Config: p.json(network, c),
	}
	for again := false; ; again = true {
		ctx, cancel := context.WithTimeout(context.Background(), mostTime)
		cmd := exec.CommandContext(ctx, p.binary)
		cmd.Env, cmd.Stdin = call.Env(), bytes.NewReader(call.Config)
		stdout, stderr, failed := p.run(verb, cmd)
		cancel()
		if !failed {
			return stdout, nil
		}
		var e types.Error
		if err := json.Unmarshal(stdout, &e); err != nil || e.Code == 0 || e.Msg == "" {
			p.fault("%s fails without a CNI error: %q, %.2000q", verb, stdout, stderr)
			return nil, errors.New("no CNI error")
		}
		if again || e.Code != types.ErrTryAgainLater {
			return nil, &e
		}
	}
}

func (p *processes) add(network string, att record.Attachment, c conf) (netip.Addr, error) {
	stdout, err := p.verb("ADD", network, att, c)
	if err != nil {
		return netip.Addr{}, err
	}
	r, err := current.NewResult(stdout)
	if err != nil {
		return netip.Addr{}, err
	}
	return onlyAddress(r)
}

func (p *processes) del(network string, att record.Attachment) error {
	_, err := p.verb("DEL", network, att, conf{})
	return err
}

func (p *processes) check(network string, att record.Attachment, addr netip.Addr) error {
	_, err := p.verb("CHECK", network, att, conf{prev: addr})
	return err
}

func (p *processes) status(network string) error {
	_, err := p.verb("STATUS", network, record.Attachment{}, conf{})
	return err
}

func (p *processes) gc(network string, keep []record.Attachment) error {
	_, err := p.verb("GC", network, record.Attachment{}, conf{valid: &keep})
	return err
}

// tool runs a command of the command line.
func (p *processes) tool(answer any, args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), mostTime)
	defer cancel()
	stdout, stderr, failed := p.run(args[0], exec.CommandContext(ctx, p.binary, append(args, "--data-dir", p.dataDir)...))
	if answer != nil && len(stdout) > 0 {
		if err := json.Unmarshal(stdout, answer); err != nil {
			p.fault("%s prints %.200q", args[0], stdout)
		}
	}
	if failed {
		return fmt.Errorf("%s: %s", args[0], stderr)
	}
	return nil
}

func (p *processes) view(network string) (holdings, error) {
	var d lab.Dump
	err := p.tool(&d, "dump", "--network", network, "--output", "json")
	held := holdings{}
	if err != nil && strings.Contains(err.Error(), "network "+network+" is not stored") {
		return held, nil
	}
	for _, a := range d.Allocations(network) {
		held[a.IP] = record.Attachment{ContainerID: a.ContainerID, IfName: a.IfName}
	}
	return held, err
}

func (p *processes) dump() (int, error) {
	var d lab.Dump
	err := p.tool(&d, "dump", "--output", "json")
	count := 0
	for _, n := range d.Networks {
		count += len(n.Allocations)
	}
	verified := p.tool(nil, "migrate", "verify")
	if verified != nil && strings.Contains(verified.Error(), "there is no checkpoint in ") {
		verified = nil // nor is there anything to compare
	}
	return count, errors.Join(err, p.tool(nil, "status"), verified)
}

func (p *processes) repair(r store.Repair) (store.Report, error) {
	args := []string{"repair", "--output", "json", "--cni-cache-dir", p.cacheDir}
	if r.Backup != "" {
		args = append(args, "--backup", r.Backup)
	}
	for flag, given := range map[string]bool{"--dry-run": r.DryRun, "--accept": r.Accept} {
		if given {
			args = append(args, flag)
		}
	}
	var answer struct {
		Problem, Kept, Complete string
		Lost                    []string
		OtherNetworksLost       bool
	}
	err := p.tool(&answer, args...)
	report := store.Report{Kept: answer.Kept, Complete: answer.Complete, Lost: answer.Lost, Others: answer.OtherNetworksLost}
	if answer.Problem != "" {
		report.Problem = errors.New(answer.Problem)
	}
	slices.Sort(report.Lost)
	return report, err
}

// realBoot is the boot that a process sees.
func realBoot() (string, error) {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return string(bytes.TrimSpace(b)), err
}
