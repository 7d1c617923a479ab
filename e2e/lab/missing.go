package lab

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Arguments of ip(8) that make one device of each kind.
const (
	makeVeth    = "link add probe0 type veth peer name probe1"
	makeBridge  = "link add probe2 type bridge"
	makeMacvlan = "link add link probe0 name probe3 type macvlan mode bridge"
)

// Missing says what the network tests lack here, or "".
func Missing() string {
	if os.Geteuid() != 0 {
		return "not root"
	}
	if _, err := exec.LookPath("ip"); err != nil {
		return "no ip(8), of the package iproute2"
	}
	return probe(makeVeth, makeBridge)
}

// MissingMacvlan says what the macvlan tests lack beyond that, or "".
func MissingMacvlan() string {
	return probe(makeVeth, makeMacvlan)
}

// MissingRuntime says what the tests of a real container runtime lack beyond
// that, or "".
func MissingRuntime() string {
	for _, program := range []string{"containerd", "ctr", "runc"} {
		if _, err := exec.LookPath(program); err != nil {
			return "no " + program + ", of the packages containerd and runc"
		}
	}
	return ""
}

// probe asks the kernel for the devices, in a namespace of their own.
func probe(devices ...string) string {
	n, err := NewNamespace("probe")
	if err != nil {
		return fmt.Sprintf("no network namespace: %v", err)
	}
	// A probe that cannot be deleted is swept by the next run.
	defer n.Close()
	for _, device := range devices {
		if _, err := n.IP(strings.Fields(device)...); err != nil {
			return fmt.Sprintf("no such device in this kernel: %v", err)
		}
	}
	return ""
}
