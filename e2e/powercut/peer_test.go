package powercut

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/migrate/engine"
)

// besideHostLocal calls the real host-local where everything is taken. It must
// not give out anything, but what was just freed.
func (n node) besideHostLocal(target engine.Phase, held holdings) error {
	l := lab.Call{Verb: verbAdd, ContainerID: "theirs", IfName: ifname, NetNS: n.netns("theirs"), AnyNetNS: true,
		Config: n.config(lab.HostLocal, "", nil)}
	reply, err := l.Run(context.Background(), n.hostLocal)
	if err != nil {
		return err
	}
	if !reply.Failed() {
		return fmt.Errorf("host-local gives out %s, with %v held", reply.Stdout, held)
	}
	now, err := n.look()
	if err != nil || now.phase == contract {
		return err
	}
	free := slices.Sorted(maps.Keys(held))[0]
	if err := n.del(idOf(held[free]), target); err != nil {
		return err
	}
	if reply, err = l.Run(context.Background(), n.hostLocal); err != nil {
		return err
	}
	result, err := reply.Result()
	if err != nil {
		return fmt.Errorf("host-local's ADD, with %s free: %w", free, err)
	}
	if !slices.Contains(addresses(result), netip.MustParseAddr(free)) {
		return fmt.Errorf("host-local gives out %s, with %s free", reply.Stdout, free)
	}
	return nil
}
