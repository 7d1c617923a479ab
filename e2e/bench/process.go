package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// process is a running command with its streams in pipes, which hold more than
// a plugin reads or prints. So nothing but the process has to run meanwhile.
type process struct {
	cmd            *exec.Cmd
	begin          time.Time
	stdout, stderr *os.File
}

// start begins cmd with stdin, which may not be longer than a pipe's 64 KiB.
func start(cmd *exec.Cmd, stdin string) (*process, error) {
	var opened []*os.File
	pipe := func() (r, w *os.File, err error) {
		r, w, err = os.Pipe()
		if err == nil {
			opened = append(opened, r, w)
		}
		return r, w, err
	}
	fail := func(err error) (*process, error) {
		for _, f := range opened {
			f.Close()
		}
		return nil, err
	}

	in, inW, err := pipe()
	if err != nil {
		return fail(err)
	}
	out, outW, err := pipe()
	if err != nil {
		return fail(err)
	}
	errs, errsW, err := pipe()
	if err != nil {
		return fail(err)
	}
	if _, err := io.WriteString(inW, stdin); err != nil {
		return fail(err)
	}
	if err := inW.Close(); err != nil {
		return fail(err)
	}

	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, outW, errsW
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return fail(err)
	}
	in.Close()
	outW.Close()
	errsW.Close()
	return &process{cmd: cmd, begin: begin, stdout: out, stderr: errs}, nil
}

// wait returns the time from the start of the process until it has been waited
// for, and what it printed. Its error holds all that a failed process said.
func (p *process) wait() (time.Duration, []byte, error) {
	failure := p.cmd.Wait()
	took := time.Since(p.begin)

	defer p.stdout.Close()
	defer p.stderr.Close()
	out, err := io.ReadAll(p.stdout)
	if err != nil {
		return 0, nil, err
	}
	said, err := io.ReadAll(p.stderr)
	if err != nil {
		return 0, nil, err
	}
	if failure != nil {
		return 0, nil, fmt.Errorf("%s: %w\n%s%s", p.cmd.Path, failure, out, said)
	}
	return took, out, nil
}

// timed is start and wait.
func timed(cmd *exec.Cmd, stdin string) (time.Duration, []byte, error) {
	p, err := start(cmd, stdin)
	if err != nil {
		return 0, nil, err
	}
	return p.wait()
}
