// Package startup makes the process start sooner. It imports the runtime
// alone, so that it is initialized before what it is for.
package startup

import "runtime"

func init() {
	// The sampling of allocations costs stack walks, for a profile that
	// nobody reads.
	runtime.MemProfileRate = 0
	growStack()
}

// growStack makes the main goroutine's stack as large as a call of the plugin
// needs, once and while there is little to copy. Left alone it grows four
// times, each time with pages of memory touched for a pool of stacks of that
// size that nobody else uses.
//
//go:noinline
func growStack() byte {
	var room [20 << 10]byte
	return room[runtime.MemProfileRate&1]
}
