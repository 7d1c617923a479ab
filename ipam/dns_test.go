package ipam

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/containernetworking/cni/pkg/types"
)

func TestResolvConfIsReadAsHostLocalReadsIt(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     types.DNS
	}{
		// host-local's dns_test.go.
		{"name servers, indented", "\n\t\tnameserver 192.0.2.0\n\t\tnameserver 192.0.2.1\n\t\t",
			types.DNS{Nameservers: []string{"192.0.2.0", "192.0.2.1"}}},
		{"comments are skipped", "\nnameserver 192.0.2.0\n;nameserver 192.0.2.1\n#nameserver 192.0.2.2\n",
			types.DNS{Nameservers: []string{"192.0.2.0"}}},
		{"all fields", "nameserver 192.0.2.0\nnameserver 192.0.2.2\ndomain example.com\n;nameserver comment\n" +
			"search example.net example.org\nsearch example.gov\noptions one two three\noptions four\n",
			types.DNS{
				Nameservers: []string{"192.0.2.0", "192.0.2.2"},
				Domain:      "example.com",
				Search:      []string{"example.net", "example.org", "example.gov"},
				Options:     []string{"one", "two", "three", "four"},
			}},

		{"an empty file", "", types.DNS{}},
		{"the last domain counts", "domain a.example\ndomain b.example", types.DNS{Domain: "b.example"}},
		{"words without a value and unknown words", "nameserver\nsortlist 10.0.0.0\nNAMESERVER 192.0.2.1\n", types.DNS{}},
		{"a name server has one word", "nameserver 192.0.2.1 # the first\r\n", types.DNS{Nameservers: []string{"192.0.2.1"}}},
		{"a line longer than a scanner takes by itself", "search " + strings.Repeat("a.example ", 10_000),
			types.DNS{Search: strings.Fields(strings.Repeat("a.example ", 10_000))}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "resolv.conf")
			if err := os.WriteFile(path, []byte(tt.in), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := parseResolvConf(path)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("\n got %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func TestResolvConfThatCannotBeReadIsNamed(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	huge := filepath.Join(dir, "huge")
	if err := os.WriteFile(huge, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(huge, maxResolvConf+1); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, path, text string }{
		{"a missing file", filepath.Join(dir, "none"), "no such file"},
		{"a directory", dir, "not a regular file"},
		{"a device without end", "/dev/zero", "not a regular file"},
		{"a FIFO that nobody writes to", fifo, "not a regular file"},
		{"a file that is too large", huge, "file too large"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := parseResolvConf(tt.path)
			wantError(t, err, CodeIO, "ipam.resolvConf", tt.path, tt.text)
		})
	}
}
