package main

import (
	"os/exec"
	"strings"
	"testing"
)

// What these packages cost at the start of a process is more than an ADD does.
func TestThePluginLinksNeitherGRPCNorHTTPNorCRI(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	deps := strings.Fields(string(out))
	if len(deps) < 50 {
		t.Fatalf("only %d packages: this run shows nothing", len(deps))
	}
	for _, dep := range deps {
		for _, heavy := range []string{"google.golang.org/", "k8s.io/", "net/http", "github.com/prometheus/"} {
			if strings.HasPrefix(dep, heavy) {
				t.Errorf("it links %s", dep)
			}
		}
	}
}
