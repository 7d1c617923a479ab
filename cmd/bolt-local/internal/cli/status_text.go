package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/bolt-local/bolt-local/cmd/internal/nodestatus"
	"github.com/bolt-local/bolt-local/cmd/internal/wording"
	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/store/record"
)

func printStatusText(s screen, st nodestatus.Status) error {
	var head strings.Builder
	c := st.Checkpoint
	fmt.Fprintf(&head, "Checkpoint  %s (%s)\n", wording.Printable(c.Path), fileNote(c))
	if c.Schema > 0 {
		fmt.Fprintf(&head, "Format      schema %d, written by %s, created %s\n", c.Schema, wording.Printable(c.Writer), c.Created.Format("2006-01-02 15:04:05 MST"))
	}
	head.WriteByte('\n')
	if _, err := io.WriteString(s, head.String()); err != nil {
		return err
	}
	if err := printRangeSets(s, st); err != nil {
		return err
	}
	if err := printPhases(s, st.Networks); err != nil {
		return err
	}
	return printAttention(s, st)
}

func fileNote(c nodestatus.CheckpointStatus) string {
	if !c.Exists {
		return "not there yet: the first ADD makes it"
	}
	return byteSize(c.Bytes)
}

// printRangeSets prints a table with a line for each range of each set, the
// numbers beside the first.
func printRangeSets(s screen, st nodestatus.Status) error {
	t := &table{columns: []column{
		{title: "NETWORK", least: 7},
		{title: "RANGES", least: 8, cut: cutMiddle},
		{title: "SIZE", right: true},
		{title: "HELD", right: true},
		{title: "FREE", right: true},
		{title: "USED"},
	}}
	previous := 0
	for _, n := range st.Networks {
		name := wording.Printable(n.Name)
		previous += n.PreviousBoot
		if len(n.RangeSets) == 0 {
			t.add(cell{text: name}, cell{text: "not known"}, cell{text: "?"}, cell{text: fmt.Sprint(n.Held)}, cell{text: "?"}, cell{})
		}
		for _, set := range n.RangeSets {
			addRangeSet(t, name, set)
			name = ""
		}
	}
	if len(t.rows) == 0 {
		text := "No network is stored."
		if st.Checkpoint.Problem != "" && !st.Checkpoint.Unwritable {
			text = "No network can be read."
		}
		_, err := fmt.Fprintln(s, text)
		return err
	}
	if err := t.print(s); err != nil || previous == 0 {
		return err
	}
	count := "count"
	if previous == 1 {
		count = "counts"
	}
	_, err := fmt.Fprintf(s, "\n%s of a previous boot %s as free.\n", wording.Counted(previous, "allocation", "allocations"), count)
	return err
}

func addRangeSet(t *table, name string, set nodestatus.RangeSetStatus) {
	for i, r := range set.Ranges {
		if i > 0 {
			t.add(cell{}, cell{text: rangeText(r)}, cell{}, cell{}, cell{}, cell{})
			continue
		}
		t.add(
			cell{text: name},
			cell{text: rangeText(r)},
			cell{text: wording.Number(set.Size)},
			cell{text: fmt.Sprint(set.Held)},
			cell{text: wording.Number(set.Free)},
			cell{bar(set), fullness(set)},
		)
	}
}

// barLength is how many marks a full bar has.
const barLength = 10

func bar(set nodestatus.RangeSetStatus) string {
	marks := min(set.PercentHeld*barLength/100, barLength)
	percent := fmt.Sprintf("%d%%", set.PercentHeld)
	if set.Held > 0 {
		marks = max(marks, 1)
		if set.PercentHeld == 0 {
			percent = "<1%"
		}
	}
	return fmt.Sprintf("[%s%s] %4s", strings.Repeat("#", marks), strings.Repeat(".", barLength-marks), percent)
}

func fullness(set nodestatus.RangeSetStatus) style {
	switch {
	case set.Exhausted:
		return red
	case set.PercentHeld >= nodestatus.NearlyFull:
		return yellow
	}
	return green
}

// rangeText is the subnet where the range is what a subnet alone stands for.
func rangeText(r record.Range) string {
	switch {
	case ipam.WholeSubnet(r):
		return r.Subnet.String()
	case r.Start == r.End:
		return r.Start.String()
	}
	return r.String()
}

// noticeStyle tells what is wrong now from what may become so, and both from
// what is only good to know.
func noticeStyle(n nodestatus.Notice) style {
	switch n.Kind {
	case nodestatus.KindProblem, nodestatus.KindLost, nodestatus.KindExhausted, nodestatus.KindTwoHolders, nodestatus.KindFormsDiffer:
		return red
	case nodestatus.KindMigrationWaits, nodestatus.KindDirectoryChanged:
		return plain
	}
	return yellow
}

func printAttention(s screen, st nodestatus.Status) error {
	if len(st.Attention) == 0 {
		_, err := fmt.Fprintln(s, "\nNothing needs attention.")
		return err
	}
	if _, err := fmt.Fprintln(s, "\n"+s.paint(bold, "Needs attention")); err != nil {
		return err
	}
	for _, n := range st.Attention {
		where := "checkpoint"
		if n.Network != "" {
			where = "network " + n.Network
		}
		if _, err := fmt.Fprintf(s, "  %s\n", s.paint(noticeStyle(n), wording.Printable(where+": "+string(n.Kind)))); err != nil {
			return err
		}
		if err := writeWrapped(s, "    ", wording.Printable(n.Text)); err != nil {
			return err
		}
		if n.Command != "" {
			if _, err := fmt.Fprintf(s, "    $ %s\n", n.Command); err != nil {
				return err
			}
		}
	}
	return nil
}
