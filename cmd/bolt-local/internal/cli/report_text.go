package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/bolt-local/bolt-local/cmd/internal/wording"
	"github.com/bolt-local/bolt-local/store"
)

func printRepair(s screen, r report) error {
	if err := printRepaired(s, r); err != nil {
		return err
	}
	return printAcknowledged(s, r)
}

func printRepaired(s screen, r report) error {
	if r.Problem == "" {
		_, err := fmt.Fprintf(s, "Nothing to repair in %s.\n", wording.Printable(r.Checkpoint))
		return err
	}
	if err := printReportHead(s, r); err != nil {
		return err
	}
	if !r.searched {
		if err := writeWrapped(s, "", "There is nothing left to be searched, so nothing was rebuilt: `"+r.dump+"` shows what is known."); err != nil {
			return err
		}
		return printRefusals(s, r)
	}
	return printFound(s, r, "Notes")
}

func printRestore(s screen, r report) error {
	if err := printReportHead(s, r); err != nil {
		return err
	}
	const differences = "Not as in the backup"
	switch {
	case r.Problem != "" && r.Complete != store.TheJournal: // it was a repair
		return printFound(s, r, "Notes")
	case len(r.Allocations) > 0:
		return printFound(s, r, differences)
	}
	text := "No address was given back: what is held now stays held, and `" + r.dump + "` shows it."
	if !r.existed && r.Problem == "" {
		text = "There was no checkpoint: the backup takes its place."
	}
	if err := writeWrapped(s, "", text); err != nil {
		return err
	}
	return printRest(s, r, differences)
}

// printReportHead prints what is known of the files.
func printReportHead(s screen, r report) error {
	lines := [][2]string{{"Checkpoint", r.Checkpoint}}
	if r.Problem != "" {
		lines = append(lines, [2]string{"Problem", r.Problem})
	}
	if r.Problem != "" && r.searched {
		lines = append(lines, [2]string{"Complete", cmp.Or(r.Complete, "nothing that is left had everything")})
	}
	if r.Kept != "" {
		lines = append(lines, [2]string{"Kept as", r.Kept})
	}
	if r.DryRun {
		lines = append(lines, [2]string{"Dry run", "nothing was changed"})
	}
	for _, l := range lines {
		if err := writeField(s, l[0], wording.Printable(l[1])); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(s)
	return err
}

// printFound prints what was found, and what that means.
func printFound(s screen, r report, notes string) error {
	if err := printVouched(s, r.Allocations); err != nil {
		return err
	}
	if err := printContested(s, r.Allocations); err != nil {
		return err
	}
	return printRest(s, r, notes)
}

func printRest(s screen, r report, notes string) error {
	if err := printSection(s, notes, r.Notes); err != nil {
		return err
	}
	return printRefusals(s, r)
}

// printVouched prints a table with a line for each holder.
func printVouched(s screen, allocations []reportAllocation) error {
	t := &table{columns: []column{
		{title: "NETWORK", least: 7},
		{title: "IP"},
		{title: "CONTAINER", least: 9, cut: cutSilently},
		{title: "IFNAME", least: 6},
		{title: "POD", least: 4, cut: cutMiddle},
		{title: "VOUCHED-FOR-BY"}, // in full: it is what the table is for
	}}
	ids := make([]string, len(allocations))
	for i, a := range allocations {
		ids[i] = a.ContainerID
	}
	id := shortIDs(ids)
	for _, a := range allocations {
		st := plain
		if a.Contested != "" {
			st = yellow
		}
		texts := []string{a.Network, a.IP.String(), id(a.ContainerID), cmp.Or(a.IfName, "?"), podName(a.Pod), strings.Join(a.Sources, ", ")}
		row := make([]cell, len(texts))
		for i, text := range texts {
			row[i] = cell{wording.Printable(text), st}
		}
		t.add(row...)
	}
	if len(t.rows) == 0 {
		_, err := fmt.Fprintln(s, "No allocation was found.")
		return err
	}
	return t.print(s)
}

// printContested tells of each address that has several holders.
func printContested(s screen, allocations []reportAllocation) error {
	var lines []string
	for i, a := range allocations {
		switch {
		case a.Contested == "":
			continue
		case i > 0 && allocations[i-1].IP == a.IP && allocations[i-1].Network == a.Network:
			continue // its first holder has told
		}
		lines = append(lines, fmt.Sprintf(
			"%s of network %s: %s. Nobody is given it until the last of them is gone: delete all of their pods but one.", a.IP, a.Network, a.Contested))
	}
	return printSection(s, "Set aside", lines)
}

// printRefusals tells where ADD is refused, and how to go on.
func printRefusals(s screen, r report) error {
	refused := make([]string, len(r.Lost))
	for i, name := range r.Lost {
		refused[i] = "network " + name
	}
	if r.OtherNetworksLost {
		refused = append(refused, "every network that is not stored")
	}
	switch {
	case r.Problem != "" && r.Accepted && r.Complete == "" && r.DryRun:
		return writeWrapped(s, "\n", "What is found would count as all there is: ADD would not be refused.")
	case r.Problem != "" && r.Accepted && r.Complete == "":
		return writeWrapped(s, "\n", "What is found counts as all there is: ADD is not refused any more.")
	case len(refused) == 0:
		return nil
	}
	if err := printSection(s, "ADD is refused", refused); err != nil {
		return err
	}
	goOn := "go on:"
	if r.stdin {
		goOn = "go on, with the same file on stdin:"
	}
	if err := writeWrapped(s, "  ", "Addresses of living pods may be missing. Drain or reboot the node; or, if none is missing, "+goOn); err != nil {
		return err
	}
	_, err := fmt.Fprintf(s, "  $ %s\n", r.resume)
	return err
}

// printAcknowledged tells what `status` will not tell any more.
func printAcknowledged(s screen, r report) error {
	lines := make([]string, len(r.Acknowledged))
	for i, d := range r.Acknowledged {
		lines[i] = d.String()
	}
	title := "Acknowledged"
	if r.DryRun {
		title = "Would be acknowledged"
	}
	return printSection(s, title, lines)
}

// printSection prints a title and indented lines, nothing where there are none.
func printSection(s screen, title string, lines []string) error {
	if len(lines) == 0 {
		return nil
	}
	if _, err := fmt.Fprintln(s, "\n"+s.paint(bold, title)); err != nil {
		return err
	}
	for _, line := range lines {
		if err := writeWrapped(s, "  ", wording.Printable(wording.OneLine(line))); err != nil {
			return err
		}
	}
	return nil
}

// fieldWidth is that of a label and the gap behind it.
const fieldWidth = 12

// writeField writes a label, and text beside it.
func writeField(s screen, label, text string) error {
	var b strings.Builder
	if err := writeWrapped(screen{Writer: &b, width: s.width}, strings.Repeat(" ", fieldWidth), text); err != nil {
		return err
	}
	_, err := fmt.Fprintf(s, "%-*s%s", fieldWidth, label, b.String()[fieldWidth:])
	return err
}
