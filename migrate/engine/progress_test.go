package engine

import (
	"encoding/json"
	"errors"
	"net/netip"
	"reflect"
	"testing"

	"github.com/bolt-local/bolt-local/migrate/form"
)

// full has a value in every field.
var full = Progress{
	Phase: Switch, Pending: Contract, Target: Contract, Waits: "for a reason", OldPath: "/var/lib/cni/networks/podnet",
	Place: "12/13:14", Stamp: "0f", Epoch: 3,
	SetAside: []form.Aside{{Addr: netip.MustParseAddr("10.0.0.9"), Mark: "5:6", Fixed: true, Epoch: 2}},
}

// The names are on disk, and every later version reads them.
const fullDoc = `{"phase":"switch","pending":"contract","target":"contract","waits":"for a reason",` +
	`"oldPath":"/var/lib/cni/networks/podnet","place":"12/13:14","stamp":"0f","epoch":3,` +
	`"setAside":[{"ip":"10.0.0.9","mark":"5:6","fixed":true,"epoch":2}]}`

func TestProgressIsStoredUnderTheseNames(t *testing.T) {
	doc, err := full.encode()
	if err != nil {
		t.Fatal(err)
	}
	if string(doc) != fullDoc {
		t.Errorf("encoded:\n got %s\nwant %s", doc, fullDoc)
	}
	got, err := decodeProgress(doc)
	if err != nil {
		t.Fatal(err)
	}
	if !got.same(full) {
		t.Errorf("decoded: %+v", got)
	}
}

func TestEmptyFieldsOfProgressAreNotStored(t *testing.T) {
	doc, err := Progress{Phase: Legacy, OldPath: "/x"}.encode()
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"phase":"legacy","oldPath":"/x"}`; string(doc) != want {
		t.Errorf("got %s, want %s", doc, want)
	}
}

func TestProgressKeepsTheFieldsOfNewerVersions(t *testing.T) {
	p, err := decodeProgress([]byte(`{"later":{"b":1,"a":[2.50,1e3,12345678901234567890,null]},"phase":"expand","pending":"switch","oldPath":"/x","zone":"<&>"}`))
	if err != nil {
		t.Fatal(err)
	}
	p.Phase, p.Pending = Switch, ""
	doc, err := p.encode()
	if err != nil {
		t.Fatal(err)
	}
	var got, want any
	if err := json.Unmarshal(doc, &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(`{"later":{"b":1,"a":[2.50,1e3,12345678901234567890,null]},"phase":"switch","oldPath":"/x","zone":"<&>"}`), &want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %s", doc)
	}
}

func TestProgressThatIsNotUnderstoodIsRefused(t *testing.T) {
	for doc, want := range map[string]error{
		``:                                nil,
		`[]`:                              nil,
		`{"phase":"expand","setAside":1}`: nil,
		`{"phase":"expand","setAside":[{"ip":"x"}]}`: nil,
		`{}`:                                    ErrPhase,
		`null`:                                  ErrPhase,
		`{"phase":""}`:                          ErrPhase,
		`{"phase":"Switch"}`:                    ErrPhase,
		`{"phase":"reverse"}`:                   ErrPhase,
		`{"phase":1}`:                           ErrPhase,
		`{"phase":"switch","pending":"rewind"}`: ErrPhase,
		`{"phase":"switch","pending":{"to":1}}`: ErrPhase,
		`{"phase":"switch","pending":["contract"]}`: ErrPhase,
	} {
		p, err := decodeProgress([]byte(doc))
		if err == nil || (want != nil && !errors.Is(err, want)) {
			t.Errorf("%s was read as %+v, %v", doc, p, err)
		}
	}
}

// FuzzProgress asks that what is read is written so that it is read as the same
// again, with all fields that are not known.
func FuzzProgress(f *testing.F) {
	for _, doc := range []string{
		fullDoc,
		`{"phase":"legacy","oldPath":"/x"}`,
		`{"phase":"contract","Phase":"switch","PENDING":"contract","pha\u017fe":"legacy"}`,
		`{"phase":"expand","later":{"a":[1,2.5,null,"\u2028"]},"":0,"epoch":18446744073709551615}`,
		`{"phase":"expand","epoch":-1,"setAside":[]}`,
		`{"phase":"reverse"}`,
		`{"phase":"switch","setAside":[{"ip":"fe80::1%eth0","mark":"x"}]}`,
		`null`,
	} {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		p, err := decodeProgress(doc)
		if err != nil {
			return
		}
		again, err := p.encode()
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		q, err := decodeProgress(again)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, again)
		}
		if !p.same(q) || len(p.extra) != len(q.extra) || (len(p.extra) > 0 && !reflect.DeepEqual(p.extra, q.extra)) {
			t.Errorf("it was read as\n%+v, then as\n%+v\nfrom %s", p, q, again)
		}
		p.Phase, p.Pending = Contract, ""
		doc, err = p.encode()
		if err != nil {
			t.Fatal(err)
		}
		if q, err = decodeProgress(doc); err != nil || !p.same(q) {
			t.Errorf("after a step it was read as %+v, %v", q, err)
		}
	})
}
