package main

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	benchPackage  = "github.com/bolt-local/bolt-local/e2e/bench"
	hostLocalMain = "github.com/containernetworking/plugins/plugins/ipam/host-local"
)

// programs are the paths of all that is run.
type programs struct {
	boltLocal, hostLocal string
	empty, fdatasync     string // see floor/
	skel                 string
	maxrss               string
}

// buildPrograms builds what given does not name already, static and without
// symbols, as `make build` does, and puts a copy of each program into dir. The
// working directory has to be in the e2e module, which knows the version of
// host-local and lies in the product's.
//
// The copy is what an installed plugin is. The linker writes its output through
// a mapping, page by page, and such a file faults in so slowly that it starts
// up to 10 % later.
func buildPrograms(ctx context.Context, dir string, given programs) (programs, error) {
	root, err := goTool(ctx, "", "list", "-m", "-f", "{{.Dir}}")
	if err != nil {
		return programs{}, err
	}
	built := given
	for _, b := range []struct {
		path    *string
		from    string // directory of the module, "" for this one
		pkg     string
		program string
	}{
		{&built.boltLocal, filepath.Dir(root), "./cmd/bolt-local", "bolt-local"},
		{&built.hostLocal, "", hostLocalMain, "host-local"},
		{&built.empty, "", benchPackage + "/floor/empty", "empty"},
		{&built.fdatasync, "", benchPackage + "/floor/fdatasync", "fdatasync"},
		{&built.skel, "", benchPackage + "/floor/skel", "skel"},
		{&built.maxrss, "", benchPackage + "/maxrss", "maxrss"},
	} {
		if *b.path == "" {
			*b.path = filepath.Join(dir, b.program+".linked")
			_, err := goTool(ctx, b.from, "build", "-trimpath", "-ldflags", "-s -w", "-o", *b.path, b.pkg)
			if err != nil {
				return programs{}, err
			}
		}
		installed := filepath.Join(dir, b.program)
		if err := install(*b.path, installed); err != nil {
			return programs{}, err
		}
		*b.path = installed
	}
	return built, nil
}

// install copies a program.
func install(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o755)
}

// goTool runs the go command in dir and returns its output without the newline.
func goTool(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}

// describe names a program, its version and the Go release that built it, as far
// as they are in the binary.
func describe(path string) string {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return path
	}
	return strings.Join([]string{filepath.Base(info.Path), info.Main.Version, info.GoVersion}, " ")
}
