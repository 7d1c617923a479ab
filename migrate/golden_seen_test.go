package migrate

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bolt-local/bolt-local/store"
)

// namesSeen are lines of namesOnDisk.
type namesSeen map[string]bool

func (s namesSeen) sorted() []string { return slices.Sorted(maps.Keys(s)) }

func (s namesSeen) addTree(t *testing.T, dir string) {
	t.Helper()
	walkTree(t, dir, func(path string, e fs.DirEntry) error {
		info, err := e.Info()
		if err == nil && path != "." {
			s["file "+generalPath(path)+" "+info.Mode().String()] = true
		}
		return err
	})
	for path, value := range readCheckpoint(t, dir).keys {
		s["key "+generalKey(path)] = true
		if what, doc := documentAt(path, value); doc != nil {
			s.addJSON(what+" ", doc)
		}
	}
	journal, err := os.ReadFile(filepath.Join(dir, "data", store.JournalFile))
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(strings.TrimSuffix(string(journal), "\n"), "\n") {
		var doc map[string]any
		if err := json.NewDecoder(strings.NewReader(line)).Decode(&doc); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if i == 0 {
			s.addJSON("journal's first line ", doc)
			continue
		}
		s.addJSON("journal's line ", doc)
		s[fmt.Sprint("journal's verb ", doc["verb"])] = true
	}
}

// addJSON adds the names in a document, those of lists with "[]".
func (s namesSeen) addJSON(path string, doc any) {
	switch v := doc.(type) {
	case map[string]any:
		for name, value := range v {
			s.addJSON(path+"."+name, value)
		}
	case []any:
		for _, value := range v {
			s.addJSON(path+"[]", value)
		}
	default:
		s[path] = true
	}
}

// generalPath is the path of a file without what differs from case to case.
func generalPath(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		part, set, isLast := strings.Cut(strings.Replace(part, goldenNetwork, "<network>", 1), "last_reserved_ip.")
		if _, err := netip.ParseAddr(part); err == nil {
			part = "<address>"
		}
		if isLast && (set == "0" || set == "1") {
			part = "last_reserved_ip.<set>"
		}
		parts[i] = part
	}
	return strings.Join(parts, "/")
}

// generalKey is the path of a key without what differs from case to case.
func generalKey(path string) string {
	parts := strings.SplitN(path, "/", 4)
	key := parts[len(parts)-1]
	bucket := strings.Join(parts[:len(parts)-1], "/")
	switch bucket {
	case "meta/epochs":
		return bucket + "/<boot>"
	case "meta/unnumbered":
		return bucket + "/" + strings.Replace(key[:len(key)-16], goldenNetwork, "<network>", 1) + "<address>"
	}
	bucket = strings.Replace(bucket, goldenNetwork, "<network>", 1)
	switch bucket {
	case "networks/<network>/allocations":
		key = key[:len(key)-16] + "<address>"
	case "networks/<network>/attachments":
		key = "<id>\x00<ifname>\x00" + strings.Repeat("?", max(0, strings.Count(key[:len(key)-16], "\x00")-2)) + "<address>"
	case "networks/<network>/cursors":
		key = "<range set>"
	}
	return bucket + "/" + key
}

// documentAt returns the JSON in the value of a key, and what it is.
func documentAt(path, value string) (what string, doc any) {
	skip := 0
	switch {
	case path == "meta/format":
		what = "format"
	case strings.HasSuffix(path, "/migration"):
		what, skip = "migration", 4 // a checksum
	case strings.HasSuffix(path, "/ranges"):
		what, skip = "ranges", 4
	case strings.Contains(path, "/allocations/"):
		what, skip = "allocation", 12 // the epoch's number and a checksum
	default:
		return "", nil
	}
	if err := json.Unmarshal([]byte(value[skip:]), &doc); err != nil {
		return what, nil
	}
	return what, doc
}
