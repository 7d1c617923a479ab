package store

import (
	"encoding/json"
	"slices"
	"testing"
)

func TestAnyBucketNameFitsIntoTheJournal(t *testing.T) {
	for name, want := range map[string]string{
		"networks":     "networks",
		"a b<&>":       "a b<&>",
		`q"uote`:       "base64:cSJ1b3Rl",
		`back\slash`:   "base64:YmFja1xzbGFzaA==",
		"new\nline":    "base64:bmV3CmxpbmU=",
		"\xff\x00":     "base64:/wA=",
		"base64:plain": "base64:YmFzZTY0OnBsYWlu",
		"":             "",
	} {
		entry := journalEntry{Verb: "ADD", Changes: []change{{Path: bucketPath{"networks", name}, Key: []byte("k"), Value: []byte("v")}}}
		line := journalLine(entry.encode(), 7)
		doc, _, err := parseJournalLine(line)
		if err != nil {
			t.Fatal(err)
		}
		var got journalEntry
		if err := json.Unmarshal(doc, &got); err != nil {
			t.Errorf("%q: %v in %s", name, err, doc)
			continue
		}
		if path := got.Changes[0].Path; !slices.Equal(path, bucketPath{"networks", name}) {
			t.Errorf("%q was read back as %q", name, path)
		}
		if got := journalName(name); got != want {
			t.Errorf("%q stands as %q, want %q", name, got, want)
		}
		byReflection, err := json.Marshal(entry)
		if err != nil {
			t.Fatal(err)
		}
		var again journalEntry
		if err := json.Unmarshal(byReflection, &again); err != nil || !slices.Equal(again.Changes[0].Path, bucketPath{"networks", name}) {
			t.Errorf("%q by encoding/json: %v, %q", name, err, again.Changes[0].Path)
		}
	}
}
