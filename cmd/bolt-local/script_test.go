package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes this binary stand in for bolt-local in the scripts, so that
// they run the real main as a process of its own.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"bolt-local": main,
		"cni":        cni,
	})
}

// TestScripts runs testdata/script. Where a case was first seen by somebody in
// the field, the script names the public report.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			// Under -race every process would sleep for a second at its end.
			env.Setenv("GORACE", "atexit_sleep_ms=0")
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if cond == "unshare" {
				return mayUnshare(), nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":   exits,
			"newer":   newer,
			"reserve": reserve,
		},
	})
}

// mayUnshare tells whether the scripts may make namespaces and mount in them.
func mayUnshare() bool {
	return exec.Command("unshare", "--mount", "--pid", "--fork", "--mount-proc", "mount", "--bind", "/", "/").Run() == nil
}

// cni is a program that calls bolt-local as a container runtime does:
//
//	cni VERB CONTAINERID/IFNAME CONFIG [VARIABLE=VALUE...]
//
// CONFIG is a file in which $WORK is replaced; "-" stands for no attachment.
func cni() {
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "usage: cni VERB CONTAINERID/IFNAME CONFIG [VARIABLE=VALUE...]")
		os.Exit(2)
	}
	env := map[string]string{
		"CNI_COMMAND":        os.Args[1],
		"CNI_PATH":           "/opt/cni/bin",
		"CNI_NETNS":          "/var/run/netns/x",
		"CNI_NETNS_OVERRIDE": "1",
	}
	env["CNI_CONTAINERID"], env["CNI_IFNAME"], _ = strings.Cut(strings.Trim(os.Args[2], "-"), "/")
	for _, arg := range os.Args[4:] {
		name, value, _ := strings.Cut(arg, "=")
		env[name] = value
	}
	for name, value := range env {
		os.Setenv(name, value)
	}
	if err := feedStdin(os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	main()
}

func feedStdin(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	os.Stdin = r
	go func() {
		_, _ = w.WriteString(strings.ReplaceAll(string(text), "$WORK", os.Getenv("WORK")))
		_ = w.Close()
	}()
	return nil
}

// exits is a command of the scripts: exits STATUS PROGRAM [ARG...].
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS PROGRAM [ARG...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit status is %d, not %d", got, want)
	}
}
