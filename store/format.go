package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// Schema is the one that this version reads and writes.
const Schema = 1

// Format says who may write a checkpoint.
type Format struct {
	// Schema is the newest schema in the file.
	Schema int `json:"schema"`
	// OldestWriter is the oldest schema whose binaries may write here.
	OldestWriter int `json:"oldestWriter"`
	// Writer is the version of the binary that wrote last.
	Writer string `json:"writer"`
	// Created is the wall clock when the file was made.
	Created time.Time `json:"created"`
	// ID is random and tells this checkpoint from any other.
	ID string `json:"id"`
	// Replaces is the id of the checkpoint that this one took the place of, "" for
	// none. Until the first commit, and after a power cut, lock and journal may
	// name that.
	Replaces string `json:"replaces,omitempty"`

	// raw is what was read, with the fields of newer versions.
	raw []byte
}

func parseFormat(b []byte) (Format, error) {
	var f Format
	if b == nil {
		return f, fmt.Errorf("%w: meta/format is missing", ErrFormat)
	}
	if err := json.Unmarshal(b, &f); err != nil {
		return f, fmt.Errorf("%w: meta/format: %w", ErrFormat, err)
	}
	if f.Schema < 1 || f.OldestWriter < 1 || f.OldestWriter > f.Schema || f.ID == "" {
		return f, fmt.Errorf("%w: meta/format is not complete: %.200q", ErrFormat, b)
	}
	f.raw = bytes.Clone(b) // b is a part of the mapping
	return f, nil
}

// mayWrite is the open rule: a refusal must leave every byte as it was.
func (f Format) mayWrite() error {
	if f.OldestWriter > Schema {
		return fmt.Errorf("%w: it has schema %d, written by version %s, and may be written by schema %d or newer; "+
			"this version knows schema %d: install version %s or a newer one",
			ErrFormat, f.Schema, f.Writer, f.OldestWriter, Schema, f.Writer)
	}
	return nil
}

// encode keeps the fields that it does not know.
func (f Format) encode() ([]byte, error) {
	known, err := json.Marshal(f)
	if err != nil || f.raw == nil {
		return known, err
	}
	var merged map[string]json.RawMessage
	if err := json.Unmarshal(f.raw, &merged); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(known, &merged); err != nil {
		return nil, err
	}
	return json.Marshal(merged)
}
