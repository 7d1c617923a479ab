package store

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// maxJournalLine bounds one line of a journal in bytes: an import of 100,000
// allocations has some 60 million.
const maxJournalLine = 128 << 20

// replay is a journal, read as far as it is whole.
type replay struct {
	header journalHeader
	// last is the id of the last transaction, all before it included.
	last uint64
	// whole: the snapshot at the beginning has all its keys.
	whole bool
	// content is the checkpoint as of last.
	content *content
	// torn: a part of a line follows. It may be that of a transaction whose
	// process was killed before it told its caller.
	torn bool
	// broken is why what follows cannot be used, nil where nothing does.
	broken error

	keys int // read of the snapshot so far
}

// errNoJournal: there is none, or it has no beginning.
var errNoJournal = errors.New("there is no journal")

// readJournal replays the journal at path. Where not even its beginning is
// whole the error wraps errNoJournal.
func readJournal(path string) (replay, error) {
	var r replay
	f, err := openRegular(path, os.O_RDONLY)
	if err != nil {
		return r, fmt.Errorf("%w: %w", errNoJournal, err)
	}
	defer f.Close()
	lines := bufio.NewReaderSize(f, 64<<10)
	line, err := readLine(lines)
	if err != nil {
		return r, fmt.Errorf("%w: %s: its first line: %w", errNoJournal, path, err)
	}
	doc, tx, err := parseJournalLine(line)
	if err == nil {
		err = json.Unmarshal(doc, &r.header)
	}
	switch {
	case err != nil:
		return r, fmt.Errorf("%w: %s: its first line: %w", errNoJournal, path, err)
	case r.header.Journal != journalFormat:
		return r, fmt.Errorf("%w: %s has format %d, not %d", errNoJournal, path, r.header.Journal, journalFormat)
	}
	r.last, r.content = tx, newContent()
	for {
		line, err := readLine(lines)
		if err == nil {
			err = r.line(line)
		}
		switch {
		case err == nil:
			continue
		case errors.Is(err, io.EOF):
			return r, nil
		}
		if _, more := lines.Peek(1); errors.Is(more, io.EOF) && !errors.Is(err, errGap) {
			r.torn = true
		} else {
			r.broken = fmt.Errorf("%s, after transaction %d: %w", path, r.last, err)
		}
		return r, nil
	}
}

// errGap: lines are missing, or in another order.
var errGap = errors.New("lines are missing")

// line adds one line: of the snapshot, its end, or the next transaction.
func (r *replay) line(line []byte) error {
	doc, tx, err := parseJournalLine(line)
	if err != nil {
		return err
	}
	var e journalEntry
	if err := json.Unmarshal(doc, &e); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	switch {
	case !r.whole && tx == r.last && e.Verb == verbSnapshot:
		r.keys += len(e.Changes)
	case !r.whole && tx == r.last && e.Verb == verbSnapshotEnd && e.Keys == r.keys:
		r.whole = true
	case r.whole && tx == r.last+1:
		r.last = tx
	default:
		return fmt.Errorf("%w: it goes on with transaction %d", errGap, tx)
	}
	for _, c := range e.Changes {
		r.content.apply(c)
	}
	return nil
}

// readLine returns the next line with its newline. The error is io.EOF at the
// end alone.
func readLine(b *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := b.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull) && len(line) <= maxJournalLine:
			continue
		case errors.Is(err, bufio.ErrBufferFull):
			return nil, fmt.Errorf("%w: a line of more than %d bytes", ErrDamaged, maxJournalLine)
		case errors.Is(err, io.EOF) && len(line) > 0:
			return nil, fmt.Errorf("%w: the last line is cut off", ErrDamaged)
		}
		return line, err
	}
}
