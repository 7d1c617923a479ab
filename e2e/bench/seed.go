package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// The plugins' names, as in ipam.type.
const (
	boltLocal = "bolt-local"
	hostLocal = "host-local"
)

// containerID is the id of container i of a series, of the form that container
// runtimes give.
func containerID(series string, i int) string {
	sum := sha256.Sum256([]byte(series + " " + strconv.Itoa(i)))
	return hex.EncodeToString(sum[:])
}

// addresses returns the first n addresses that a plugin gives out of subnet:
// those after the gateway, in order.
func addresses(subnet netip.Prefix, n int) []netip.Addr {
	list := make([]netip.Addr, n)
	addr := subnet.Masked().Addr().Next() // the gateway
	for i := range list {
		addr = addr.Next()
		list[i] = addr
	}
	return list
}

// hold puts n allocations into the plugin's state, as n ADDs would have left
// them: the addresses in order, and the cursor at the last.
func (p plugin) hold(n int) error {
	if n == 0 {
		return nil
	}
	var err error
	switch p.name {
	case hostLocal:
		err = p.holdHostLocal(n)
	case boltLocal:
		err = p.holdBoltLocal(n)
	}
	if err != nil {
		return fmt.Errorf("%s with %d addresses held: %w", p.name, n, err)
	}
	// What is still to be written back must not fall into the measurement.
	syscall.Sync()
	return nil
}

// holdHostLocal writes host-local's files: one for each address, named after
// it, with its attachment, and one for the last address given.
func (p plugin) holdHostLocal(n int) error {
	dir := filepath.Join(p.dataDir, networkName)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var last netip.Addr
	for i, addr := range addresses(p.subnet, n) {
		content := containerID("held", i) + "\r\n" + ifName
		if err := os.WriteFile(filepath.Join(dir, addr.String()), []byte(content), 0o600); err != nil {
			return err
		}
		last = addr
	}
	if err := os.WriteFile(filepath.Join(dir, "last_reserved_ip.0"), []byte(last.String()), 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "lock"), nil, 0o750)
}
