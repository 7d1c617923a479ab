package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// row is one line of the table: two series of one measure (ms, or MiB where
// work says so) from the same rounds, or ours alone.
type row struct {
	work       string
	ours, base []float64
	goal       float64 // highest ratio wanted, highest median without a base; 0 for none
}

// alone tells whether there is nothing to compare with.
func (r row) alone() bool { return len(r.base) == 0 }

// ratio is that of the medians, to the three digits that are printed, so that
// what is printed is what is judged.
func (r row) ratio() float64 {
	return math.Round(median(r.ours)/median(r.base)*1000) / 1000
}

// result says whether the goal is met, and by how much it is not.
func (r row) result() string {
	value, format := r.ratio(), "no %+.3f"
	if r.alone() {
		value, format = math.Round(median(r.ours)*100)/100, "no %+.1f"
	}
	switch over := value - r.goal; {
	case r.goal == 0:
		return ""
	case over <= 0:
		return "met"
	default:
		return fmt.Sprintf(format, over)
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
	number := func(format string, value float64) string {
		if math.IsNaN(value) || value == 0 {
			return ""
		}
		return fmt.Sprintf(format, value)
	}
	goal, noise := "%.2f", pairedRatios(r.ours, r.base)
	if r.alone() {
		goal, noise = "%.0f", r.ours
	}
	line := fmt.Sprintf(tableFormat, r.work,
		number("%.2f", median(r.ours)), number("%.2f", median(r.base)),
		number("%.3f", r.ratio()), number("%.3f", median(pairedRatios(r.ours, r.base))),
		fmt.Sprintf("%.0f%%", spread(noise)*100), number(goal, r.goal), r.result())
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
ADD, DEL switch: in phase switch with 1,000 held, each with its file in
                host-local's directory; all other rows: in phase contract
import 10,000:  the first ADD, on a directory with 10,000 files of host-local;
                the goal in ms. None of it is libcni's cache: there is none
ADD 0:   with no address held
empty:   a Go program that does nothing
floor:   the same with two small writes to a file, each followed by fdatasync
skel:    a plugin that does nothing, on the CNI library as ours is
`
