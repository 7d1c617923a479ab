package main

import (
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"
)

// reserve is a command of the scripts: it makes host-local's file of an
// address, with the bytes that host-local writes; without IFNAME with those of
// its old versions, without ID empty, as a host-local that was killed leaves it.
// A script's own files cannot have a CR.
//
//	reserve DIRECTORY ADDRESS [ID [IFNAME]]
func reserve(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 4 {
		ts.Fatalf("usage: reserve DIRECTORY ADDRESS [ID [IFNAME]]")
	}
	dir := ts.MkAbs(args[0])
	content := ""
	if len(args) > 2 {
		content = args[2]
	}
	if len(args) > 3 {
		content += "\r\n" + args[3]
	}
	ts.Check(os.MkdirAll(dir, 0o755))
	for name, text := range map[string]string{"lock": "", args[1]: content} {
		file := filepath.Join(dir, name)
		if _, err := os.Stat(file); name == "lock" && err == nil {
			continue // another lock file would be another directory
		}
		ts.Check(os.WriteFile(file, []byte(text), 0o600))
	}
}
