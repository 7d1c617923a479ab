package ipam

import (
	"slices"
	"testing"
)

func TestOneEditApart(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"datadir", "datadir", false},
		{"", "", false},
		{"", "a", true},
		{"datadr", "datadir", true},
		{"datadirr", "datadir", true},
		{"xdatadir", "datadir", true},
		{"datadix", "datadir", true},
		{"datadri", "datadir", true},
		{"adtadir", "datadir", true},
		{"dtaadir", "datadir", true},
		{"datdari", "datadir", false},
		{"dirdata", "datadir", false},
		{"dat", "datadir", false},
		{"ab", "cd", false},
		{"ab", "ba", true},
		{"abc", "cba", false},
		{"gätway", "gateway", false},
		{"gatewäy", "gateway", true},
	} {
		if got := oneEditApart([]rune(tt.a), []rune(tt.b)); got != tt.want {
			t.Errorf("%q and %q: got %v", tt.a, tt.b, got)
		}
		if got := oneEditApart([]rune(tt.b), []rune(tt.a)); got != tt.want {
			t.Errorf("%q and %q: got %v", tt.b, tt.a, got)
		}
	}
}

func TestAMisspeltFieldIsNamedInAWarning(t *testing.T) {
	in := delegate(`"dataDri":"/x","RANGE":[],"typ":"x","foo":1,"lock\u001bTimeout":"1s",
		"migration":{"phaze":"switch"},"routes":[{"dst":"0.0.0.0/0","gww":"10.0.0.1"}],
		"ranges":[[{"subnet":"10.0.0.0/24","gatway":"10.0.0.9"}]]`,
		`"ipmasq":true,"ipa":{},"runtimeConfig":{"ip":"x"}`)
	want := []string{
		"ipam.RANGE is unknown; did you mean ranges?",
		"ipam.dataDri is unknown; did you mean dataDir?",
		`ipam.lock\x1bTimeout is unknown; did you mean lockTimeout?`,
		"ipam.typ is unknown; did you mean type?",
		"ipam.migration.phaze is unknown; did you mean phase?",
		"ipam.routes[0].gww is unknown; did you mean gw?",
		"ipam.ranges[0][0].gatway is unknown; did you mean gateway?",
	}
	cfg, err := ParseConfig(in, "")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(cfg.Warnings, want) {
		t.Errorf("got\n%q\nwant\n%q", cfg.Warnings, want)
	}
}
