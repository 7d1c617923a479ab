package store

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/store/crc32c"
	"github.com/bolt-local/bolt-local/store/record"
)

// Deferred is a DEL that could not be written to the checkpoint. It waits in a
// file of its own until a call that can write carries it out: once, as the
// transaction that does so marks it in networks/<network>/deferred. Nothing is
// synced: after a power cut nothing that it would free is alive.
type Deferred struct {
	Network string
	record.Attachment
	// Addrs are those that the call itself named.
	Addrs []netip.Addr
	// Gone: the call named no namespace, or one that was not there.
	Gone bool
	// At is the time of the file, by the file system's clock.
	At time.Time

	file string // its name
	id   string // tells it from a later one of the same name
}

// deferredDoc is a file's content: one line, and its CRC-32C in hex. On a full
// disk it has none, and its name has to say all.
type deferredDoc struct {
	Network     string       `json:"network"`
	ContainerID string       `json:"containerID"`
	IfName      string       `json:"ifname"`
	Addrs       []netip.Addr `json:"ips,omitempty"`
	Gone        bool         `json:"gone,omitempty"`
}

const (
	// longestName is that of a file name, in bytes.
	longestName = 255
	// maxDeferredFile bounds what is read of a file, in bytes.
	maxDeferredFile = 256 << 10
	// digestName begins the name of a file whose attachment is too long for one.
	digestName = "digest-"
)

// fileName is the attachment, encoded, and its checksum.
func (d Deferred) fileName() (name string, saysAll bool) {
	key := d.Network + "\x00" + d.ContainerID + "\x00" + d.IfName
	name = base64.RawURLEncoding.EncodeToString([]byte(key))
	name += fmt.Sprintf(".%08x", crc32c.Sum([]byte(key)))
	if len(name) <= longestName {
		return name, true
	}
	sum := fnv.New128a()
	sum.Write([]byte(key))
	return digestName + hex.EncodeToString(sum.Sum(nil)), false
}

// parseFileName is the reverse of fileName, for a name that says all. One that
// fileName would not give is none, though base64 reads more than one for the same.
func parseFileName(name string) (Deferred, bool) {
	text, _, _ := strings.Cut(name, ".")
	key, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return Deferred{}, false
	}
	parts := strings.Split(string(key), "\x00")
	if len(parts) != 3 {
		return Deferred{}, false
	}
	d := Deferred{Network: parts[0], Attachment: record.Attachment{ContainerID: parts[1], IfName: parts[2]}}
	if same, _ := d.fileName(); same != name {
		return Deferred{}, false
	}
	return d, true
}

// Defer leaves d for a call that can write. It needs no lock.
func (s *Store) Defer(d Deferred) error {
	if err := s.writeDeferred(d); err != nil {
		return fmt.Errorf("deferring the DEL: %w", err)
	}
	return nil
}

func (s *Store) writeDeferred(d Deferred) error {
	name, saysAll := d.fileName()
	doc, err := json.Marshal(deferredDoc{d.Network, d.ContainerID, d.IfName, d.Addrs, d.Gone})
	if err != nil {
		return err
	}
	if _, err := owned(s.dir, s.file(DeferredDir)); err != nil {
		return err
	}
	if err := makeDir(s.dir, 0o700); err != nil {
		return err
	}
	if err := s.makeDeferredDir(); err != nil {
		return err
	}
	path := filepath.Join(s.file(DeferredDir), name)
	// A new file each time: what an older one asked for may have been done.
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := openRegular(path, os.O_WRONLY|os.O_CREATE)
	if err != nil {
		return err
	}
	_, err = f.Write(fmt.Appendf(nil, "%s %08x\n", doc, crc32c.Sum(doc)))
	if err = errors.Join(err, f.Close()); err != nil && !saysAll {
		return err
	}
	return nil
}

