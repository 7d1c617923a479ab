package main

import (
	"fmt"
	"strings"
)

const width = 78 // of prose; a terminal has 80 columns

// heading begins a scene.
func heading(title string) {
	fmt.Printf("\n%s\n%s\n", title, strings.Repeat("-", len(title)))
}

// say prints prose.
func say(format string, args ...any) {
	fmt.Println(wrap(fmt.Sprintf(format, args...), ""))
}

// wrap breaks text between words. Lines after the first begin with indent.
func wrap(text, indent string) string {
	var out strings.Builder
	column := len(indent)
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case column+1+len(word) > width:
			out.WriteString("\n" + indent)
			column = len(indent)
		default:
			out.WriteString(" ")
			column++
		}
		out.WriteString(word)
		column += len(word)
	}
	return out.String()
}

// command prints a command that is run.
func command(format string, args ...any) {
	fmt.Printf("  $ "+format+"\n", args...)
}

// call prints a call that the runtime makes through libcni.
func call(format string, args ...any) {
	fmt.Printf("  runtime> "+format+"\n", args...)
}

// output prints what a command printed, indented. A line that would be too
// long is wrapped.
func output(text string) {
	const indent = "    "
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \n")
		if len(indent)+len(line) > width {
			line = wrap(line, indent+"  ")
		}
		fmt.Println(strings.TrimRight(indent+line, " "))
	}
}
