package cli

import (
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// column is one column of a table.
type column struct {
	title string
	right bool // aligned to the right, as numbers are
	// least is how far the column's texts may be shortened on a terminal that
	// is too narrow; 0 means not at all.
	least int
	cut   cut
}

// cut tells which part of a text that is shortened matters least.
type cut int

const (
	cutEnd cut = iota
	cutMiddle
	cutSilently // the end, without a sign: everyone knows ids to be cut
)

type cell struct {
	text  string
	style style
}

type table struct {
	columns []column
	rows    [][]cell
}

func (t *table) add(row ...cell) { t.rows = append(t.rows, row) }

// print writes the table with a line of titles. On a terminal it is made to
// fit, as far as the columns allow.
func (t *table) print(s screen) error {
	widths, gap := t.layout(s.width)
	titles := make([]cell, len(t.columns))
	for i, c := range t.columns {
		titles[i] = cell{c.title, bold}
	}
	var b strings.Builder
	for _, row := range append([][]cell{titles}, t.rows...) {
		var line strings.Builder
		for i, c := range row {
			if i > 0 {
				line.WriteString(strings.Repeat(" ", gap))
			}
			text := shorten(c.text, widths[i], t.columns[i].cut)
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text))
			if t.columns[i].right {
				line.WriteString(pad)
				pad = ""
			}
			line.WriteString(s.paint(c.style, text))
			line.WriteString(pad)
		}
		b.WriteString(strings.TrimRight(line.String(), " "))
		b.WriteByte('\n')
	}
	_, err := io.WriteString(s, b.String())
	return err
}

// layout returns the columns' widths and the gap between two. What does not fit
// into width is tried with a smaller gap, and if even that is too much it
// stands out. A width of 0 fits all.
func (t *table) layout(width int) (widths []int, gap int) {
	natural := make([]int, len(t.columns))
	for i, c := range t.columns {
		natural[i] = utf8.RuneCountInString(c.title)
		for _, row := range t.rows {
			natural[i] = max(natural[i], utf8.RuneCountInString(row[i].text))
		}
	}
	for gap = 2; ; gap-- {
		room := width - gap*(len(natural)-1)
		widths, fits := t.squeeze(natural, room)
		if fits || width == 0 || gap == 1 {
			return widths, gap
		}
	}
}

// squeeze takes from the widest of the columns that may be shortened until all
// fit into room.
func (t *table) squeeze(natural []int, room int) (widths []int, fits bool) {
	widths = slices.Clone(natural)
	if room <= 0 {
		return widths, false
	}
	for _, w := range widths {
		room -= w
	}
	for ; room < 0; room++ {
		widest := -1
		for i, c := range t.columns {
			if c.least > 0 && widths[i] > c.least && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return widths, false
		}
		widths[widest]--
	}
	return widths, true
}
