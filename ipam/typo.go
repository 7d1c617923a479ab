package ipam

import (
	"slices"
	"strings"
)

// near returns the name that key, which is none of s, was probably meant to be:
// the first at edit distance 1, whatever the case. In an object that other
// plugins read as well every name may be right, so there it suggests nothing.
func (s schema) near(key string) (string, bool) {
	if !s.ours {
		return "", false
	}
	folded := []rune(strings.ToLower(key))
	for _, name := range s.names {
		if oneEditApart(folded, []rune(strings.ToLower(name))) {
			return name, true
		}
	}
	return "", false
}

// oneEditApart tells whether one insertion, deletion, substitution or swap of
// two neighbours makes b out of a: Damerau-Levenshtein distance 1.
func oneEditApart(a, b []rune) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 {
		return false
	}
	same := 0
	for same < len(a) && a[same] == b[same] {
		same++
	}
	a, b = a[same:], b[same:]
	switch {
	case len(a) < len(b):
		return slices.Equal(a, b[1:])
	case len(a) == 0:
		return false // equal
	case slices.Equal(a[1:], b[1:]):
		return true
	default:
		return len(a) > 1 && a[0] == b[1] && a[1] == b[0] && slices.Equal(a[2:], b[2:])
	}
}
