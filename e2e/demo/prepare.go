package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/bolt-local/bolt-local/e2e/lab"
)

// prepare sees to what the demo needs of the machine.
func prepare(ctx context.Context) error {
	if os.Geteuid() != 0 {
		return errors.New("network namespaces need root: try `sudo make demo`")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		if err := installIP(ctx); err != nil {
			return err
		}
	}
	if reason := lab.Missing(); reason != "" {
		return fmt.Errorf("this machine cannot run the demo: %s", reason)
	}
	if _, err := lab.Sweep(); err != nil {
		return fmt.Errorf("deleting namespaces of killed demos: %w", err)
	}
	return nil
}

// installIP installs ip(8) where that is one command.
func installIP(ctx context.Context) error {
	apt, err := exec.LookPath("apt-get")
	if err != nil {
		return errors.New("ip(8) is missing: install the package iproute2, or iproute")
	}
	say("ip(8) is missing, so it is installed first.")
	command("apt-get install -y iproute2")
	out, err := exec.CommandContext(ctx, apt, "install", "-y", "iproute2").CombinedOutput()
	if err != nil {
		return fmt.Errorf("apt-get install iproute2 failed (try `apt-get update`): %w\n%s", err, out)
	}
	return nil
}
