// Command maxrss runs a program with its own environment and standard input
// and prints the program's peak resident memory, in KiB. What the program
// prints goes to standard error.
//
// It is there to be small. Linux counts the memory of the parent that a process
// was started from into the peak of the process (setmax_mm_hiwater_rss at
// exec), so a parent bigger than the program would be measured in its place.
package main

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(path string) error {
	p, err := os.StartProcess(path, []string{path}, &os.ProcAttr{
		Files: []*os.File{os.Stdin, os.Stderr, os.Stderr},
	})
	if err != nil {
		return err
	}
	state, err := p.Wait()
	if err != nil {
		return err
	}
	if !state.Success() {
		return fmt.Errorf("%s: %s", path, state)
	}
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return errors.New("no resource usage of " + path)
	}
	_, err = fmt.Println(usage.Maxrss)
	return err
}
