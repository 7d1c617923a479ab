package cli

import (
	"fmt"
	"io"
	"math/big"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/bolt-local/bolt-local/ipam"
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

// printable keeps what came from outside from controlling the terminal: a pod's
// name is whatever CNI_ARGS said.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
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

// number writes n in full as long as it is readable, else like 1.8e19.
func number(n *big.Int) string {
	if n.IsInt64() && n.Int64() < 1e9 {
		return n.String()
	}
	text := new(big.Float).SetInt(n).Text('e', 1) // 1.8e+19, 1.0e+09
	return strings.NewReplacer("e+0", "e", "e+", "e").Replace(text)
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

// counted is "1 thing" or "2 things".
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// listShown is how many items a sentence names.
const listShown = 4

// list names the first items and counts the rest.
func list[T fmt.Stringer](items []T) string {
	var names []string
	for i, item := range items {
		if i == listShown && len(items) > listShown+1 {
			return strings.Join(names, ", ") + fmt.Sprintf(" and %d more", len(items)-i)
		}
		names = append(names, item.String())
	}
	return strings.Join(names, ", ")
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

// shellWord quotes text for a command line that is shown to be copied.
func shellWord(text string) string {
	plain := strings.IndexFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_./:=@", r)
	}) < 0
	if plain && text != "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// ownCommand is a command line of ours, to be copied.
func ownCommand(dataDir string, words ...string) string {
	line := strings.Join(append([]string{"bolt-local"}, words...), " ")
	if dataDir != ipam.DefaultDataDir {
		line += " --data-dir " + shellWord(dataDir)
	}
	return line
}
