package hostlocal

import (
	"fmt"
	"os"
	"testing"
)

// BenchmarkLook is what each call costs on a directory of 10,000 reservations.
func BenchmarkLook(b *testing.B) {
	d := newDir(b, files{lockName: ""})
	addr := ip("10.0.0.0")
	for i := range 10_000 {
		addr = addr.Next()
		must(b, os.WriteFile(d.file(addr.String()), fmt.Appendf(nil, "%064x\r\neth0", i), 0o600))
	}
	for b.Loop() {
		if c := look(b, d); len(c.Entries) != 10_000 || c.Stamp() == "" {
			b.Fatalf("%d entries", len(c.Entries))
		}
	}
}
