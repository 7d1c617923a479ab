package damage

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/record"
)

// size is how many allocations each network has.
type size map[string]int

var (
	// small is looked at as a whole by each call.
	small = size{shut: 420, open: 80}
	// big is not.
	big = size{shut: 2900, open: 100}
)

const (
	spare = 24 // addresses of a network that are free
	batch = 25 // allocations that are made in one transaction
	turns = 40 // single calls after what is made at once
)

// image is a node that works, and its files.
type image struct {
	*node
	root  string
	held  world
	gone  []record.Attachment // freed lately
	files map[string][]byte   // of the data directory
	older map[string][]byte   // the same, some transactions before
	// backup was taken together with older, whose holdings were these.
	backup     string
	backupHeld world
	known      world // what libcni's cache knows
	// What host-local's places hold beside.
	marks     map[string]string
	last      []byte
	tombstone []byte
}

// The files of a data directory that a checkpoint consists of.
var parts = []string{store.CheckpointFile, store.JournalFile, store.LockFile}

// build makes a node in an empty directory: most of it in few transactions, the
// last of it by calls.
func build(root, boot string, s size, forProcesses bool) (*image, error) {
	m := &image{root: root, node: newNode(root, boot), held: world{shut: {}, open: {}}, known: world{shut: {}, open: {}}, backup: filepath.Join(root, "backup")}
	m.nowhere = forProcesses
	if boot == anotherBoot {
		m.next = 1 << 20 // no container runs on both
	}
	for network, count := range s {
		m.room[network] = count + spare
	}
	if err := m.hostLocalHad(s[open] / 2); err != nil {
		return nil, err
	}
	for _, network := range networks {
		if err := m.fill(network, s[network]); err != nil {
			return nil, fmt.Errorf("filling %s: %w", network, err)
		}
	}
	if err := m.churn(rand.New(rand.NewPCG(1, 1))); err != nil {
		return nil, err
	}
	for _, network := range networks {
		for i, addr := range m.held[network].sorted() {
			if i%5 > 0 || m.nowhere { // a cache is believed of a namespace that is there
				continue
			}
			m.known[network][addr] = m.held[network][addr]
			if err := m.remember(network, addr, m.held[network][addr]); err != nil {
				return nil, err
			}
		}
	}
	return m, m.copyAll()
}

// copyAll copies what a trial may change.
func (m *image) copyAll() (err error) {
	if m.files, err = m.copyFiles(); err != nil {
		return err
	}
	m.marks = marks(m.file(open))
	if m.last, err = os.ReadFile(filepath.Join(m.file(open), "last_reserved_ip.0")); err != nil {
		return err
	}
	m.tombstone, err = os.ReadFile(m.file(shut))
	return err
}

// hostLocalHad leaves the files of host-local's pods in the directory of the
// network open.
func (m *image) hostLocalHad(count int) error {
	dir := m.file(open)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for i := range count {
		att, addr := m.container(), m.address(open, i)
		if err := os.WriteFile(filepath.Join(dir, addr.String()), []byte(att.ContainerID+"\r\n"+att.IfName), 0o644); err != nil {
			return err
		}
		m.held[open][addr] = att
	}
	return nil
}

// fill gives addresses out until count are held: the first by an ADD, all others
// in one transaction.
func (m *image) fill(network string, count int) error {
	att := m.container()
	addr, err := m.add(network, att, conf{})
	if err != nil {
		return err
	}
	held := m.held[network]
	held[addr] = att
	cfg, err := ipam.ParseConfig(m.json(network, conf{}), "")
	if err != nil {
		return err
	}
	p := m.plugin()
	for len(held) < count {
		until := min(len(held)+batch, count)
		err := m.state(cfg).Update(ipam.VerbAdd, network, func(tx ipam.Tx) error {
			for i := 0; len(held) < until; i++ {
				addr := m.address(network, i)
				if _, taken := held[addr]; taken {
					continue
				}
				att := m.container()
				held[addr] = att
				err := tx.Put(record.Allocation{Addr: addr, Epoch: tx.Epoch(), Holders: []record.Holder{{
					Attachment: att, Origin: record.OriginAdd, AllocatedAt: p.Now(), BootTime: p.BootTime(),
					NetNS: m.spaces.Identify(m.spaces.path(att.ContainerID)),
				}}})
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// churn ends some containers and starts others, so that pages and lines of
// several transactions are there.
func (m *image) churn(r *rand.Rand) error {
	for turn := range turns {
		network := networks[turn%2]
		addrs := m.held[network].sorted()
		addr := addrs[r.IntN(len(addrs))]
		att := m.held[network][addr]
		m.ends(att)
		if err := m.del(network, att); err != nil {
			return err
		}
		delete(m.held[network], addr)
		m.gone = append(m.gone, att)
		att = m.container()
		addr, err := m.add(network, att, conf{})
		if err != nil {
			return err
		}
		m.held[network][addr] = att
		if turn == turns/2 {
			if err := m.setAside(); err != nil {
				return err
			}
		}
	}
	return nil
}

// setAside copies the files as they are, and takes a backup.
func (m *image) setAside() (err error) {
	if m.older, err = m.copyFiles(); err != nil {
		return err
	}
	m.backupHeld = m.held.clone()
	var b bytes.Buffer
	if err := m.store().Backup(&b); err != nil {
		return err
	}
	return os.WriteFile(m.backup, b.Bytes(), 0o600)
}

func (m *image) copyFiles() (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, name := range parts {
		b, err := os.ReadFile(m.file(name))
		if err != nil {
			return nil, err
		}
		files[name] = b
	}
	return files, nil
}
