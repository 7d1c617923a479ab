package store

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
)

// bucketPath leads to a bucket. In the journal each name is a JSON string as it
// is, or, where it has a character that JSON would escape or cannot have,
// "base64:" and its bytes: another program's buckets may have any name.
type bucketPath []string

const encodedName = "base64:"

// journalName is how a name stands between the quotes.
func journalName(name string) string {
	plain := !strings.HasPrefix(name, encodedName)
	for i := 0; i < len(name) && plain; i++ {
		c := name[i]
		plain = c >= ' ' && c < 0x7f && c != '"' && c != '\\'
	}
	if plain {
		return name
	}
	return encodedName + base64.StdEncoding.EncodeToString([]byte(name))
}

// MarshalJSON implements [json.Marshaler].
func (p bucketPath) MarshalJSON() ([]byte, error) {
	names := make([]string, len(p))
	for i, name := range p {
		names[i] = journalName(name)
	}
	return json.Marshal(names)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (p *bucketPath) UnmarshalJSON(doc []byte) error {
	var names []string
	if err := json.Unmarshal(doc, &names); err != nil {
		return err
	}
	for i, name := range names {
		encoded, ok := strings.CutPrefix(name, encodedName)
		if !ok {
			continue
		}
		b, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			return fmt.Errorf("the bucket name %q: %w", name, err)
		}
		names[i] = string(b)
	}
	*p = names
	return nil
}
