package lab

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"time"

	"golang.org/x/net/icmp"
	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
)

const (
	pingTries = 5
	pingWait  = time.Second // for one answer
)

// IANA protocol numbers, which icmp.ParseMessage wants.
const (
	protocolICMP   = 1
	protocolICMPv6 = 58
)

// family is what IPv4 and IPv6 name differently in an echo.
type family struct {
	network  string
	protocol int
	request  icmp.Type
	reply    icmp.Type
}

func familyOf(a netip.Addr) family {
	if a.Is4() {
		return family{"ip4:icmp", protocolICMP, ipv4.ICMPTypeEcho, ipv4.ICMPTypeEchoReply}
	}
	return family{"ip6:ipv6-icmp", protocolICMPv6, ipv6.ICMPTypeEchoRequest, ipv6.ICMPTypeEchoReply}
}

// Ping sends an echo request from src, an address of the namespace, to dst,
// and returns the round trip. It tries a few times, for the first packet
// may be lost while neighbours are resolved. It needs no ping(8).
func Ping(from *Namespace, src, dst netip.Addr) (time.Duration, error) {
	fam := familyOf(dst)
	var conn net.PacketConn
	err := from.Do(func() error {
		var err error
		conn, err = net.ListenPacket(fam.network, src.String())
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("ping %s from %s: %w", dst, src, err)
	}
	defer conn.Close()

	id := rand.N(1 << 16)
	for seq := range pingTries {
		took, err := echo(conn, fam, dst, id, seq)
		if err == nil {
			return took, nil
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return 0, fmt.Errorf("ping %s from %s: %w", dst, src, err)
		}
	}
	return 0, fmt.Errorf("ping %s from %s: no answer to %d packets", dst, src, pingTries)
}

// echo sends one request and waits for its reply.
func echo(conn net.PacketConn, fam family, dst netip.Addr, id, seq int) (time.Duration, error) {
	payload := []byte("bolt-local lab")
	request := icmp.Message{Type: fam.request, Body: &icmp.Echo{ID: id, Seq: seq, Data: payload}}
	// The kernel fills in the checksum of ICMPv6.
	packet, err := request.Marshal(nil)
	if err != nil {
		return 0, err
	}
	start := time.Now()
	if err := conn.SetDeadline(start.Add(pingWait)); err != nil {
		return 0, err
	}
	if _, err := conn.WriteTo(packet, &net.IPAddr{IP: dst.AsSlice()}); err != nil {
		return 0, err
	}
	buf := make([]byte, 1500)
	for {
		n, peer, err := conn.ReadFrom(buf)
		if err != nil {
			return 0, err
		}
		reply, err := icmp.ParseMessage(fam.protocol, buf[:n])
		if err != nil || reply.Type != fam.reply || peer.String() != dst.String() {
			continue // neighbour discovery, or somebody else's echo
		}
		body, ok := reply.Body.(*icmp.Echo)
		if ok && body.ID == id && body.Seq == seq && bytes.Equal(body.Data, payload) {
			return time.Since(start), nil
		}
	}
}
