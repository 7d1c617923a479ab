package powercut

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	bolt "go.etcd.io/bbolt"

	"github.com/bolt-local/bolt-local/e2e/powercut/disk"
	"github.com/bolt-local/bolt-local/migrate/form"
	"github.com/bolt-local/bolt-local/migrate/hostlocal"
	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/crc32c"
	"github.com/bolt-local/bolt-local/store/record"
)

// A record knows the file that names its holder by inode and change time, which
// a disk keeps through a power cut and a tree that is written anew does not
// have. So what the checkpoint says of them is put right in such a tree.

// marks tell the files of host-local's directory apart, as they were when the
// calls were recorded, by the ID of their inode.
type marks map[int]string

// note adds the files that are there now.
func (m marks) note(r *replay) error {
	return r.each(func(path string, st *syscall.Stat_t, n *disk.Inode) error {
		dir := filepath.Dir(path)
		within := (dir == hostName || dir == besideName) && !strings.HasPrefix(filepath.Base(path), "last_reserved_ip.")
		if !within && !(n.Dir && (path == hostName || path == besideName)) {
			return nil // nothing keeps its mark
		}
		mark := markOf(st)
		if was, known := m[n.ID]; known && !n.Dir && was != mark {
			return fmt.Errorf("the change time of %s has changed: from %s to %s", path, was, mark)
		}
		m[n.ID] = mark
		return nil
	})
}

// markOf is a file's mark as docs/on-disk-format.md has it; its first part is a
// directory's.
func markOf(st *syscall.Stat_t) string {
	return fmt.Sprintf("%d:%d", st.Ino, st.Ctim.Nano())
}

func inodeOf(mark string) string {
	inode, _, _ := strings.Cut(mark, ":")
	return inode
}

// exchanged are marks of now by those of then, and the other way round.
type exchanged struct{ now, then map[string]string }

// newMarks looks at the tree that was written below root.
func newMarks(m marks, tree disk.Tree, root string) (exchanged, error) {
	x := exchanged{map[string]string{}, map[string]string{}}
	for _, f := range tree {
		then, known := m[f.Inode.ID]
		if !known {
			continue
		}
		info, err := os.Lstat(filepath.Join(root, f.Path))
		if err != nil {
			return x, err
		}
		now := markOf(info.Sys().(*syscall.Stat_t))
		if f.Dir {
			then, now = inodeOf(then), inodeOf(now)
		}
		x.now[then], x.then[now] = now, then
	}
	return x, nil
}

// of returns what a mark is in the other time, itself where that is not known.
func of(other map[string]string, mark string) string {
	if m, ok := other[mark]; ok {
		return m
	}
	return mark
}

func placeOf(other map[string]string, place string) string {
	dir, lock, _ := strings.Cut(place, "/")
	return of(other, dir) + "/" + of(other, lock)
}

// stamps are those of now of the directories below root, by those of then.
func (x exchanged) stamps(root string) (map[string]string, error) {
	found := map[string]string{}
	for _, name := range []string{hostName, besideName} {
		c, err := hostlocal.At(filepath.Join(root, name)).Look()
		if err != nil {
			return nil, err
		}
		if now := c.Stamp(); now != "" {
			found[x.before(c).Stamp()] = now
		}
	}
	return found, nil
}

// before is the contents with the marks of then.
func (x exchanged) before(c form.Contents) form.Contents {
	c.Place = placeOf(x.then, c.Place)
	for i := range c.Entries {
		c.Entries[i].Holder.Mark = of(x.then, c.Entries[i].Holder.Mark)
	}
	for i := range c.SetAside {
		c.SetAside[i].Mark = of(x.then, c.SetAside[i].Mark)
	}
	return c
}

// settle puts right what the checkpoint in the tree below root says of the files
// beside it. That is one more transaction of it.
func (m marks) settle(tree disk.Tree, root string) error {
	if _, there := tree.Find(dataName + "/" + store.CheckpointFile); !there {
		return nil
	}
	x, err := newMarks(m, tree, root)
	if err != nil || len(x.now) == 0 {
		return err
	}
	stamps, err := x.stamps(root)
	if err != nil {
		return err
	}
	db, err := bolt.Open(filepath.Join(root, dataName, store.CheckpointFile), 0o600, &bolt.Options{FreelistType: bolt.FreelistArrayType})
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bolt.Tx) error {
		if b := tx.Bucket([]byte("networks")).Bucket([]byte(network)); b != nil {
			if err := errors.Join(x.records(b.Bucket([]byte("allocations"))), x.migration(b, stamps)); err != nil {
				return err
			}
		}
		stamp := binary.BigEndian.AppendUint64(nil, uint64(tx.ID()))
		return tx.Bucket([]byte("meta")).Bucket([]byte("stamp")).Put([]byte("1"), stamp)
	})
	return errors.Join(err, db.Close())
}

func (x exchanged) records(b *bolt.Bucket) error {
	if b == nil {
		return nil
	}
	changed := map[string][]byte{}
	err := b.ForEach(func(k, v []byte) error {
		a, err := record.Decode(network, netip.AddrFrom16([16]byte(k)).Unmap(), v)
		if err != nil {
			return err
		}
		for i := range a.Holders {
			a.Holders[i].Mark = of(x.now, a.Holders[i].Mark)
		}
		changed[string(k)], err = record.Encode(network, a)
		return err
	})
	for k, v := range changed {
		err = errors.Join(err, b.Put([]byte(k), v))
	}
	return err
}

// migration is for the network's document, behind its checksum of four bytes.
func (x exchanged) migration(b *bolt.Bucket, stamps map[string]string) error {
	const key = "migration"
	value := b.Get([]byte(key))
	if value == nil {
		return nil
	}
	var doc struct {
		Place, Stamp string
		SetAside     []form.Aside
	}
	var fields map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(value[4:], &doc), json.Unmarshal(value[4:], &fields)); err != nil {
		return err
	}
	if doc.Place != "" {
		fields["place"] = []byte(strconv.Quote(placeOf(x.now, doc.Place)))
	}
	if doc.Stamp != "" {
		fields["stamp"] = []byte(strconv.Quote(of(stamps, doc.Stamp)))
	}
	for i := range doc.SetAside {
		doc.SetAside[i].Mark = of(x.now, doc.SetAside[i].Mark)
	}
	var err error
	if len(doc.SetAside) > 0 {
		fields["setAside"], err = json.Marshal(doc.SetAside)
	}
	text, err2 := json.Marshal(fields)
	sum := crc32c.Sum([]byte(network+"\x00"+key+"\x00"), text)
	return errors.Join(err, err2, b.Put([]byte(key), append(binary.BigEndian.AppendUint32(nil, sum), text...)))
}
