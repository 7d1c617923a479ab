package churn

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/bolt-local/bolt-local/e2e/testenv"
	"github.com/bolt-local/bolt-local/store"
)

// What a short run does. The variables replace it; `make soak` has a million
// calls by way of the library, and 20,000 processes.
const (
	libraryVariable = "E2E_CHURN"
	processVariable = "E2E_CHURN_PROCESSES"
	libraryCalls    = 6000
	processCalls    = 150
)

// Of a /22, with 1,021 addresses to give, so many are held at most.
const (
	subnet  = "10.94.0.0/22"
	mostly  = 900
	batches = 10 // after each of which the files are looked at
)

// caller makes one call, by way of the library or of a process.
type caller interface {
	add(id string) (netip.Addr, error)
	del(id string) error
	held() (map[string]netip.Addr, error)
}

// pods are those of the node, as the answers say.
type pods struct {
	random *rand.Rand
	ids    []string
	addrs  map[string]netip.Addr
	next   int
}

// turn starts a pod or ends one.
func (p *pods) turn(c caller) error {
	if n := p.random.IntN(mostly); n >= len(p.ids) {
		id := fmt.Sprintf("%064x", p.next) // as long as runtimes have them
		p.next++
		addr, err := c.add(id)
		if err != nil {
			return fmt.Errorf("ADD of pod %d: %w", p.next, err)
		}
		for other, held := range p.addrs {
			if held == addr {
				return fmt.Errorf("%s was given to %s, and %s holds it", addr, id, other)
			}
		}
		p.ids = append(p.ids, id)
		p.addrs[id] = addr
		return nil
	}
	i := p.random.IntN(len(p.ids))
	id := p.ids[i]
	p.ids[i] = p.ids[len(p.ids)-1]
	p.ids = p.ids[:len(p.ids)-1]
	delete(p.addrs, id)
	return c.del(id)
}

// churn makes that many calls and holds what is left against the answers.
func churn(t *testing.T, calls int, dataDir string, c caller) {
	p := &pods{random: testenv.Rand(testenv.Seed(t), 1), addrs: map[string]netip.Addr{}}
	var largest int64
	for batch := range batches {
		began := time.Now()
		for range calls / batches {
			if err := p.turn(c); err != nil {
				t.Fatal(err)
			}
		}
		checkpoint, journal := size(t, dataDir, store.CheckpointFile), size(t, dataDir, store.JournalFile)
		t.Logf("batch %d: %d held, %v a call, checkpoint %d KiB, journal %d KiB",
			batch, len(p.ids), time.Since(began)/time.Duration(calls/batches), checkpoint>>10, journal>>10)
		largest = max(largest, checkpoint)
	}
	// 900 records and both of their indexes are some 600 KiB; whatever the number
	// of calls, the file has room for the free pages of a few transactions more.
	if largest > 2<<20 {
		t.Errorf("the checkpoint has grown to %d KiB", largest>>10)
	}
	if journal := size(t, dataDir, store.JournalFile); journal > 8*largest+1<<20 {
		t.Errorf("the journal has %d KiB", journal>>10)
	}
	held, err := c.held()
	if err != nil {
		t.Fatal(err)
	}
	if len(held) != len(p.addrs) {
		t.Errorf("%d addresses are held, by %d pods", len(held), len(p.addrs))
	}
	for id, addr := range p.addrs {
		if held[id] != addr {
			t.Errorf("pod %s was answered %s, and holds %s", id, addr, held[id])
		}
	}
	for id := range p.addrs {
		if err := c.del(id); err != nil {
			t.Fatal(err)
		}
	}
	if held, err := c.held(); err != nil || len(held) > 0 {
		t.Errorf("left after DEL of all: %v, %v", held, err)
	}
}

func size(t *testing.T, dir, name string) int64 {
	t.Helper()
	info, err := os.Stat(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// number is that in an environment variable, else short.
func number(t *testing.T, variable string, short int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return short
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < batches {
		t.Fatalf("%s is %q", variable, text)
	}
	return n
}

// config is the network's. It is native: nothing of host-local's is there.
func config(root string) []byte {
	doc := map[string]any{
		"cniVersion": "1.1.0", "name": "churn", "type": "bridge",
		"ipam": map[string]any{
			"type":         "bolt-local",
			"dataDir":      filepath.Join(root, "data"),
			"ranges":       [][]map[string]string{{{"subnet": subnet}}},
			"cniCacheDirs": []string{filepath.Join(root, "no-cache")}, // not the machine's own
		},
	}
	b, err := json.Marshal(doc)
	if err != nil {
		panic(err) // of strings and maps alone
	}
	return b
}

// memory is a directory on tmpfs, where there is one: a disk would be busy with
// syncs alone.
func memory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "bolt-local-churn-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
