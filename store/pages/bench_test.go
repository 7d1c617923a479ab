package pages

import (
	"bytes"
	"fmt"
	"testing"
)

func BenchmarkScan(b *testing.B) {
	for _, n := range []int{250, 1000, 10000} {
		b.Run(fmt.Sprint(n, "-records"), func(b *testing.B) {
			f := newFile(b, 0)
			f.records(n)
			data := f.bytes()
			m, err := ReadMeta(bytes.NewReader(data), int64(len(data)))
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := Scan(data, m, ignore); err != nil {
					b.Fatal(err)
				}
			}
			perScan := float64(b.Elapsed().Microseconds()) / float64(b.N)
			b.ReportMetric(float64(m.HighWater), "pages")
			b.ReportMetric(perScan*100/float64(m.HighWater), "µs/100-pages")
		})
	}
}

func BenchmarkReadMeta(b *testing.B) {
	f := newFile(b, 0)
	f.records(1000)
	size := int64(len(f.bytes()))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ReadMeta(bytes.NewReader(f.bytes()[:0:0]), size); err == nil {
			b.Fatal("nothing was read")
		}
	}
}
