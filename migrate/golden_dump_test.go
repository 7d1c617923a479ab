package migrate

import (
	"net/netip"
	"slices"
	"time"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/migrate/form"
	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/record"
)

// goldenDump is what `dump` shows, with the boot in which it looked, and beyond
// it the addresses set aside and a swap that was begun. It is expected.json.
type goldenDump struct {
	Boot     string             `json:"boot"`
	Schema   int                `json:"schema"`
	Networks []goldenNetworkDoc `json:"networks"`
}

type goldenNetworkDoc struct {
	Name        string             `json:"name"`
	Phase       engine.Phase       `json:"phase,omitempty"`
	Pending     engine.Phase       `json:"pending,omitempty"`
	SetAside    []netip.Addr       `json:"setAside,omitempty"`
	Allocations []goldenAllocation `json:"allocations"`
}

// goldenAllocation is one address and one of its holders.
type goldenAllocation struct {
	IP          netip.Addr    `json:"ip"`
	Network     string        `json:"network"`
	ContainerID string        `json:"containerID"`
	IfName      string        `json:"ifname"`
	State       string        `json:"state"`
	Origin      record.Origin `json:"origin"`
	AllocatedAt time.Time     `json:"allocatedAt,omitzero"`
	BootID      string        `json:"bootID,omitempty"`
	NetNS       string        `json:"netns,omitempty"`
	Pod         record.Pod    `json:"pod,omitzero"`
	Unknown     []string      `json:"unknown,omitempty"`
}

const (
	goldenActive   = "active"
	goldenPrevious = "previous-boot"
)

func (a goldenAllocation) attachment() record.Attachment {
	return record.Attachment{ContainerID: a.ContainerID, IfName: a.IfName}
}

// dump looks at all networks as the next call would find them.
func (n *goldenNode) dump() goldenDump {
	n.t.Helper()
	d := goldenDump{Boot: n.boot, Networks: []goldenNetworkDoc{}}
	n.must(n.store().Read(func(tx *store.Tx) error {
		d.Schema = tx.Format().Schema
		for _, name := range tx.Networks() {
			err := n.state(nil).ViewIn(tx, name, false, func(v engine.View) error {
				doc := goldenNetworkDoc{Name: name, Phase: v.Progress.Phase, Pending: v.Progress.Pending}
				for _, a := range v.Progress.SetAside {
					doc.SetAside = append(doc.SetAside, a.Addr)
				}
				err := v.Each(func(a record.Allocation) error {
					doc.Allocations = append(doc.Allocations, goldenRows(tx, name, a)...)
					return nil
				})
				d.Networks = append(d.Networks, doc)
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	}))
	return d
}

// stored lists what is in the checkpoint itself, as far as it can be read, and
// why it may not be believed.
func (n *goldenNode) stored() (rows []goldenAllocation, problem error) {
	n.t.Helper()
	n.must(n.store().ReadAny(false, func(tx *store.Tx) error {
		problem = tx.Problem()
		for _, name := range tx.Networks() {
			err := tx.Network(name).EachReadable(func(a record.Allocation, err error) error {
				if err == nil {
					rows = append(rows, goldenRows(tx, name, a)...)
				}
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	}))
	return rows, problem
}

func goldenRows(tx *store.Tx, network string, a record.Allocation) []goldenAllocation {
	p := ipam.Plugin{Namespaces: goldenSpaces{}}
	state := goldenActive
	if p.Stale(tx.Epoch(), a) {
		state = goldenPrevious
	}
	var rows []goldenAllocation
	for _, h := range a.Holders {
		rows = append(rows, goldenAllocation{
			IP:          a.Addr,
			Network:     network,
			ContainerID: h.ContainerID,
			IfName:      h.IfName,
			State:       state,
			Origin:      h.Origin,
			AllocatedAt: h.AllocatedAt,
			BootID:      tx.BootID(a.Epoch),
			NetNS:       h.NetNS.Path,
			Pod:         h.Pod,
			Unknown:     h.Unknown,
		})
	}
	return rows
}

// rows are all lines of a dump.
func (d goldenDump) rows() []goldenAllocation {
	var rows []goldenAllocation
	for _, n := range d.Networks {
		rows = append(rows, n.Allocations...)
	}
	return rows
}

// active are the addresses that are held, and by whom.
func (d goldenDump) active() map[netip.Addr][]record.Attachment {
	held := map[netip.Addr][]record.Attachment{}
	for _, a := range d.rows() {
		if a.State == goldenActive {
			held[a.IP] = append(held[a.IP], a.attachment())
		}
	}
	return held
}

// copied is what is left of a dump once the files were copied: each has another
// inode and change time then, and so the directory is another's. A mirrored
// network is read from the union. What a file names is host-local's, of this
// boot, and only what the file says is known of it; nothing else is lost, and
// nothing at all in contract.
func (d goldenDump) copied(files map[string]form.Contents) goldenDump {
	d.Networks = slices.Clone(d.Networks)
	for i, n := range d.Networks {
		if n.Phase == engine.Contract {
			continue
		}
		var all []goldenAllocation
		for _, a := range n.Allocations {
			e, named := files[n.Name].At(a.IP)
			if !named {
				all = append(all, a)
				continue
			}
			a.State, a.BootID = goldenActive, d.Boot
			if e.Holder.Attachment == a.attachment() {
				a.Origin, a.AllocatedAt, a.NetNS, a.Pod = record.OriginHostLocal, time.Time{}, "", record.Pod{}
			}
			all = append(all, a)
		}
		d.Networks[i].Allocations = all
	}
	return d
}
