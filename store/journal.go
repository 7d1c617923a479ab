package store

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"

	"github.com/bolt-local/bolt-local/store/crc32c"
)

// The journal is a text file of lines
//
//	<JSON> <transaction id> <CRC-32C of all before, hex>\n
//
// The first line's JSON is a journalHeader, each other a journalEntry. It is
// never synced: it has to outlive a process, not a boot.
type journalHeader struct {
	Journal    int    `json:"journal"` // its own format, 1
	BootID     string `json:"bootID"`  // of the newest epoch
	Checkpoint string `json:"checkpoint"`
}

type journalEntry struct {
	Verb    string   `json:"verb"`           // that of the call, or one of those below
	Keys    int      `json:"keys,omitempty"` // of verbSnapshotEnd: how many the snapshot has
	Changes []change `json:"changes"`
}

// change is one put, or a deletion where Value is nil.
type change struct {
	Path  bucketPath `json:"path"`
	Key   []byte     `json:"key"`
	Value []byte     `json:"value"` // null: deleted
}

const (
	journalFormat = 1

	// A journal begins with the whole content as of the id in its first line: a
	// part in each line, and a last line with the number of keys in all of them.
	verbSnapshot    = "snapshot"
	verbSnapshotEnd = "snapshot-end"

	// A journal is written anew once it is longer than both: this many bytes, and
	// so many times the bytes in use in the checkpoint.
	journalMinLimit = 1 << 20
	journalFactor   = 8

	maxHeaderLine = 1 << 10
	trailerLen    = 1 + 20 + 1 + 8 + 1 // the longest " <tx> <crc>\n"
)

func journalLine(doc []byte, tx uint64) []byte {
	line := fmt.Appendf(doc, " %d", tx)
	return fmt.Appendf(line, " %08x\n", crc32c.Sum(line))
}

// parseJournalLine takes a line apart, with or without its newline.
func parseJournalLine(line []byte) (doc []byte, tx uint64, err error) {
	line = bytes.TrimSuffix(line, []byte("\n"))
	body, sum, ok := cutLast(line)
	if !ok || string(sum) != fmt.Sprintf("%08x", crc32c.Sum(body)) {
		return nil, 0, fmt.Errorf("%w: a journal line has a wrong checksum", ErrDamaged)
	}
	doc, id, ok := cutLast(body)
	if !ok {
		return nil, 0, fmt.Errorf("%w: a journal line has no transaction id", ErrDamaged)
	}
	tx, err = strconv.ParseUint(string(id), 10, 64)
	if err != nil {
		return nil, 0, fmt.Errorf("%w: a journal line's transaction id: %w", ErrDamaged, err)
	}
	return doc, tx, nil
}

func cutLast(b []byte) (before, after []byte, ok bool) {
	i := bytes.LastIndexByte(b, ' ')
	if i < 0 {
		return b, nil, false
	}
	return b[:i], b[i+1:], true
}

// journalState is what the journal's first line and last bytes say; the lines
// between are not read.
type journalState struct {
	header journalHeader
	last   uint64 // 0 where the tail is torn
	size   int64
}

// readJournalState reports false where there is no journal, or none with a
// whole first line.
func readJournalState(path string) (journalState, bool, error) {
	f, err := openRegular(path, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return journalState{}, false, nil
	}
	if err != nil {
		return journalState{}, false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return journalState{}, false, err
	}
	st := journalState{size: info.Size()}
	head := make([]byte, min(st.size, maxHeaderLine))
	if _, err := io.ReadFull(f, head); err != nil {
		return st, false, err
	}
	line, _, ok := bytes.Cut(head, []byte("\n"))
	if !ok {
		return st, false, nil
	}
	doc, _, err := parseJournalLine(line)
	if err != nil || json.Unmarshal(doc, &st.header) != nil || st.header.Journal != journalFormat {
		return st, false, nil
	}
	tail := make([]byte, min(st.size, trailerLen))
	if _, err := f.ReadAt(tail, st.size-int64(len(tail))); err != nil {
		return st, false, err
	}
	st.last = tailTx(tail)
	return st, true, nil
}

// lastLineIsWhole tells whether the last line has its checksum: the journal is
// not synced, and what it says alone must not condemn a checkpoint.
func lastLineIsWhole(path string) bool {
	f, err := openRegular(path, os.O_RDONLY)
	if err != nil {
		return false
	}
	defer f.Close()
	line, err := lastLine(f)
	if err != nil {
		return false
	}
	_, _, err = parseJournalLine(line)
	return err == nil
}

// lastLine reads the last line of a file from its end.
func lastLine(f *os.File) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	for n := int64(4 << 10); ; n *= 4 {
		tail := make([]byte, min(n, info.Size(), maxJournalLine))
		if _, err := f.ReadAt(tail, info.Size()-int64(len(tail))); err != nil {
			return nil, err
		}
		if i := bytes.LastIndexByte(bytes.TrimSuffix(tail, []byte("\n")), '\n'); i >= 0 {
			return tail[i+1:], nil
		}
		switch int64(len(tail)) {
		case info.Size():
			return tail, nil
		case maxJournalLine:
			return nil, fmt.Errorf("%w: a journal line is longer than %d bytes", ErrDamaged, maxJournalLine)
		}
	}
}

// tailTx reads the transaction id from a journal's last bytes. JSON with
// base64 in it never ends so, thus a torn line cannot pass for a whole one.
func tailTx(tail []byte) uint64 {
	rest, ok := bytes.CutSuffix(tail, []byte("\n"))
	if !ok {
		return 0
	}
	rest, sum, ok := cutLast(rest)
	if !ok || len(sum) != 8 {
		return 0
	}
	_, id, ok := cutLast(rest)
	if !ok {
		return 0
	}
	tx, err := strconv.ParseUint(string(id), 10, 64)
	if err != nil {
		return 0
	}
	return tx
}

// encode is json.Marshal of e: written out, since the plugin would spend more
// on looking at the types than on the rest. Verbs have no character that JSON
// would escape.
func (e journalEntry) encode() []byte {
	b := append(make([]byte, 0, 1024), `{"verb":"`...)
	b = append(append(b, e.Verb...), '"')
	if e.Keys > 0 {
		b = strconv.AppendInt(append(b, `,"keys":`...), int64(e.Keys), 10)
	}
	b = append(b, `,"changes":[`...)
	for i, c := range e.Changes {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"path":[`...)
		for i, name := range c.Path {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(append(append(b, '"'), journalName(name)...), '"')
		}
		b = append(b, `],"key":"`...)
		b = append(base64.StdEncoding.AppendEncode(b, c.Key), `","value":`...)
		if c.Value == nil {
			b = append(b, "null}"...)
			continue
		}
		b = append(base64.StdEncoding.AppendEncode(append(b, '"'), c.Value), `"}`...)
	}
	return append(b, "]}"...)
}

// appendJournal adds the changes of transaction tx.
func appendJournal(path string, tx uint64, e journalEntry) error {
	return appendLine(path, 0, journalLine(e.encode(), tx))
}

// appendLine adds a line to a file; flag is os.O_CREATE where that may be new.
func appendLine(path string, flag int, line []byte) error {
	f, err := openRegular(path, os.O_WRONLY|os.O_APPEND|flag)
	if err != nil {
		return err
	}
	_, err = f.Write(line)
	return errors.Join(err, f.Close())
}
