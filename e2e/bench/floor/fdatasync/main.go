// Command fdatasync makes two small writes to the file that it is given, each
// followed by fdatasync, and nothing else: the least that a commit of bbolt
// (data pages, then the meta page) can cost a process.
package main

import (
	"fmt"
	"os"
	"syscall"
)

// pageSize is that of the checkpoint, in bytes.
const pageSize = 4096

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run overwrites the first two pages of the file at path, which has to be that
// long already: growing it would cost a commit of the file system's journal.
func run(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	page := make([]byte, pageSize)
	for i := range int64(2) {
		if _, err := f.WriteAt(page, i*pageSize); err != nil {
			return err
		}
		if err := syscall.Fdatasync(int(f.Fd())); err != nil {
			return fmt.Errorf("fdatasync %s: %w", path, err)
		}
	}
	return f.Close()
}
