package damage

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/bolt-local/bolt-local/store/pages"
)

// workerVariable is an environment variable: the directory of a process that
// carries trials out.
const workerVariable = "E2E_DAMAGE_WORKER"

// binaryVariable is an environment variable of such a process: the path of
// bolt-local.
const binaryVariable = "E2E_DAMAGE_BINARY"

// work reads trials from stdin, a line each, and writes the outcome of each to
// the file descriptor 3.
func work() int {
	if err := newWorker(os.Getenv(workerVariable)).run(os.Stdin, os.NewFile(3, "outcomes")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// worker keeps nodes from one trial to the next.
type worker struct {
	root   string
	images map[kind]*image
	built  int
}

// kind says which node it is.
type kind struct{ big, processes, another bool }

func newWorker(root string) *worker { return &worker{root: root, images: map[kind]*image{}} }

func (w *worker) run(in *os.File, out *os.File) error {
	answers := json.NewEncoder(out)
	questions := bufio.NewScanner(in)
	for questions.Scan() {
		var c trial
		if err := json.Unmarshal(questions.Bytes(), &c); err != nil {
			return err
		}
		o, err := w.try(c)
		if err != nil {
			return err
		}
		if err := answers.Encode(o); err != nil {
			return err
		}
	}
	return questions.Err()
}

// image returns a node that is whole.
func (w *worker) image(of kind) (*image, error) {
	m := w.images[of]
	if m != nil && of.another {
		return m, nil // nobody calls it
	}
	if m != nil {
		again, err := m.restore()
		if again || err != nil {
			return m, err
		}
		if err := os.RemoveAll(m.root); err != nil {
			return nil, err
		}
	}
	s, boot := small, thisBoot
	if of.big {
		s = big
	}
	if of.processes {
		var err error
		if boot, err = realBoot(); err != nil {
			return nil, err
		}
	}
	if of.another {
		boot = anotherBoot
	}
	w.built++
	m, err := build(filepath.Join(w.root, fmt.Sprint(w.built)), boot, s, of.processes)
	w.images[of] = m
	return m, err
}

func (w *worker) try(c trial) (outcome, error) {
	other, err := w.image(kind{c.Big, c.Processes, true})
	if err != nil {
		return outcome{}, err
	}
	m, err := w.image(kind{c.Big, c.Processes, false})
	if err != nil {
		return outcome{}, err
	}
	checkpoint, err := m.spoil(c, other.files)
	if err != nil {
		return outcome{}, err
	}
	if c.othersOnly() && !tellsBoot(checkpoint, m.node.boot) {
		return outcome{Class: "nothing tells whose it is"}, nil
	}
	spaces, next := maps.Clone(m.spaces), m.next
	defer func() { m.spaces, m.next = spaces, next }()
	o := &ordeal{image: m, caller: m.node, trial: c, r: rand.New(rand.NewPCG(c.Seed, 99)), held: m.held.clone(), checkpoint: checkpoint}
	if c.Processes {
		o.caller = &processes{node: m.node, binary: os.Getenv(binaryVariable), fault: o.fault}
	}
	return o.run(), nil
}

// tellsBoot: a tree of the checkpoint leads to the number of a boot.
func tellsBoot(checkpoint []byte, boot string) (is bool) {
	_, err := pages.Salvage(checkpoint, func(f pages.Found) error {
		is = is || f.Reached && !f.Stale && len(f.Path) == 2 && string(f.Path[1]) == "epochs" && string(f.Key) == boot
		return nil
	})
	return is && err == nil
}
