package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/cni/pkg/types"

	"github.com/bolt-local/bolt-local/e2e/lab"
)

// scene is one part of the story.
type scene struct {
	title string
	play  func(context.Context, *stage) error
}

var story = []scene{
	{"The parts", build},
	{"A node and two pods", makeNamespaces},
	{"The network", configure},
	{"The pods start", startPods},
	{"The pods talk", ping},
	{"What the node knows", look},
	{"The runtime repeats itself", repeat},
	{"A DEL gets lost", loseDEL},
	{"GC takes the address back", collect},
	{"The last pod stops", stop},
}

func build(ctx context.Context, s *stage) error {
	say("bolt-local gives pods their addresses. The bridge plugin asks it for them " +
		"and does the rest. Both are built now, bolt-local from this checkout.")
	if err := os.Mkdir(s.binDir(), 0o755); err != nil {
		return err
	}
	if err := lab.Build(ctx, s.binDir(), lab.BoltLocal, lab.Bridge); err != nil {
		return err
	}
	command("ls %s", s.binDir())
	entries, err := os.ReadDir(s.binDir())
	for _, e := range entries {
		output(e.Name())
	}
	return err
}

func makeNamespaces(_ context.Context, s *stage) (err error) {
	say("One network namespace plays the node, one more each the pods web and db. " +
		"This machine's own network is not touched.")
	if s.node, err = lab.NewNamespace("node"); err != nil {
		return err
	}
	command("ip netns add %s", s.node.Name)
	if s.web, err = newPod("web"); err != nil {
		return err
	}
	s.db, err = newPod("db")
	return err
}

// conflist is the network configuration, with the data directory left open.
// bolt-local stands in it twice: bridge asks it for addresses, and the runtime
// reaches it at the end of the list with GC, which bridge does not pass on.
const conflist = `{
  "cniVersion": "1.1.0",
  "name": %[1]q,
  "plugins": [
    {
      "type": "bridge",
      "bridge": "cni0",
      "isGateway": true,
      "ipam": {
        "type": "bolt-local",
        "dataDir": %[2]q,
        "ranges": [
          [{ "subnet": "10.88.0.0/24" }],
          [{ "subnet": "fd00:88::/64" }]
        ]
      }
    },
    {
      "type": "bolt-local",
      "ipam": { "dataDir": %[2]q }
    }
  ]
}
`

func configure(_ context.Context, s *stage) (err error) {
	say("This is the network. It has two ranges, so each pod gets an IPv4 and an " +
		"IPv6 address. bolt-local stands at the end once more: there the runtime " +
		"reaches it with GC, which the bridge plugin does not pass on.")
	text := fmt.Sprintf(conflist, networkName, s.dataDir())
	file := filepath.Join(s.dir, networkName+".conflist")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return err
	}
	command("cat %s", file)
	output(text)
	s.list, err = libcni.NetworkConfFromBytes([]byte(text))
	s.runtime = lab.NewRuntime(s.node, s.binDir(), s.cache())
	return err
}

func startPods(ctx context.Context, s *stage) error {
	say("The runtime calls ADD for each pod. The bridge plugin makes the bridge " +
		"and a cable to the pod; the addresses come from bolt-local.")
	if err := s.add(ctx, s.web); err != nil {
		return err
	}
	if err := s.add(ctx, s.db); err != nil {
		return err
	}
	command("ip -n %s -brief address show scope global", s.web.ns.Name)
	out, err := s.web.ns.IP("-brief", "address", "show", "scope", "global")
	output(out)
	return err
}

func ping(_ context.Context, s *stage) error {
	say("Each pod sends the other a ping, over IPv4 and over IPv6.")
	for _, way := range [][2]*pod{{s.web, s.db}, {s.db, s.web}} {
		from, to := way[0], way[1]
		for i, src := range from.addresses() {
			dst := to.addresses()[i]
			took, err := lab.Ping(from.ns, src, dst)
			if err != nil {
				return err
			}
			output(fmt.Sprintf("%-3s -> %-3s  %s answered in %v", from.ContainerID, to.ContainerID,
				dst, took.Round(time.Microsecond)))
		}
	}
	return nil
}

func look(ctx context.Context, s *stage) error {
	say("dump shows who holds which address. It works beside a running plugin.")
	if err := s.tool(ctx, "dump"); err != nil {
		return err
	}
	fmt.Println()
	say("status shows how full the ranges are.")
	return s.tool(ctx, "status")
}

func repeat(ctx context.Context, s *stage) error {
	say("Some runtimes make a pod's interface anew and call ADD again, with no DEL " +
		"before. web keeps its addresses; no second ones are taken.")
	command("ip -n %s link delete eth0", s.web.ns.Name)
	if _, err := s.web.ns.IP("link", "delete", "eth0"); err != nil {
		return err
	}
	before := fmt.Sprint(s.web.addresses())
	if err := s.add(ctx, s.web); err != nil {
		return err
	}
	if after := fmt.Sprint(s.web.addresses()); after != before {
		return fmt.Errorf("web had %s and now has %s", before, after)
	}
	say("CHECK compares what the runtime remembers with what is recorded.")
	call("CHECK web eth0")
	if err := s.runtime.CheckNetworkList(ctx, s.list, s.web.RuntimeConf); err != nil {
		return err
	}
	output("ok")
	return nil
}

func loseDEL(ctx context.Context, s *stage) error {
	say("db dies while its runtime is down. The namespace is gone, the runtime has " +
		"forgotten the pod, and no DEL ever comes. Its addresses stay taken.")
	command("ip netns delete %s", s.db.ns.Name)
	if err := s.db.ns.Close(); err != nil {
		return err
	}
	remembered := filepath.Join(s.cache(), "results", networkName+"-db-eth0")
	command("rm %s", remembered)
	if err := os.Remove(remembered); err != nil {
		return err
	}
	return s.tool(ctx, "dump")
}

func collect(ctx context.Context, s *stage) error {
	say("When it is back, the runtime sends GC with the list of all pods that " +
		"live. Only web is on it.")
	call(`GC ["web eth0"]`)
	said := len(s.runtime.Stderr())
	valid := []types.GCAttachment{lab.Attachment(s.web.RuntimeConf)}
	if err := s.runtime.GCNetworkList(ctx, s.list, &libcni.GCArgs{ValidAttachments: valid}); err != nil {
		return err
	}
	output(s.runtime.Stderr()[said:])
	return s.tool(ctx, "dump")
}

func stop(ctx context.Context, s *stage) error {
	say("The runtime stops web the ordinary way. Nothing is held any more.")
	call("DEL web eth0")
	if err := s.runtime.DelNetworkList(ctx, s.list, s.web.RuntimeConf); err != nil {
		return err
	}
	output("ok")
	if err := s.tool(ctx, "dump"); err != nil {
		return err
	}
	held, err := lab.ReadDump(ctx, filepath.Join(s.binDir(), lab.BoltLocal), s.dataDir())
	if err != nil {
		return err
	}
	if left := held.Allocations(networkName); len(left) > 0 {
		return fmt.Errorf("%d addresses are still held", len(left))
	}
	fmt.Println()
	say("That was all. The namespaces and files of the demo are deleted now.")
	return nil
}
