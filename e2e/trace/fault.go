package trace

// Fault is what goes wrong in a process.
type Fault struct {
	Match func(*Call) bool
	Nth   int // of the calls that match, from 1 on
	Effect

	// Later, if not nil, is asked about all calls after that one: a disk that is
	// full stays full.
	Later Hook
}

// Hook is the fault as it happens to one process.
func (f Fault) Hook() Hook {
	left := f.Nth
	return func(c *Call) Effect {
		switch {
		case left == 0 && f.Later != nil:
			return f.Later(c)
		case left == 0 || !f.Match(c):
			return Effect{}
		}
		if left--; left > 0 {
			return Effect{}
		}
		return f.Effect
	}
}
