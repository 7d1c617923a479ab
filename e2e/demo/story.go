package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
	{"A node and its pods", makeNamespaces},
	{"The node runs host-local", useHostLocal},
	{"The move", move},
	{"The pods talk", ping},
	{"What the node knows", look},
	{"There and back again", goBack},
	{"The runtime repeats itself", repeat},
	{"A DEL gets lost", loseDEL},
	{"GC takes the address back", collect},
	{"The last pods stop", stop},
}

func build(ctx context.Context, s *stage) error {
	say("bolt-local gives pods their addresses. The bridge plugin asks it for them " +
		"and does the rest. host-local is what the node has used so far. All are " +
		"built now, bolt-local from this checkout.")
	if err := os.Mkdir(s.binDir(), 0o755); err != nil {
		return err
	}
	if err := lab.Build(ctx, s.binDir(), lab.BoltLocal, lab.Bridge, lab.HostLocal); err != nil {
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
	say("One network namespace plays the node, one more each the pods web, db and " +
		"job. This machine's own network is not touched.")
	if s.node, err = lab.NewNamespace("node"); err != nil {
		return err
	}
	command("ip netns add %s", s.node.Name)
	if s.web, err = newPod("web"); err != nil {
		return err
	}
	if s.db, err = newPod("db"); err != nil {
		return err
	}
	s.job, err = newPod("job")
	return err
}

// conflist is the network configuration, with the data directory and the IPAM
// plugin left open. Nothing else differs between host-local and bolt-local.
const conflist = `{
  "cniVersion": "1.1.0",
  "name": %[1]q,
  "plugins": [
    {
      "type": "bridge",
      "bridge": "cni0",
      "isGateway": true,
      "ipam": {
        "type": %[3]q,
        "dataDir": %[2]q,
        "ranges": [
          [{ "subnet": "10.88.0.0/24" }],
          [{ "subnet": "fd00:88::/64" }]
        ]
      }
    }%[4]s
  ]
}
`

// chained is bolt-local at the end of the list, where the runtime reaches it
// with GC, which bridge does not pass on.
const chained = `,
    { "type": "bolt-local", "ipam": { "dataDir": %q } }`

// configure writes the network's configuration.
func (s *stage) configure(ipam string) (text string, err error) {
	last := ""
	if ipam == lab.BoltLocal {
		last = fmt.Sprintf(chained, s.dataDir())
	}
	text = fmt.Sprintf(conflist, networkName, s.dataDir(), ipam, last)
	if err := os.WriteFile(s.configFile(), []byte(text), 0o644); err != nil {
		return "", err
	}
	s.list, err = libcni.NetworkConfFromBytes([]byte(text))
	return text, err
}

func useHostLocal(ctx context.Context, s *stage) error {
	say("This is the network. It has two ranges, so each pod gets an IPv4 and an " +
		"IPv6 address. The runtime starts web: it calls ADD, the bridge plugin makes " +
		"the bridge and a cable to the pod, and host-local gives the addresses.")
	text, err := s.configure(lab.HostLocal)
	if err != nil {
		return err
	}
	command("cat %s", s.configFile())
	output(text)
	s.runtime = lab.NewRuntime(s.node, s.binDir(), s.cache())
	if err := s.add(ctx, s.web); err != nil {
		return err
	}
	return s.show(s.hostLocalDir())
}

func move(ctx context.Context, s *stage) error {
	say("The type is changed, and bolt-local put at the end of the list once more: " +
		"there the runtime reaches it with GC. web goes on running. The next ADD takes " +
		"over what host-local has given.")
	command("sed -i s/host-local/bolt-local/ %s", s.configFile())
	if _, err := s.configure(lab.BoltLocal); err != nil {
		return err
	}
	said := len(s.runtime.Stderr())
	if err := s.add(ctx, s.db); err != nil {
		return err
	}
	output(s.runtime.Stderr()[said:])
	command("ip -n %s -brief address show scope global", s.db.ns.Name)
	out, err := s.db.ns.IP("-brief", "address", "show", "scope", "global")
	output(out)
	return err
}

func ping(_ context.Context, s *stage) error {
	say("web has its addresses from host-local, db from bolt-local. Each sends the " +
		"other a ping, over IPv4 and over IPv6.")
	return s.pingBetween(s.web, s.db)
}

func (s *stage) pingBetween(a, b *pod) error {
	for _, way := range [][2]*pod{{a, b}, {b, a}} {
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

func goBack(ctx context.Context, s *stage) error {
	say("What bolt-local gives, it also writes into host-local's directory. So the " +
		"type can be changed back at any moment: host-local gives job addresses that " +
		"are free, and bolt-local learns of them in its next call.")
	if err := s.show(s.hostLocalDir()); err != nil {
		return err
	}
	command("sed -i s/bolt-local/host-local/ %s", s.configFile())
	if _, err := s.configure(lab.HostLocal); err != nil {
		return err
	}
	if err := s.add(ctx, s.job); err != nil {
		return err
	}
	command("sed -i s/host-local/bolt-local/ %s", s.configFile())
	if _, err := s.configure(lab.BoltLocal); err != nil {
		return err
	}
	if err := s.tool(ctx, "dump"); err != nil {
		return err
	}
	held, err := s.held(ctx)
	if err != nil {
		return err
	}
	for _, p := range []*pod{s.web, s.db, s.job} {
		for _, addr := range p.addresses() {
			if !slices.ContainsFunc(held, func(a lab.Allocation) bool { return a.IP == addr && a.ContainerID == p.ContainerID }) {
				return fmt.Errorf("%s of %s is not among what is held", addr, p.ContainerID)
			}
		}
	}
	say("The pods talk, whoever gave them their addresses.")
	return s.pingBetween(s.web, s.job)
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
		"live. Only web and job are on it.")
	call(`GC ["web eth0", "job eth0"]`)
	said := len(s.runtime.Stderr())
	valid := []types.GCAttachment{lab.Attachment(s.web.RuntimeConf), lab.Attachment(s.job.RuntimeConf)}
	if err := s.runtime.GCNetworkList(ctx, s.list, &libcni.GCArgs{ValidAttachments: valid}); err != nil {
		return err
	}
	output(s.runtime.Stderr()[said:])
	return s.tool(ctx, "dump")
}

func stop(ctx context.Context, s *stage) error {
	say("The runtime stops web and job the ordinary way, whoever gave them their " +
		"addresses. Nothing is held any more, in neither place.")
	for _, p := range []*pod{s.web, s.job} {
		call("DEL %s eth0", p.ContainerID)
		if err := s.runtime.DelNetworkList(ctx, s.list, p.RuntimeConf); err != nil {
			return err
		}
		output("ok")
	}
	if err := s.tool(ctx, "dump"); err != nil {
		return err
	}
	if err := s.show(s.hostLocalDir()); err != nil {
		return err
	}
	left, err := s.held(ctx)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return fmt.Errorf("%d addresses are still held", len(left))
	}
	fmt.Println()
	say("That was all. The namespaces and files of the demo are deleted now.")
	return nil
}
