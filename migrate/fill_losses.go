package migrate

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/bolt-local/bolt-local/migrate/backfill"
	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/record"
)

// incomplete is why it is not certain that all that run are stored, "" where it
// is. A network that nobody has told of may have given out any address that lies
// in no range that is known.
func incomplete(b Backfill, networks []backfill.Network, claims []backfill.Claim) string {
	if !b.Complete {
		return cmp.Or(b.Missing, "not every sandbox, or network configuration, could be read")
	}
	for _, n := range networks { // what multus' delegates or podman gave, the caches alone tell
		if n.Unread != nil {
			return fmt.Sprintf("not every cached result of network %s could be read: %v", n.Name, n.Unread)
		}
	}
	placed := map[string]bool{}
	for _, c := range claims {
		placed[c.Holder.ContainerID+" "+c.Addr.String()] = true
	}
	for _, s := range b.Running {
		addresses := 0
		for _, i := range s.Interfaces {
			for _, addr := range i.Addrs {
				addresses++
				if !placed[s.ID+" "+addr.String()] {
					return fmt.Sprintf("%s of sandbox %s lies in no range of a network that is known: name the network's configuration with --conf-dir", addr, s.ID)
				}
			}
		}
		if addresses == 0 {
			return "the runtime tells no address of sandbox " + s.ID
		}
	}
	return ""
}

// contradicted is why what is stored is not what runs, "" where it is: whom it
// names instead may have ended, and then the address is given to another.
func contradicted(filled []Filled) string {
	for _, f := range filled {
		elsewhere := func(o Filled) bool { // a guess is right in one network
			return o.Addr == f.Addr && o.Holder.ContainerID == f.Holder.ContainerID && o.Outcome != backfill.Conflict
		}
		if f.Outcome == backfill.Conflict && !slices.ContainsFunc(filled, elsewhere) {
			return fmt.Sprintf("%s of sandbox %s is recorded for container %s: delete the pod of one", f.Addr, f.Holder.ContainerID, f.Held.Holders[0].ContainerID)
		}
	}
	return ""
}

// unready is why a sandbox that is not ready may have an address that is not
// recorded, "" where none may.
func (s State) unready(b Backfill, networks []backfill.Network) string {
	alive := func(id string, ns record.NetNS) string {
		return fmt.Sprintf("sandbox %s is not ready, and its network namespace %s is alive: stop it, as by `crictl stopp %[1]s`", id, ns.Path)
	}
	if h, found := backfill.UnreadyCached(networks, b.NotReady); found {
		return alive(h.ContainerID, h.NetNS)
	}
	ids := backfill.Unrecorded(networks, b.NotReady)
	if len(ids) == 0 || b.Unready == nil {
		return ""
	}
	sandboxes, err := b.Unready(ids)
	if err != nil {
		return "of a sandbox that is not ready nobody can tell whether its network namespace is alive: " + err.Error()
	}
	for _, one := range sandboxes {
		if s.Namespaces.Alive(one.NetNS) && !s.Namespaces.IsOwn(one.NetNS) {
			return alive(one.ID, one.NetNS)
		}
	}
	return ""
}

// losses are those of a checkpoint.
type losses struct {
	id       string   // tells them from all others, "" where there is none
	why      string   // of one of them
	networks []string // that are stored, and incomplete
}

// lossesIn finds them. Each rebuild gives the checkpoint a new id.
func lossesIn(tx *store.Tx) losses {
	var all losses
	add := func(network string, l store.Loss) {
		all.id = cmp.Or(all.id, tx.Format().ID) + "\n" + network + " " + l.Reason
		all.why = l.Reason
	}
	if l, lost := tx.Lost(); lost {
		add("", l)
	}
	for _, name := range tx.Networks() {
		if l, lost := tx.Network(name).Lost(); lost {
			add(name, l)
			all.networks = append(all.networks, name)
		}
	}
	return all
}

// settleLosses lets ADD go on where allocations were missing, once all that run
// are stored. What a network without a configuration has given out, such as that
// of a delegate of multus, the runtime does not tell.
func (s State) settleLosses(b Backfill, networks []backfill.Network, incomplete string, report *BackfillReport) error {
	var found losses
	unsearched := false
	err := s.Store.Read(func(tx *store.Tx) error {
		found = lossesIn(tx)
		unsearched = slices.ContainsFunc(tx.Damages(), store.Damage.Unsearched)
		return nil
	})
	if b.DryRun && unsearched {
		incomplete = cmp.Or(incomplete, "what was kept of the damaged checkpoint is searched first")
	}
	configs := byNetwork(b.Configs)
	for _, name := range found.networks {
		if configs[name] == nil && incomplete == "" {
			incomplete = "network " + name + " is not configured in --conf-dir"
		}
	}
	if incomplete == "" && (found.id != "" || b.unreadable) {
		incomplete = s.unready(b, networks)
	}
	if incomplete == "" && (err == nil || b.unreadable) && b.Doubt != nil {
		incomplete = b.Doubt(found.id)
	}
	switch {
	case b.DryRun && b.unreadable:
		report.Accepted, report.Lost = incomplete == "", incomplete
		return nil
	case err != nil:
		return err
	case found.id == "" && (report.Repaired == nil || incomplete != ""): // the repair had everything
		return nil
	case incomplete != "":
		report.Lost = fmt.Sprintf("%s (%s)", incomplete, found.why)
		return nil
	}
	if !b.DryRun {
		err = s.accept(found)
	}
	report.Accepted = err == nil
	return err
}

// accept declares that nothing is missing, if nothing else was lost since.
func (s State) accept(seen losses) error {
	return s.Store.Update(store.Op{Verb: "backfill"}, func(tx *store.Tx) error {
		if lossesIn(tx).id != seen.id {
			return fmt.Errorf("%w: ADD stays refused, as %s was damaged once more meanwhile: try again", store.ErrLost, s.Store.Path())
		}
		return tx.AcceptLoss()
	})
}
