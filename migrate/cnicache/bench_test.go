package cnicache

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkNetwork reads the caches of 10,000 pods, as containerd leaves them.
func BenchmarkNetwork(b *testing.B) {
	const pods = 10_000
	f := files{}
	for i := range pods {
		id := fmt.Sprintf("%064x", i)
		content := v1("podnet", id, "eth0", bridge110, fmt.Sprintf(`,"netns":"/var/run/netns/cni-%d","cniArgs":[["IgnoreUnknown","1"],`+
			`["K8S_POD_NAMESPACE","default"],["K8S_POD_NAME","web-%d"],["K8S_POD_INFRA_CONTAINER_ID",%q],["K8S_POD_UID","u-%d"]]`, i, i, id, i))
		f["podnet-"+id+"-eth0"] = strings.Replace(content, "eyJj", strings.Repeat("eyJj", 200), 1)
	}
	cache := Cache{Dirs: []string{f.write(b)}}
	for b.Loop() {
		if entries, errs := cache.Network("podnet"); len(entries) != pods || len(errs) > 0 {
			b.Fatalf("%d entries, errors %v", len(entries), errs)
		}
	}
}
