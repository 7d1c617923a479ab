package cli

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bolt-local/bolt-local/cmd/internal/command"
	"github.com/bolt-local/bolt-local/cmd/internal/wording"
	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/store/record"
)

// target is what `release` is asked to free.
type target struct {
	network     string
	ip          netip.Addr // zero: by container
	containerID string
	ifname      string // "": all of the container's
	force       bool
}

func (a *app) releaseCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "release --network NAME (--ip ADDRESS | --container-id ID) [flags]",
		Short: "Free an address by hand",
		Long: `Free one address, or all that a container holds, by hand.

Whoever has a living network namespace is using the address: freed, the next pod
would get it too. That needs --force. So does what was recorded in another mount
namespace, from where it cannot be told whether it is alive, and what was taken
over from host-local or a runtime without a namespace.`,
		Example: `  bolt-local release --network podnet --ip 10.1.0.7
  bolt-local release --network podnet --container-id 3f1c2ab9 --ifname eth0`,
	}
	var t target
	var ip string
	network := a.networkFlag(cmd, "the `network`")
	cmd.Flags().StringVar(&ip, "ip", "", "free this `address`")
	cmd.Flags().StringVar(&t.containerID, "container-id", "", "free what the container with this `id` holds")
	cmd.Flags().StringVar(&t.ifname, "ifname", "", "only at the interface of this `name`")
	cmd.Flags().BoolVar(&t.force, "force", false, "also where the network namespace is, or may be, alive")
	return a.command(cmd, func(*cobra.Command) error {
		t.network = *network
		if err := t.parse(ip); err != nil {
			return command.UsageError(err)
		}
		return a.release(t)
	})
}

func (t *target) parse(ip string) error {
	switch {
	case t.network == "":
		return errors.New("say which --network")
	case (ip == "") == (t.containerID == ""):
		return errors.New("say what to free: either --ip or --container-id")
	case t.ifname != "" && t.containerID == "":
		return errors.New("--ifname goes with --container-id")
	case ip == "":
		return nil
	}
	addr, err := netip.ParseAddr(ip)
	if err != nil {
		return fmt.Errorf("--ip %q is no address", ip)
	}
	t.ip = addr.Unmap()
	return nil
}

// matches tells whether a holder of an allocation is meant.
func (t *target) matches(addr netip.Addr, h record.Holder) bool {
	if t.ip.IsValid() {
		return addr == t.ip
	}
	return h.ContainerID == t.containerID && (t.ifname == "" || h.IfName == t.ifname)
}

func (t *target) String() string {
	switch {
	case t.ip.IsValid():
		return t.ip.String()
	case t.ifname != "":
		return "container " + t.containerID + ", ifname " + t.ifname
	}
	return "container " + t.containerID
}

func (a *app) release(t target) error {
	var freed []ipam.Freed
	var alike []string
	err := a.state().Update(ipam.VerbRelease, t.network, func(tx ipam.Tx) error {
		var err error
		freed, alike, err = a.releaseIn(tx, t)
		return err
	})
	if err != nil {
		return err
	}
	if len(freed) == 0 {
		if snap, err := a.reader().Load(t.network); err == nil {
			if err := a.unstored(t.network, snap); err != nil {
				return err
			}
		}
		return t.nothingHeld(alike)
	}
	for _, f := range freed {
		if _, err := fmt.Fprintln(a.out, wording.Printable(f.String())); err != nil {
			return fmt.Errorf("freed, but not printed: %w", err)
		}
	}
	return nil
}

// releaseIn frees what t means, all or nothing. alike are the ids of the
// containers that begin with t's.
func (a *app) releaseIn(tx ipam.Tx, t target) (freed []ipam.Freed, alike []string, err error) {
	var rests []record.Allocation
	err = tx.Each(func(alloc record.Allocation) error {
		var living error
		rest, off := ipam.Select(t.network, tx.Epoch(), alloc, func(_ uint64, _ record.Allocation, h record.Holder) (string, bool) {
			if t.containerID != "" && strings.HasPrefix(h.ContainerID, t.containerID) && !slices.Contains(alike, h.ContainerID) {
				alike = append(alike, h.ContainerID)
			}
			if !t.matches(alloc.Addr, h) {
				return "", false
			}
			if inUse := cmp.Or(mayLive(a.plugin, tx.Epoch(), alloc, h), unrecorded(a.plugin, tx.Epoch(), alloc, h)); inUse != "" && !t.force && living == nil {
				living = fmt.Errorf("%s of container %s, ifname %s may be in use, %s: stop its pod, or add --force; nothing was freed",
					alloc.Addr, h.ContainerID, cmp.Or(h.IfName, "?"), inUse)
			}
			return "released by hand", true
		})
		if len(off) > 0 {
			rests = append(rests, rest)
			freed = append(freed, off...)
		}
		return living
	})
	for _, rest := range rests {
		if err != nil {
			break
		}
		err = ipam.Settle(tx, rest)
	}
	return freed, alike, err
}

// unrecorded says that nothing can tell whether a holder's pod lives, "" if
// something can. An ADD records the namespace that it is given: of one without
// the container never had any.
func unrecorded(plugin *ipam.Plugin, epoch uint64, a record.Allocation, h record.Holder) string {
	if h.NetNS.Inode != 0 || h.Origin == record.OriginAdd || plugin.Stale(epoch, a) {
		return ""
	}
	return "its network namespace is not recorded"
}

// nothingHeld says that there was nothing to free. Ids are often copied from
// where they are shortened.
func (t *target) nothingHeld(alike []string) error {
	if len(alike) > 0 && !slices.Contains(alike, t.containerID) {
		return fmt.Errorf("nothing is held by %s in network %s; --container-id takes the whole id, did you mean %s?", t, t.network, strings.Join(alike, " or "))
	}
	if t.ip.IsValid() {
		return fmt.Errorf("%s is not held in network %s", t.ip, t.network)
	}
	return fmt.Errorf("nothing is held by %s in network %s", t, t.network)
}
