package cli

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

const ellipsis = "…"

// shorten makes text at most width characters long.
func shorten(text string, width int, how cut) string {
	runes := []rune(text)
	if len(runes) <= width {
		return text
	}
	switch {
	case how == cutSilently:
		return string(runes[:width])
	case how == cutMiddle && width > 2:
		tail := width / 2
		return string(runes[:width-tail-1]) + ellipsis + string(runes[len(runes)-tail:])
	}
	return string(runes[:max(width-1, 0)]) + ellipsis
}

// age is the time since t in its largest unit, "?" for an unknown t. A clock
// that was set back makes none negative.
func age(t, now time.Time) string {
	if t.IsZero() {
		return "?"
	}
	d := max(now.Sub(t), 0)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dd", d/(24*time.Hour))
}

// byteSize writes n bytes in the largest binary unit.
func byteSize(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

// writeWrapped writes text behind indent, broken between words where the
// terminal ends; further lines are indented by as much and two more.
func writeWrapped(s screen, indent, text string) error {
	var b strings.Builder
	b.WriteString(indent)
	used := utf8.RuneCountInString(indent)
	for i, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case s.terminal() && used+1+n > s.width:
			b.WriteString("\n  " + indent)
			used = 2 + utf8.RuneCountInString(indent)
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += n
	}
	b.WriteByte('\n')
	_, err := io.WriteString(s, b.String())
	return err
}
