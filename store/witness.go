package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/bolt-local/bolt-local/store/crc32c"
)

// witness is the content of the lock file: what was committed last. It is written
// in place after each commit, and synced for a new checkpoint alone. It outlives a
// process, and a power cut can only leave it behind the checkpoint, never ahead.
//
//	bolt-local 1 <boot id> <checkpoint id> <transaction id> <CRC-32C>\n
type witness struct {
	BootID     string // of the newest epoch; "-" in the file where unknown
	Checkpoint string
	Tx         uint64
}

const (
	witnessMagic  = "bolt-local 1"
	maxWitnessLen = 512
	// witnessWidth pads the line, so that a shorter one leaves no rest behind.
	witnessWidth = 128
)

func (w witness) encode() []byte {
	boot := w.BootID
	if boot == "" {
		boot = "-"
	}
	line := fmt.Sprintf("%s %s %s %d", witnessMagic, boot, w.Checkpoint, w.Tx)
	line = fmt.Sprintf("%-*s", witnessWidth, line)
	return fmt.Appendf(nil, "%s %08x\n", line, crc32c.Sum([]byte(line)))
}

// parseWitness reports false for anything that is not a whole witness: a lock
// file that a power cut emptied has none.
func parseWitness(b []byte) (witness, bool) {
	line, _, ok := strings.Cut(string(b), "\n")
	if !ok || len(line) < 9 {
		return witness{}, false
	}
	body, sum := line[:len(line)-9], line[len(line)-9:]
	if sum != fmt.Sprintf(" %08x", crc32c.Sum([]byte(body))) {
		return witness{}, false
	}
	rest, ok := strings.CutPrefix(body, witnessMagic+" ")
	fields := strings.Fields(rest)
	if !ok || len(fields) != 3 {
		return witness{}, false
	}
	tx, err := strconv.ParseUint(fields[2], 10, 64)
	if err != nil {
		return witness{}, false
	}
	w := witness{BootID: fields[0], Checkpoint: fields[1], Tx: tx}
	if w.BootID == "-" {
		w.BootID = ""
	}
	return w, true
}

// readWitness reports false where the lock file is missing or holds none.
func readWitness(path string) (witness, bool, error) {
	f, err := openRegular(path, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return witness{}, false, nil
	}
	if err != nil {
		return witness{}, false, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxWitnessLen))
	if err != nil {
		return witness{}, false, err
	}
	w, ok := parseWitness(b)
	return w, ok, nil
}

func writeWitness(path string, w witness) error { return putWitness(path, w, false) }

// writeFirstWitness is for that of a new checkpoint. It is synced: after a power
// cut an old one may name the checkpoint before this, but none before that.
func writeFirstWitness(path string, w witness) error { return putWitness(path, w, true) }

func putWitness(path string, w witness, sync bool) error {
	f, err := openRegular(path, os.O_WRONLY)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(w.encode(), 0)
	if sync && err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
