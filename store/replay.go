package store

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
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
	// content is the checkpoint as of last. Of a broken journal it also has what
	// later lines say: who was given an address then is who has it, whoever had it
	// before.
	content *content
	// torn: a part of a line follows. It may be that of a transaction whose
	// process was killed before it told its caller.
	torn bool
	// broken is why what follows is not all there was, nil where nothing does.
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
			return r, nil
		}
		r.broken = fmt.Errorf("%s, after transaction %d: %w", path, r.last, err)
		r.later(line, lines)
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

// later applies what can be read behind a gap, from line on, in the order of the
// transactions: a damaged page may hold another part of the same journal.
func (r *replay) later(line []byte, lines *bufio.Reader) {
	type transaction struct {
		id      uint64
		changes []change
	}
	var all []transaction
	for err := error(nil); err == nil; line, err = readLine(lines) {
		var e journalEntry
		doc, tx, lineErr := parseJournalLine(line)
		if lineErr == nil {
			lineErr = json.Unmarshal(doc, &e)
		}
		if lineErr == nil && (tx > r.last || !r.whole && tx == r.last) {
			all = append(all, transaction{tx, e.Changes})
		}
	}
	slices.SortStableFunc(all, func(a, b transaction) int { return cmp.Compare(a.id, b.id) })
	for _, tx := range all {
		for _, c := range tx.changes {
			r.content.apply(c)
		}
	}
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
