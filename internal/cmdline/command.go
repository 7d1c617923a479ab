package cmdline

import (
	"strings"
	"unicode"
)

// DefaultDataDir is the data directory of commands that name none.
const DefaultDataDir = "/var/lib/cni/bolt-local"

// Command is a command line of bolt-local. words are written as they are; see
// [Word].
func Command(dataDir string, words ...string) string {
	line := strings.Join(append([]string{"bolt-local"}, words...), " ")
	if dataDir != DefaultDataDir {
		line += " --data-dir " + Word(dataDir)
	}
	return line
}

// Sources are where `repair` and `restore` look beside the data directory, but
// for the places in which they look by themselves.
type Sources struct {
	HostLocalDirs []string // parents of host-local's directories
	CacheDirs     []string // of libcni's results
}

// Command is a command line that names the sources: without them a repair finds
// less, and takes it for all.
func (s Sources) Command(dataDir string, words ...string) string {
	return Command(dataDir, append(words[:len(words):len(words)], s.words()...)...)
}

func (s Sources) words() []string {
	var words []string
	for _, dir := range s.HostLocalDirs {
		words = append(words, "--host-local-dir", Word(dir))
	}
	for _, dir := range s.CacheDirs {
		words = append(words, "--cni-cache-dir", Word(dir))
	}
	return words
}

// Word quotes text for a shell.
func Word(text string) string {
	plain := strings.IndexFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_./:=@,+%", r)
	}) < 0
	if plain && text != "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