// Deferred returns the DELs of a network that nobody has carried out yet.
// MarkDone is due for each of them.
func (n *Network) Deferred() ([]Deferred, error) {
	all, there, err := n.tx.store.deferred()
	if err != nil {
		return nil, err
	}
	done := n.tx.bucket(n.path(bucketDeferred))
	var due []Deferred
	for _, d := range all {
		if d.Network != n.name {
			continue
		}
		if done != nil && string(done.Get([]byte(d.file))) == d.id {
			n.tx.done = append(n.tx.done, d) // whoever did it could not remove the file
			continue
		}
		due = append(due, d)
	}
	return due, n.dropMarks(there)
}

// dropMarks removes the marks of files that are gone.
func (n *Network) dropMarks(there map[string]bool) error {
	b := n.tx.bucket(n.path(bucketDeferred))
	if b == nil {
		return nil
	}
	return n.tx.removeWhere(n.path(bucketDeferred), b, func(k []byte) bool { return !there[string(k)] })
}

// MarkDone records that d was carried out, or that it is void. Its file goes
// once the transaction is durable.
func (n *Network) MarkDone(d Deferred) error {
	n.tx.done = append(n.tx.done, d)
	if !n.Exists() { // where nothing is stored nothing can be freed twice
		return nil
	}
	return n.tx.put(n.path(bucketDeferred), []byte(d.file), []byte(d.id))
}

// removeDone removes the files of what is done.
func (t *Tx) removeDone() {
	for _, d := range t.done {
		path := filepath.Join(t.store.file(DeferredDir), d.file)
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.store.opts.Warn(fmt.Sprintf("a deferred DEL was carried out, its file stays: %v", err))
		}
	}
}

// CountDeferred is how many DELs wait, in all networks, 0 where that cannot be
// told.
func (s *Store) CountDeferred() int {
	all, _, _ := s.deferred()
	return len(all)
}

// deferred reads the files of all deferred DELs. What names no attachment, or cannot
// be read, is told and left alone; names has it as well.
func (s *Store) deferred() (all []Deferred, names map[string]bool, err error) {
	entries, err := os.ReadDir(s.file(DeferredDir))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading the deferred DELs: %w", err)
	}
	names = map[string]bool{}
	for _, e := range entries {
		names[e.Name()] = true
		d, err := readDeferred(filepath.Join(s.file(DeferredDir), e.Name()))
		if err != nil {
			s.opts.Warn(fmt.Sprintf("a deferred DEL is passed over: %v", err))
			continue
		}
		all = append(all, d)
	}
	return all, names, nil
}

func readDeferred(path string) (Deferred, error) {
	f, err := openRegular(path, os.O_RDONLY)
	if err != nil {
		return Deferred{}, err
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return Deferred{}, err
	}
	b, err := io.ReadAll(io.LimitReader(f, maxDeferredFile))
	if err != nil {
		return Deferred{}, err
	}
	name := filepath.Base(path)
	d, ok := parseDeferred(b)
	if want, _ := d.fileName(); !ok || want != name {
		if d, ok = parseFileName(name); !ok {
			return Deferred{}, fmt.Errorf("%s says neither in its name nor in its content what it is for: remove it", path)
		}
	}
	d.file, d.id = name, fmt.Sprintf("%d:%d", st.Ino, st.Ctim.Nano())
	d.At = time.Unix(0, st.Ctim.Nano())
	return d, nil
}

func parseDeferred(b []byte) (Deferred, bool) {
	doc, sum, ok := cutLast(bytes.TrimSuffix(b, []byte("\n")))
	var w deferredDoc
	if !ok || string(sum) != fmt.Sprintf("%08x", crc32c.Sum(doc)) || json.Unmarshal(doc, &w) != nil {
		return Deferred{}, false
	}
	att := record.Attachment{ContainerID: w.ContainerID, IfName: w.IfName}
	return Deferred{Network: w.Network, Attachment: att, Addrs: w.Addrs, Gone: w.Gone}, true
}
