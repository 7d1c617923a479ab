package damage

import (
	"bytes"
	"errors"
	"net/netip"
	"os"
	"slices"
	"time"

	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/pages"
)

// repairs goes on where an ADD was refused.
func (o *ordeal) repairs() {
	how := store.Repair{}
	if o.Backup {
		how.Backup = o.backup
	}
	before := o.digest()
	dry := how
	dry.DryRun = true
	if _, err := o.repair(dry); err != nil {
		o.fault("repair --dry-run: %v", err)
	}
	if o.digest() != before {
		o.fault("repair --dry-run has written")
	}
	report, err := o.repair(how)
	if err != nil {
		o.fault("repair: %v", err)
		return
	}
	o.expectNoted()
	o.expectFound(report)
	before = o.digest()
	again, err := o.repair(how)
	if err != nil {
		o.fault("repair again: %v", err)
	}
	if o.digest() != before {
		o.fault("repair again has written (%v)", again.Problem)
	}
	for _, network := range o.order() {
		o.addRepaired(report, network)
	}
	if how.Accept = true; len(report.Lost) > 0 || report.Others {
		if _, err := o.repair(how); err != nil {
			o.fault("repair --accept: %v", err)
		}
	}
	for _, network := range o.order() {
		o.addAccepted(network)
	}
}

// expectKept: the damaged bytes are kept.
func (o *ordeal) expectKept(name string) {
	if o.checkpoint == nil {
		if name != "" {
			o.fault("%q is kept of no file", name)
		}
		return
	}
	b, err := os.ReadFile(o.file(name))
	if err != nil || name == "" {
		o.fault("what was damaged is not kept: %q, %v", name, err)
		return
	}
	if !o.served && !bytes.Equal(b, o.checkpoint) {
		o.fault("%s has not the bytes that were damaged", name)
	}
}

// expectFound: whatever a source that is left vouches for is there. What is lost
// is given up.
func (o *ordeal) expectFound(report store.Report) {
	vouched := o.vouchedFor()
	for _, network := range networks {
		got, err := o.view(network)
		if err != nil {
			o.fault("%s cannot be shown after repair: %v", network, err)
			continue
		}
		complete := !slices.Contains(report.Lost, network) && o.stored(network)
		missed := map[string][]netip.Addr{} // by who has them
		for _, addr := range o.held[network].sorted() {
			att := o.held[network][addr]
			switch who, there := got[addr]; {
			case there && who == att:
			case there && vouched[network][addr] == "": // the dead one is all that is left
			case there:
				o.fault("%s of %s is %s's after repair, but %s lives with it", addr, network, who.ContainerID, att.ContainerID)
			case vouched[network][addr] != "":
				why := vouched[network][addr] + " has it"
				missed[why] = append(missed[why], addr)
			case complete:
				missed["the network passes for complete"] = append(missed["the network passes for complete"], addr)
			}
			if got[addr] != att {
				delete(o.held[network], addr)
				o.report.Lost++
			}
		}
		for why, addrs := range missed {
			o.fault("%d addresses of %s are not there after repair although %s: %s ...", len(addrs), network, why, addrs[0])
		}
		for addr, att := range got {
			if _, lives := o.held[network][addr]; !lives && !slices.Contains(o.deferred, att) {
				o.report.Risen++
			}
		}
	}
}

func (o *ordeal) stored(network string) (is bool) {
	err := o.store().Read(func(tx *store.Tx) error {
		is = slices.Contains(tx.Networks(), network)
		return nil
	})
	if err != nil {
		o.fault("after repair: %v", err)
	}
	return is
}

// vouchedFor is who has each address that lives: a page that is as it was, a
// backup, a cache, a file.
func (o *ordeal) vouchedFor() map[string]map[netip.Addr]string {
	all := map[string]map[netip.Addr]string{}
	for _, network := range networks {
		all[network] = map[netip.Addr]string{}
		for addr, att := range o.held[network] {
			switch {
			case o.known[network][addr] == att:
				all[network][addr] = "libcni's cache"
			case o.Backup && o.backupHeld[network][addr] == att:
				all[network][addr] = "the backup"
			case network == open:
				all[network][addr] = "host-local's directory"
			}
		}
	}
	o.eachUntouched(func(network string, addr netip.Addr) {
		if _, lives := o.held[network][addr]; lives {
			all[network][addr] = "a page that was not touched"
		}
	})
	return all
}

// eachUntouched calls fn for each record in a page that the damage has left as
// it was.
func (o *ordeal) eachUntouched(fn func(network string, addr netip.Addr)) {
	was, size := o.files[store.CheckpointFile], os.Getpagesize()
	_, err := pages.Salvage(was, func(f pages.Found) error {
		if !f.Reached || f.Stale || len(f.Path) != 3 || string(f.Path[2]) != "allocations" || len(f.Key) != 16 {
			return nil
		}
		at := int(f.Page) * size
		if at+size > len(o.checkpoint) || !bytes.Equal(was[at:at+size], o.checkpoint[at:at+size]) {
			return nil
		}
		fn(string(f.Path[1]), netip.AddrFrom16([16]byte(f.Key)).Unmap())
		return nil
	})
	if err != nil {
		o.fault("the file as it was: %v", err)
	}
}

// addRepaired is an ADD after repair: refused, or right.
func (o *ordeal) addRepaired(report store.Report, network string) {
	att := o.container()
	addr, err := o.add(network, att, conf{})
	lost := slices.Contains(report.Lost, network) || report.Others && !o.stored(network)
	switch {
	case err == nil && lost:
		o.fault("ADD in %s is served although repair says that allocations are missing", network)
		fallthrough
	case err == nil:
		o.gives(network, addr, att)
	default:
		o.ends(att)
		if !lost {
			o.fault("ADD in %s is refused after repair: %v", network, err)
		}
		o.expectRefusal("ADD", network, err)
	}
}

// addAccepted is an ADD once nothing is missing any more. With it DELs that
// waited are carried out, and what had ended without one is collected.
func (o *ordeal) addAccepted(network string) {
	att := o.container()
	addr, err := o.add(network, att, conf{})
	if err != nil {
		o.fault("ADD in %s is refused after repair --accept: %v", network, err)
		return
	}
	o.gives(network, addr, att)
	held, err := o.view(network)
	if err != nil {
		o.fault("%s cannot be shown after repair --accept: %v", network, err)
	}
	for _, att := range o.deferred {
		// What was freed before the repair, an older backup may have.
		risen := slices.Contains(o.freed, att) && o.Backup
		if addr := held.of(att); addr.IsValid() && !risen {
			o.fault("%s is still held by %s, whose DEL was answered", addr, att.ContainerID)
		}
	}
	o.collects(network)
}

// expectHealthy: one more damage is healed from the journal that all this has
// left.
func (o *ordeal) expectHealthy() {
	if err := os.Truncate(o.file(store.CheckpointFile), 3*int64(os.Getpagesize())); err != nil {
		o.fault("%v", err)
		return
	}
	err := o.store().Heal(store.Heal{Deadline: time.Now().Add(10 * time.Second)})
	if err = errors.Join(err, o.store().ReadWhole(func(*store.Tx) error { return nil })); err != nil {
		o.fault("the journal is not whole at the end: %v", err)
		return
	}
	for _, network := range networks {
		o.expectRight(network, "healed once more")
	}
}
