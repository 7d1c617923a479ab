package cli

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// defaultWidth is that of a terminal which does not tell.
const defaultWidth = 80

// screen is where a command prints.
type screen struct {
	io.Writer
	// width is that of the terminal in columns, 0 for a file or a pipe: there
	// nothing is shortened or wrapped.
	width int
	// colour allows escape sequences.
	colour bool
}

func newScreen(w io.Writer) screen {
	s := screen{Writer: w}
	f, ok := w.(interface{ Fd() uintptr })
	if !ok {
		return s
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return s
	}
	if s.width = int(size.Col); s.width == 0 {
		s.width = defaultWidth
	}
	s.colour = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return s
}

func (s screen) terminal() bool { return s.width > 0 }

// style is an SGR parameter (ECMA-48, 8.3.117); "" is plain.
type style string

const (
	plain  style = ""
	bold   style = "1"
	faint  style = "2"
	red    style = "31"
	yellow style = "33"
	green  style = "32"
)

func (s screen) paint(st style, text string) string {
	if !s.colour || st == plain || text == "" {
		return text
	}
	return "\x1b[" + string(st) + "m" + text + "\x1b[0m"
}
