// Package command is what the commands of both programs have in common: which
// errors are about how they were called, and their exit status.
package command

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bolt-local/bolt-local/cmd/internal/wording"
)

// Exit statuses.
const (
	OK     = 0 // it did what was asked
	Failed = 1
	Usage  = 2 // it was not understood
)

// failure is an error of a command that was understood. All other errors are
// about how it was called.
type failure struct{ error }

func (f failure) Unwrap() error { return f.error }

type usageError struct{ error }

func (u usageError) Unwrap() error { return u.error }

// UsageError is one about how a command was called, which it finds by itself.
func UsageError(err error) error { return usageError{err} }

// Runs makes cmd carry out run, whose errors are failures but for those of
// [UsageError]. It completes no file names.
func Runs(cmd *cobra.Command, run func(*cobra.Command) error) {
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		err := run(cmd)
		if err == nil || errors.As(err, &usageError{}) {
			return err
		}
		return failure{err}
	}
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	cmd.DisableFlagsInUseLine = true
}

// Status tells on stderr how cmd ended, and returns the exit status. warn prints
// a line in the program's name.
func Status(cmd *cobra.Command, err error, stderr io.Writer, warn func(line string)) int {
	switch {
	case err == nil:
		return OK
	case errors.As(err, &failure{}):
		warn(wording.OneLine(err.Error()))
		return Failed
	}
	first, rest, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
	warn(first)
	for line := range strings.Lines(rest) { // what was meant, perhaps
		text := strings.TrimLeft(line, "\t")
		fmt.Fprintln(stderr, line[:len(line)-len(text)]+wording.Printable(strings.TrimSuffix(text, "\n")))
	}
	fmt.Fprintf(stderr, "Run '%s --help' for usage.\n", cmd.CommandPath())
	return Usage
}
