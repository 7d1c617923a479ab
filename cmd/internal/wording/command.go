package wording

import (
	"strings"
	"unicode"

	"github.com/bolt-local/bolt-local/ipam"
)

// Command is a command line of bolt-local, to be copied. words are written as
// they are; see [ShellWord].
func Command(dataDir string, words ...string) string {
	line := strings.Join(append([]string{"bolt-local"}, words...), " ")
	if dataDir != ipam.DefaultDataDir {
		line += " --data-dir " + ShellWord(dataDir)
	}
	return line
}

// ShellWord quotes text for a command line that is shown to be copied.
func ShellWord(text string) string {
	plain := strings.IndexFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_./:=@", r)
	}) < 0
	if plain && text != "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
