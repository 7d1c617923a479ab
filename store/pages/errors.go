package pages

import (
	"errors"
	"fmt"
)

// ErrDamaged is wrapped by every error that says that bytes are not those of a
// sound bbolt file. Its text is not part of theirs, so that a caller can put a
// text of its own in front. Errors of reading do not wrap it.
var ErrDamaged = errors.New("not a sound bbolt file")

// damage says what is wrong, and where.
type damage string

func (d damage) Error() string { return string(d) }
func (damage) Unwrap() error   { return ErrDamaged }

func damaged(format string, args ...any) error { return damage(fmt.Sprintf(format, args...)) }
