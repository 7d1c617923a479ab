// Package boottime is the clock by which both programs tell how old an allocation
// is.
package boottime

import (
	"time"

	"golang.org/x/sys/unix"
)

// Now is CLOCK_BOOTTIME, which no one can set and which counts suspend; 0 where
// it cannot be read: then nothing is old.
func Now() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}
