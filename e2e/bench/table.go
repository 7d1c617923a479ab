package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// row is one line of the table: two series of one measure (ms, or MiB where
// work says so) from the same rounds.
type row struct {
	work       string
	ours, base []float64
	goal       float64 // highest ratio wanted; 0 where there is no goal
}

// ratio is that of the medians, to the three digits that are printed, so that
// what is printed is what is judged.
func (r row) ratio() float64 {
	return math.Round(median(r.ours)/median(r.base)*1000) / 1000
}

// result says whether the goal is met, and by how much it is not.
func (r row) result() string {
	switch over := r.ratio() - r.goal; {
	case r.goal == 0:
		return ""
	case over <= 0:
		return "met"
	default:
		return fmt.Sprintf("no %+.3f", over)
	}
}

const tableFormat = "%-16s | %7s | %7s | %5s | %6s | %4s | %5s | %s\n"

func printHeader(w io.Writer) {
	fmt.Fprintf(w, tableFormat, "work", "ours", "base", "ratio", "paired", "±", "goal", "result")
	dashes := func(n int) string { return strings.Repeat("-", n) }
	fmt.Fprintf(w, tableFormat, dashes(16), dashes(6)+":", dashes(6)+":", dashes(4)+":",
		dashes(5)+":", dashes(3)+":", dashes(4)+":", dashes(9))
}

func printRow(w io.Writer, r row) {
	goal := ""
	if r.goal != 0 {
		goal = fmt.Sprintf("%.2f", r.goal)
	}
	paired := pairedRatios(r.ours, r.base)
	line := fmt.Sprintf(tableFormat, r.work,
		fmt.Sprintf("%.2f", median(r.ours)), fmt.Sprintf("%.2f", median(r.base)),
		fmt.Sprintf("%.3f", r.ratio()), fmt.Sprintf("%.3f", median(paired)),
		fmt.Sprintf("%.0f%%", spread(paired)*100), goal, r.result())
	fmt.Fprintln(w, strings.TrimRight(line, " \n"))
}

// thousands writes n with a comma between groups of three digits.
func thousands(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

// legend explains the columns. It stands below the tables.
const legend = `Times in ms, from a process's start until it has been waited for; medians.
base:    host-local, or what the row names after the slash
ratio:   of the medians; the goal is for it
paired:  median of the ratios within each round; ± is half their quartile
         distance, the noise of this run
100 ADDs at N:  started at once with N held, from the first start to the last
                answer
ADD 0:   with no address held
empty:   a Go program that does nothing
floor:   the same with two small writes to a file, each followed by fdatasync
skel:    a plugin that does nothing, on the CNI library as ours is
`
