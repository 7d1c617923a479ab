// Package record holds the vocabulary of what is stored: attachments, the
// allocations that they hold, and the range sets that addresses come from. It
// also owns the bytes of a stored allocation (see [Encode]). It knows neither
// bbolt nor CNI, so that both sides can speak it.
package record

import (
	"net/netip"
	"slices"
	"time"
)

// Attachment is a container's interface on one network. Within a network it is
// the primary key of everything (CNI spec 1.1, "Considerations": the container
// id and the interface name together).
type Attachment struct {
	ContainerID string
	// IfName is empty where an import did not know it; it is never a valid name.
	IfName string
}

// MayBe tells whether a and b are one attachment, as far as both ifnames are
// known.
func (a Attachment) MayBe(b Attachment) bool {
	return a.ContainerID == b.ContainerID && (a.IfName == b.IfName || a.IfName == "" || b.IfName == "")
}

// Origin says how an allocation became known.
type Origin string

// The origins, as they stand on disk and in `dump`. "repair" is reserved.
const (
	OriginAdd       Origin = "add"
	OriginHostLocal Origin = "host-local"
	OriginCNICache  Origin = "cni-cache"
	OriginCRI       Origin = "cri"
)

// NetNS identifies the network namespace that an ADD named.
type NetNS struct {
	Path string `json:"path,omitempty"`
	// Inode is that of the namespace itself; 0 where Path led to none.
	Inode uint64 `json:"inode,omitempty"`
	// MountNS is the inode of the mount namespace in which Path has its meaning.
	MountNS uint64 `json:"mountNS,omitempty"`
}

// Pod is what a Kubernetes runtime tells of the pod in CNI_ARGS.
type Pod struct {
	Namespace        string `json:"namespace,omitempty"`
	Name             string `json:"name,omitempty"`
	UID              string `json:"uid,omitempty"`
	InfraContainerID string `json:"infraContainerID,omitempty"`
}

// Holder is one attachment that holds an address, with what is known of it.
type Holder struct {
	Attachment
	Origin Origin
	// AllocatedAt is the wall clock at the ADD, for people; nothing is decided by it.
	AllocatedAt time.Time
	// BootTime is CLOCK_BOOTTIME at the ADD, for grace periods.
	BootTime time.Duration
	NetNS    NetNS
	Pod      Pod
	// Unknown names the fields that an import could not fill; see [UnknownIfName].
	Unknown []string
	// Mark is the identity of what an older form keeps for this holder, in that
	// form's own terms (host-local: inode and change time of the file); empty
	// where it keeps nothing.
	Mark string

	extra, netnsExtra, podExtra extraFields
}

// What Holder.Unknown names, as it stands on disk and in `dump`.
const (
	UnknownIfName  = "ifname"
	UnknownNetwork = "network" // the network is a guess: the address lies in its ranges
)

// Guessed tells whether it is a guess that h holds the address in this network.
func (h Holder) Guessed() bool { return slices.Contains(h.Unknown, UnknownNetwork) }

// Knowing returns h with a field that was unknown known.
func (h Holder) Knowing(field string) Holder {
	h.Unknown = slices.DeleteFunc(slices.Clone(h.Unknown), func(f string) bool { return f == field })
	return h
}

// Allocation is one address and who holds it: one attachment, or more where
// two turned out to.
type Allocation struct {
	Addr netip.Addr
	// Epoch is the number of the boot that the allocation was made in. 0 counts
	// as the current one.
	Epoch   uint64
	Holders []Holder

	extra extraFields
}

// HeldBy tells whether att is one of the holders.
func (a Allocation) HeldBy(att Attachment) bool {
	return slices.ContainsFunc(a.Holders, func(h Holder) bool { return h.Attachment == att })
}

// Guesses tells whether it is a guess that a container is one of the holders.
func (a Allocation) Guesses(containerID string) bool {
	return slices.ContainsFunc(a.Holders, func(h Holder) bool { return h.ContainerID == containerID && h.Guessed() })
}

// Without returns a without those holders that drop selects. The rest is
// shared with a.
func (a Allocation) Without(drop func(Holder) bool) Allocation {
	rest := make([]Holder, 0, len(a.Holders))
	for _, h := range a.Holders {
		if !drop(h) {
			rest = append(rest, h)
		}
	}
	a.Holders = rest
	return a
}
