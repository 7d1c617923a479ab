package cnicache

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bolt-local/bolt-local/store/record"
)

// files are a directory's: name to content.
type files map[string]string

// write makes a directory of them.
func (f files) write(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range f {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Results, as plugins print them.
const (
	bridge110 = `{"cniVersion":"1.1.0","dns":{},` +
		`"interfaces":[{"mac":"02:00:00:00:00:01","name":"cni0"},{"name":"veth1"},{"name":"eth0","sandbox":"/ns/result"}],` +
		`"ips":[{"address":"10.22.0.5/16","gateway":"10.22.0.1","interface":2},{"address":"fd00:22::5/64","interface":2}],` +
		`"routes":[{"dst":"0.0.0.0/0"}]}`
	bridge031 = `{"cniVersion":"0.3.1","dns":{},"interfaces":[{"name":"cni0"},{"name":"eth0","sandbox":"/ns/result"}],` +
		`"ips":[{"version":"4","interface":1,"address":"10.22.0.5/16","gateway":"10.22.0.1"}]}`
	old020   = `{"cniVersion":"0.2.0","ip4":{"ip":"10.22.0.5/16","gateway":"10.22.0.1","routes":[{"dst":"0.0.0.0/0"}]},"ip6":{"ip":"fd00:22::5/64"},"dns":{}}`
	noFields = `{"cniVersion":"0.3.1","dns":{}}`
)

// bareOf is a bare result with one address and interfaces in a sandbox.
func bareOf(addr string, ifNames ...string) string {
	var list []string
	for _, name := range ifNames {
		list = append(list, fmt.Sprintf(`{"name":%q,"sandbox":"/ns/%s"}`, name, name))
	}
	return fmt.Sprintf(`{"cniVersion":"1.0.0","interfaces":[%s],"ips":[{"address":%q}]}`, strings.Join(list, ","), addr)
}

// v1 is a cniCacheV1; more are members that begin with a comma.
func v1(network, id, ifName, result, more string) string {
	return fmt.Sprintf(`{"kind":"cniCacheV1","containerId":%q,"config":"eyJj","ifName":%q,"networkName":%q,`+
		`"capabilityArgs":{"portMappings":[]},"result":%s%s}`, id, ifName, network, result, more)
}

func key(id, ifName string) record.Attachment {
	return record.Attachment{ContainerID: id, IfName: ifName}
}

func addrs(list ...string) []netip.Addr {
	var parsed []netip.Addr
	for _, a := range list {
		parsed = append(parsed, netip.MustParseAddr(a))
	}
	return parsed
}

// diff compares entries; want comes first.
func diff[T any](want, got T) string {
	return cmp.Diff(want, got, cmpopts.EquateEmpty(), cmp.Comparer(func(a, b netip.Addr) bool { return a == b }))
}

// wantErrors fails unless there is one error for each of want, in order, that
// has it in its text.
func wantErrors(t *testing.T, got []error, want ...string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d errors, want %d: %v", len(got), len(want), got)
	}
	for i, err := range got {
		if !strings.Contains(err.Error(), want[i]) {
			t.Errorf("error %d is %q, want %q in it", i, err, want[i])
		}
	}
}
