package damage

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/e2e/testenv"
)

// longest is how long a trial of some twenty calls may take on a busy machine.
// An endless call takes longer.
const longest = 2 * time.Minute

// foreman has trials carried out by worker processes.
type foreman struct {
	t      *testing.T
	worker string // the program
	binary string // bolt-local
	mu     sync.Mutex
	trials []trial
	next   int
	done   int
	told   func(trial, outcome)
}

// carryOut calls told for each trial, one after the other.
func carryOut(t *testing.T, trials []trial, workers int, told func(trial, outcome)) {
	t.Helper()
	f := &foreman{t: t, trials: trials, told: told, worker: buildWorker(t), binary: testenv.Binary(t, lab.BoltLocal)}
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for f.employ() {
			}
		})
	}
	wg.Wait()
}

func (f *foreman) take() (c trial, more bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.next == len(f.trials) {
		return trial{}, false
	}
	f.next++
	return f.trials[f.next-1], true
}

func (f *foreman) tell(c trial, o outcome) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.told(c, o)
	if f.done++; f.done%1000 == 0 {
		f.t.Logf("%d of %d", f.done, len(f.trials)) // of all it takes an hour
	}
}

// employ starts a worker and gives it trials until it dies or none is left. It
// reports whether there is more to do.
func (f *foreman) employ() bool {
	c, more := f.take()
	if !more {
		return false
	}
	w, err := f.hire()
	if err != nil {
		f.t.Errorf("starting a worker: %v", err)
		return false
	}
	defer w.dismiss()
	for ; more; c, more = f.take() {
		o, err := w.try(c)
		if err != nil {
			f.tell(c, outcome{Class: "died", Faults: []string{err.Error()}})
			return true
		}
		f.tell(c, o)
	}
	return false
}

// hand is a worker process.
type hand struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers *bufio.Scanner
	out     *os.File
	stderr  bytes.Buffer
	root    string
}

// buildWorker builds this package without the race detector: in a worker nothing
// happens at once, and it would take most of the time.
func buildWorker(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "worker")
	out, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", path, ".").CombinedOutput()
	if err != nil {
		t.Fatalf("building the worker: %v\n%s", err, out)
	}
	return path
}

func (f *foreman) hire() (*hand, error) {
	root, err := os.MkdirTemp(workDir(), "bolt-local-damage-")
	if err != nil {
		return nil, err
	}
	w := &hand{root: root, cmd: exec.CommandContext(f.t.Context(), f.worker)}
	out, end, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer end.Close()
	w.out, w.answers = out, bufio.NewScanner(out)
	w.answers.Buffer(nil, 1<<24)
	w.cmd.Env = append(os.Environ(), workerVariable+"="+root, binaryVariable+"="+f.binary)
	w.cmd.ExtraFiles = []*os.File{end}
	w.cmd.Stderr = &w.stderr
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	return w, w.cmd.Start()
}

func (w *hand) dismiss() {
	_ = w.in.Close()
	_ = w.cmd.Process.Kill()
	_ = w.cmd.Wait()
	_ = w.out.Close()
	_ = os.RemoveAll(w.root)
}

// try has one trial carried out. The error tells of a worker that died of it.
func (w *hand) try(c trial) (o outcome, err error) {
	if _, err := fmt.Fprintln(w.in, c); err != nil {
		return o, err
	}
	var late atomic.Bool
	timer := time.AfterFunc(longest, func() {
		late.Store(true)
		_ = w.cmd.Process.Kill()
	})
	defer timer.Stop()
	if !w.answers.Scan() {
		end := w.cmd.Wait()
		if late.Load() {
			return o, fmt.Errorf("it did not end within %s", longest)
		}
		return o, fmt.Errorf("the process died (%v): %.2000s", end, w.stderr.Bytes())
	}
	return o, json.Unmarshal(w.answers.Bytes(), &o)
}

// workDir is in memory where there is a place for it: what is tried here needs
// no disk.
func workDir() string {
	const shm = "/dev/shm"
	if d, err := os.MkdirTemp(shm, "bolt-local-damage-"); err == nil {
		_ = os.Remove(d)
		return shm
	}
	return os.TempDir()
}
