// Command pause is all that runs in a pod of these tests: it waits to be ended.
package main

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

func main() {
	// As process 1 of its pid namespace it gets only signals that it asks for.
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, unix.SIGINT, unix.SIGTERM)
	<-ended
}
