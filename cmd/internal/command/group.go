package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// Group makes cmd, which has commands and does nothing itself, print its help,
// and refuse a word that is none of its commands.
func Group(cmd *cobra.Command) {
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return unknown(cmd, args[0])
	}
	cmd.SuggestionsMinimumDistance = 2
}

// unknown is the error of a word that is no command of parent.
func unknown(parent *cobra.Command, word string) error {
	text := fmt.Sprintf("unknown command %q for %q", word, parent.CommandPath())
	if alike := parent.SuggestionsFor(word); len(alike) > 0 {
		text += "\n\nDid you mean this?\n\t" + strings.Join(alike, "\n\t")
	}
	return errors.New(text)
}

// StrictDefaults makes what cobra adds to root, help and completion, refuse what
// they do not understand. It goes behind all other commands.
func StrictDefaults(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "completion":
			Group(cmd)
		case "help":
			cmd.Run, cmd.RunE = nil, help
		}
	}
}

func help(cmd *cobra.Command, args []string) error {
	about, rest, err := cmd.Root().Find(args)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return unknown(about, rest[0])
	}
	about.InitDefaultHelpFlag()
	about.InitDefaultVersionFlag()
	return about.Help()
}
