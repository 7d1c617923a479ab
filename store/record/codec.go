package record

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/bolt-local/bolt-local/store/crc32c"
)

// A stored allocation is
//
//	offset 0   8 bytes   epoch number, big endian
//	offset 8   4 bytes   CRC-32C, big endian, of network, NUL, address (16 bytes), epoch and JSON
//	offset 12            JSON, a wireAllocation
//
// The epoch stands in front so that a walk over taken addresses need not read
// the JSON; the CRC covers the key so that a value in a wrong place is noticed.
const (
	epochLen  = 8
	headerLen = epochLen + 4
)

// ErrInvalid is returned for bytes that are not a stored allocation.
var ErrInvalid = errors.New("not a valid allocation record")

type wireAllocation struct {
	Holders []wireHolder `json:"holders"`
}

type wireHolder struct {
	ContainerID string     `json:"containerID"`
	IfName      string     `json:"ifname"`
	Origin      Origin     `json:"origin"`
	AllocatedAt *time.Time `json:"allocatedAt,omitempty"`
	BootTimeNs  int64      `json:"bootTimeNs,omitempty"`
	NetNS       *NetNS     `json:"netns,omitempty"`
	Pod         *Pod       `json:"pod,omitempty"`
	Unknown     []string   `json:"unknown,omitempty"`
	Mark        string     `json:"mark,omitempty"`
}

// Encode returns the bytes of an allocation stored for network.
func Encode(network string, a Allocation) ([]byte, error) {
	if len(a.Holders) == 0 {
		return nil, fmt.Errorf("%w: %s names no holder", ErrInvalid, a.Addr)
	}
	for _, h := range a.Holders { // NUL divides the keys of the other index
		if strings.ContainsRune(h.ContainerID+h.IfName, 0) {
			return nil, fmt.Errorf("%w: a holder of %s has a NUL byte in its name: %q, %q", ErrInvalid, a.Addr, h.ContainerID, h.IfName)
		}
	}
	doc, err := encodeJSON(a)
	if err != nil {
		return nil, fmt.Errorf("encoding the allocation of %s: %w", a.Addr, err)
	}
	value := make([]byte, headerLen, headerLen+len(doc))
	binary.BigEndian.PutUint64(value, a.Epoch)
	value = append(value, doc...)
	binary.BigEndian.PutUint32(value[epochLen:], checksum(network, a.Addr, value))
	return value, nil
}

// Decode reads the bytes stored for addr in network. It keeps the fields that
// it does not know. Its errors wrap [ErrInvalid].
func Decode(network string, addr netip.Addr, value []byte) (Allocation, error) {
	if len(value) < headerLen {
		return Allocation{}, fmt.Errorf("%w: %s has %d bytes", ErrInvalid, addr, len(value))
	}
	if got, want := binary.BigEndian.Uint32(value[epochLen:]), checksum(network, addr, value); got != want {
		return Allocation{}, fmt.Errorf("%w: %s has checksum %08x, its bytes have %08x", ErrInvalid, addr, got, want)
	}
	a, err := decodeJSON(value[headerLen:])
	if err != nil {
		return Allocation{}, fmt.Errorf("%w: %s: %w", ErrInvalid, addr, err)
	}
	if len(a.Holders) == 0 {
		return Allocation{}, fmt.Errorf("%w: %s names no holder", ErrInvalid, addr)
	}
	a.Addr, a.Epoch = addr, EpochOf(value)
	return a, nil
}

// Sound tells whether value has the checksum that it was stored with for addr in
// network.
func Sound(network string, addr netip.Addr, value []byte) bool {
	return len(value) >= headerLen && binary.BigEndian.Uint32(value[epochLen:]) == checksum(network, addr, value)
}

// Names tells whether the bytes of an allocation name an attachment as a holder.
// It decodes them only where they may name it in another way than most do.
func Names(network string, addr netip.Addr, value []byte, att Attachment) bool {
	needle := append(append([]byte(`"containerID":"`), att.ContainerID...), `","ifname":"`...)
	needle = append(append(needle, att.IfName...), '"')
	if bytes.Contains(value, needle) {
		return true
	}
	a, err := Decode(network, addr, value)
	return err == nil && a.HeldBy(att)
}

// EpochOf reads the epoch number alone, without the checksum. It is 0 for a
// value too short to have one.
func EpochOf(value []byte) uint64 {
	if len(value) < epochLen {
		return 0
	}
	return binary.BigEndian.Uint64(value)
}

func checksum(network string, addr netip.Addr, value []byte) uint32 {
	key := addr.As16()
	return crc32c.Sum(append([]byte(network), 0), key[:], value[:epochLen], value[headerLen:])
}

func encodeJSON(a Allocation) ([]byte, error) {
	doc := wireAllocation{Holders: make([]wireHolder, len(a.Holders))}
	keeps := len(a.extra) > 0
	for i, h := range a.Holders {
		doc.Holders[i] = toWire(h)
		keeps = keeps || len(h.extra)+len(h.netnsExtra)+len(h.podExtra) > 0
	}
	if !keeps {
		return json.Marshal(doc)
	}
	return encodeWithExtra(doc, a)
}

func decodeJSON(doc []byte) (Allocation, error) {
	var w wireAllocation
	strict := json.NewDecoder(bytes.NewReader(doc))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&w); err == nil && strict.InputOffset() == int64(len(doc)) {
		return fromWire(w), nil
	}
	w = wireAllocation{}
	if err := json.Unmarshal(doc, &w); err != nil {
		return Allocation{}, err
	}
	a := fromWire(w)
	return a, collectExtra(doc, &a)
}

func toWire(h Holder) wireHolder {
	w := wireHolder{
		ContainerID: h.ContainerID,
		IfName:      h.IfName,
		Origin:      h.Origin,
		BootTimeNs:  int64(h.BootTime),
		Unknown:     h.Unknown,
		Mark:        h.Mark,
	}
	if !h.AllocatedAt.IsZero() {
		at := h.AllocatedAt.UTC()
		w.AllocatedAt = &at
	}
	if h.NetNS != (NetNS{}) || len(h.netnsExtra) > 0 {
		w.NetNS = &h.NetNS
	}
	if h.Pod != (Pod{}) || len(h.podExtra) > 0 {
		w.Pod = &h.Pod
	}
	return w
}

func fromWire(w wireAllocation) Allocation {
	a := Allocation{Holders: make([]Holder, len(w.Holders))}
	for i, wh := range w.Holders {
		h := Holder{
			Attachment: Attachment{ContainerID: wh.ContainerID, IfName: wh.IfName},
			Origin:     wh.Origin,
			BootTime:   time.Duration(wh.BootTimeNs),
			Unknown:    wh.Unknown,
			Mark:       wh.Mark,
		}
		if wh.AllocatedAt != nil {
			h.AllocatedAt = *wh.AllocatedAt
		}
		if wh.NetNS != nil {
			h.NetNS = *wh.NetNS
		}
		if wh.Pod != nil {
			h.Pod = *wh.Pod
		}
		a.Holders[i] = h
	}
	return a
}
