package cli

import (
	"encoding/json"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/bolt-local/bolt-local/cmd/internal/nodestatus/nodestatustest"
)

func TestYAML(t *testing.T) {
	snap := nodestatustest.Snapshot()
	snap.Networks = append(snap.Networks[:1], snap.Networks[2])
	snap.Networks[0].Allocations = snap.Networks[0].Allocations[3:4]
	got := printed(t, 0, func(s screen) error { return printYAML(s, newDump(snap, nodestatustest.Plugin())) })
	wantText(t, got, `
schema: 1
networks:
  - name: podnet
    phase: switch
    allocations:
      - ip: "10.1.0.5"
        network: podnet
        containerID: imported
        ifname: ""
        state: active
        origin: host-local
        unknown:
          - ifname
  - name: young
    allocations: []
`[1:])
}

func TestYAMLSaysWhatTheJSONSays(t *testing.T) {
	texts := []string{
		"", "plain", "a b", "1", "1e5", "0x1f", "12e03", "1_000", "0o7", "1:30", ".5", "~", "null", "Null", "TRUE", "yes", "No", "on", "y", "N",
		"10.1.0.2", "fd00::2", "2026-11-29", "2026-11-29T12:00:00Z", "- a", "a: b", "a #b", "#a", "&a", "*a", "!a", "|", ">", "%a", "@a", "`a`",
		"'a'", `"a"`, `a\b`, "a\nb", "a\tb", "\x1b[2J", "\u0085", "\u2028", "\ufeff", "\x7f", "é", "😀", " a", "a ", "<<", "=", "[a]", "{a: b}", ".inf", "NaN",
		"k8s.io-3f1c", "/var/run/netns/x", "a.b", "e1", "kube-system/web_0",
	}
	docs := []any{map[string]any{}, []any{}, "text", 1.5, true, nil, []any{[]any{[]any{"a"}}, map[string]any{}, nil, map[string]any{"a": map[string]any{"b": []any{map[string]any{"c": 1}, 2}}}}}
	for _, text := range texts {
		docs = append(docs, map[string]any{"key": text, text: []string{text}})
	}
	for _, doc := range docs {
		want, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		text := printed(t, 0, func(s screen) error { return printYAML(s, doc) })
		got, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Errorf("%s became YAML that cannot be read: %v\n%s", want, err, text)
			continue
		}
		if !sameJSON(t, got, want) {
			t.Errorf("%s became\n%swhich is %s", want, text, got)
		}
	}
}

// sameJSON compares two documents, whatever the order of their fields.
func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	canonical := func(doc []byte) string {
		var v any
		if err := json.Unmarshal(doc, &v); err != nil {
			t.Fatal(err)
		}
		out, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	return canonical(a) == canonical(b)
}
