package cli

import (
	"strings"
	"testing"
)

func testTable() *table {
	t := &table{columns: []column{
		{title: "NAME", least: 4},
		{title: "N", right: true},
		{title: "POD", least: 5, cut: cutMiddle},
		{title: "LAST"},
	}}
	t.add(cell{text: "a-long-name"}, cell{text: "7"}, cell{text: "namespace/pod-x2x4q"}, cell{text: "z"})
	t.add(cell{text: "b"}, cell{text: "1234"}, cell{}, cell{style: red})
	return t
}

func TestTableInAPipe(t *testing.T) {
	wantText(t, printed(t, 0, testTable().print), `
NAME            N  POD                  LAST
a-long-name     7  namespace/pod-x2x4q  z
b            1234
`[1:])
}

func TestWidestColumnGivesWay(t *testing.T) {
	wantText(t, printed(t, 34, testTable().print), `
NAME           N  POD         LAST
a-long-na…     7  name…x2x4q  z
b           1234
`[1:])
	wantText(t, printed(t, 30, testTable().print), `
NAME         N  POD       LAST
a-long-…     7  nam…2x4q  z
b         1234
`[1:])
}

func TestGapGivesWayBeforeALineStandsOut(t *testing.T) {
	wantText(t, printed(t, 20, testTable().print), `
NAME    N POD   LAST
a-l…    7 na…4q z
b    1234
`[1:])
	if got := printed(t, 10, testTable().print); !strings.HasPrefix(got, "NAME    N POD   LAST\n") {
		t.Errorf("got\n%s", got)
	}
}

func TestColourIsOutsideOfTheWidth(t *testing.T) {
	var b strings.Builder
	tab := &table{columns: []column{{title: "A"}, {title: "B"}}}
	tab.add(cell{"x", red}, cell{"y", plain})
	tab.add(cell{"long", plain}, cell{"z", plain})
	if err := tab.print(screen{Writer: &b, width: 80, colour: true}); err != nil {
		t.Fatal(err)
	}
	wantText(t, b.String(), "\x1b[1mA\x1b[0m     \x1b[1mB\x1b[0m\n\x1b[31mx\x1b[0m     y\nlong  z\n")
}
