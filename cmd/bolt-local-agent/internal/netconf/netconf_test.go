package netconf

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bolt-local/bolt-local/ipam"
)

// found is a configuration in short.
type found struct {
	network, dataDir, ranges string
	chained                  bool
}

func TestWhichNetworksAreOurs(t *testing.T) {
	const ours = `"ipam":{"type":"bolt-local","subnet":"10.1.0.0/30"`
	for name, c := range map[string]struct {
		files map[string]string
		want  []found
		err   string
	}{
		"a list": {files: map[string]string{
			"10-podnet.conflist": `{"cniVersion":"1.0.0","name":"podnet","plugins":[{"type":"bridge",` + ours + `}},{"type":"portmap"}]}`},
			want: []found{{"podnet", ipam.DefaultDataDir, "10.1.0.1-10.1.0.2", false}}},
		"a single configuration": {files: map[string]string{
			"10-podnet.conf": `{"cniVersion":"0.4.0","name":"podnet","type":"ptp",` + ours + `,"dataDir":"/data"}}`},
			want: []found{{"podnet", "/data", "10.1.0.1-10.1.0.2", false}}},
		"the chained role beside": {files: map[string]string{
			"10-podnet.conflist": `{"cniVersion":"1.1.0","name":"podnet","plugins":[{"type":"bridge",` + ours + `}},{"type":"bolt-local"}]}`},
			want: []found{{"podnet", ipam.DefaultDataDir, "10.1.0.1-10.1.0.2", false}, {"podnet", ipam.DefaultDataDir, "", true}}},
		"multus' delegates": {files: map[string]string{
			"00-multus.conf": `{"cniVersion":"0.3.1","name":"multus","type":"multus","delegates":[{"cniVersion":"1.0.0","name":"podnet","plugins":[{"type":"bridge",` + ours + `}}]}]}`},
			want: []found{{"podnet", ipam.DefaultDataDir, "10.1.0.1-10.1.0.2", false}}},
		"a list's plugins in the directory of its network": {files: map[string]string{
			"10-podnet.conflist": `{"cniVersion":"1.0.0","name":"podnet"}`,
			"podnet/10-ptp.conf": `{"type":"ptp",` + ours + `}}`,
			"podnet/README":      `{`},
			want: []found{{"podnet", ipam.DefaultDataDir, "10.1.0.1-10.1.0.2", false}}},
		"the chained role there, beside what the list has": {files: map[string]string{
			"10-podnet.conflist": `{"cniVersion":"1.1.0","name":"podnet","loadOnlyInlinedPlugins":"False","plugins":[{"type":"bridge",` + ours + `}}]}`,
			"podnet/90-own.conf": `{"type":"bolt-local"}`},
			want: []found{{"podnet", ipam.DefaultDataDir, "10.1.0.1-10.1.0.2", false}, {"podnet", ipam.DefaultDataDir, "", true}}},
		"a list that has none there": {files: map[string]string{
			"10-podnet.conflist": `{"cniVersion":"1.0.0","name":"podnet","loadOnlyInlinedPlugins":true,"plugins":[{"type":"portmap"}]}`,
			"podnet/10-ptp.conf": `{`}},
		"a single configuration, which has none there": {files: map[string]string{
			"10-podnet.conf":     `{"cniVersion":"1.0.0","name":"podnet","type":"ptp"}`,
			"podnet/10-ptp.conf": `{`}},
		"one there that cannot be read": {files: map[string]string{
			"10-podnet.conflist": `{"cniVersion":"1.0.0","name":"podnet","plugins":[{"type":"bridge",` + ours + `}}]}`,
			"podnet/10-ptp.conf": `{`},
			want: []found{{"podnet", ipam.DefaultDataDir, "10.1.0.1-10.1.0.2", false}}, err: "podnet/10-ptp.conf: unexpected end"},
		"a file in the place of the directory": {files: map[string]string{
			"10-podnet.conflist": `{"cniVersion":"1.0.0","name":"podnet","plugins":[{"type":"portmap"}]}`,
			"podnet":             ""}, err: "10-podnet.conflist is left out: its plugins"},
		"neither true nor false": {files: map[string]string{
			"10-podnet.conflist": `{"cniVersion":"1.0.0","name":"podnet","loadOnlyInlinedPlugins":7}`}, err: "loadOnlyInlinedPlugins is 7"},
		"a name that leads elsewhere": {files: map[string]string{
			"10-podnet.conflist": `{"cniVersion":"1.0.0","name":"a/../podnet","plugins":[{"type":"portmap"}]}`,
			"podnet/10-ptp.conf": `{`}},
		"ranges that the runtime brings": {files: map[string]string{
			"10-podnet.conf": `{"cniVersion":"0.4.0","name":"podnet","type":"ptp","capabilities":{"ipRanges":true},"ipam":{"type":"bolt-local"}}`},
			want: []found{{"podnet", ipam.DefaultDataDir, "", false}}},
		"ranges that flannel brings": {files: map[string]string{
			"10-flannel.conflist": `{"cniVersion":"1.0.0","name":"cbr0","plugins":[{"type":"flannel","ipam":{"type":"bolt-local","dataDir":"/data"},"delegate":{"isDefaultGateway":true}},{"type":"portmap","capabilities":{"portMappings":true}}]}`},
			want: []found{{"cbr0", "/data", "", false}}},
		"flannel without a name": {files: map[string]string{
			"10-a.conf": `{"type":"flannel","ipam":{"type":"bolt-local"}}`}, err: "name is missing"},
		"two files of one network": {files: map[string]string{
			"10-a.conf": `{"cniVersion":"0.4.0","name":"podnet","type":"ptp",` + ours + `}}`,
			"20-b.conf": `{"cniVersion":"0.4.0","name":"podnet","type":"ptp","ipam":{"type":"bolt-local","subnet":"10.2.0.0/30"}}`},
			want: []found{{"podnet", ipam.DefaultDataDir, "10.1.0.1-10.1.0.2 10.2.0.1-10.2.0.2", false}}},
		"two that contradict": {files: map[string]string{
			"10-a.conf": `{"cniVersion":"0.4.0","name":"podnet","type":"ptp",` + ours + `}}`,
			"20-b.conf": `{"cniVersion":"0.4.0","name":"podnet","type":"ptp",` + ours + `,"dataDir":"/data"}}`},
			want: []found{{"podnet", ipam.DefaultDataDir, "10.1.0.1-10.1.0.2", false}}, err: "20-b.conf is left out: network podnet has ipam.dataDir /data there"},
		"one without a name, whose ranges the runtime brings": {files: map[string]string{
			"10-a.conf": `{"type":"bridge","capabilities":{"ipRanges":true},"ipam":{"type":"bolt-local"}}`}, err: "name is missing"},
		"another plugin's":     {files: map[string]string{"10-a.conf": `{"cniVersion":"0.4.0","name":"podnet","type":"ptp","ipam":{"type":"host-local","subnet":"10.1.0.0/30"}}`}},
		"a file that is none":  {files: map[string]string{"README": "{", "10-a.conf.bak": "{"}},
		"one that is no JSON":  {files: map[string]string{"10-a.conf": "{"}, err: "10-a.conf is left out"},
		"one that is a list":   {files: map[string]string{"10-a.conf": `{"plugins":[7]}`}, err: "10-a.conf is left out"},
		"ranges that are none": {files: map[string]string{"10-a.conf": `{"name":"podnet","type":"ptp","ipam":{"type":"bolt-local","subnet":"x"}}`}, err: "ipam.subnet"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range c.files {
				path := filepath.Join(dir, file)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			configs, errs := Load(dir)
			var got []found
			for _, c := range configs {
				f := found{network: c.Network, dataDir: c.DataDir, chained: c.Role == ipam.Chained}
				var sets []string
				for _, set := range c.RangeSets {
					sets = append(sets, set.String())
				}
				f.ranges = strings.Join(sets, " ")
				got = append(got, f)
			}
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(found{})); diff != "" {
				t.Errorf("configurations differ (-want +got):\n%s", diff)
			}
			switch {
			case c.err == "" && len(errs) > 0:
				t.Errorf("errors: %v", errs)
			case c.err != "" && (len(errs) != 1 || !strings.Contains(errs[0].Error(), c.err)):
				t.Errorf("errors %v, want one with %q", errs, c.err)
			}
		})
	}
}

func TestADirectoryThatIsNoneIsTold(t *testing.T) {
	if configs, errs := Load(filepath.Join(t.TempDir(), "missing")); len(configs) > 0 || len(errs) != 1 {
		t.Errorf("missing: %v, %v", configs, errs)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, errs := Load(file); len(errs) != 1 {
		t.Errorf("a file instead: %v", errs)
	}
}
