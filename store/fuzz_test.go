package store

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bolt-local/bolt-local/store/record"
)

// FuzzFormat: a format is refused, or read and written again without loss.
func FuzzFormat(f *testing.F) {
	f.Add([]byte(`{"schema":1,"oldestWriter":1,"writer":"0.1.0","created":"2026-11-29T12:00:00Z","id":"x"}`))
	f.Add([]byte(`{"schema":2,"oldestWriter":1,"writer":"","created":"2026-11-29T12:00:00Z","id":"x","later":{"a":[null]}}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, b []byte) {
		format, err := parseFormat(b)
		if err != nil {
			return
		}
		again, err := format.encode()
		if err != nil {
			t.Fatalf("read, but not written: %v", err)
		}
		twice, err := parseFormat(again)
		if err != nil {
			t.Fatalf("written, but not read: %v\n%s", err, again)
		}
		format.raw, twice.raw = nil, nil
		if diff := cmp.Diff(format, twice, cmp.AllowUnexported(Format{})); diff != "" {
			t.Fatalf("not the same after a rewrite:\n%s", diff)
		}
	})
}

// FuzzWitness: what is taken for a witness is written in the same bytes.
func FuzzWitness(f *testing.F) {
	f.Add(witness{BootID: "boot-001", Checkpoint: "x", Tx: 7}.encode())
	f.Add(witness{Checkpoint: "x"}.encode())
	f.Add([]byte("bolt-local 1 a b 3 00000000\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		w, ok := parseWitness(b)
		if !ok {
			return
		}
		if again, ok := parseWitness(w.encode()); !ok || again != w {
			t.Fatalf("%+v reads back as %+v, %v", w, again, ok)
		}
	})
}

// FuzzJournalLine: what passes for a line is that line, to the byte, and its
// end alone tells the same transaction.
func FuzzJournalLine(f *testing.F) {
	f.Add(journalLine([]byte(`{"verb":"ADD","changes":[]}`), 12))
	f.Add([]byte("{} 1 00000000\n"))
	f.Fuzz(func(t *testing.T, line []byte) {
		tail := tailTx(line)
		doc, tx, err := parseJournalLine(line)
		if err != nil || !bytes.HasSuffix(line, []byte("\n")) {
			return
		}
		if tail != tx {
			t.Fatalf("the line says transaction %d, its end %d", tx, tail)
		}
		// A number may be written with zeros in front; otherwise all is the same.
		if again := journalLine(bytes.Clone(doc), tx); !bytes.Equal(again, line) && !bytes.Contains(line, []byte(" 0")) && !bytes.Contains(line, []byte(" +")) {
			t.Fatalf("%q is written as %q", line, again)
		}
	})
}

// FuzzAttachmentKey: a key is refused, or is the key of what it is read as.
func FuzzAttachmentKey(f *testing.F) {
	f.Add(attachmentKey(record.Attachment{ContainerID: "a", IfName: "eth0"}, ip("10.0.0.2")))
	f.Add(attachmentKey(record.Attachment{ContainerID: "a"}, ip("fd00::2")))
	f.Add([]byte{0, 0})
	f.Fuzz(func(t *testing.T, key []byte) {
		att, addr, err := parseAttachmentKey(key)
		if err != nil {
			return
		}
		if again := attachmentKey(att, addr); !bytes.Equal(again, key) {
			t.Fatalf("%q is read as %+v, %s", key, att, addr)
		}
	})
}
