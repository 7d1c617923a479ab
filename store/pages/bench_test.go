package pages

import (
	"bytes"
	"fmt"
	"os"
	"testing"
)

// benchFile is a file with n records.
func benchFile(b *testing.B, n int) (f *dbFile, data []byte, m Meta) {
	f = newFile(b, 0)
	f.records(n)
	data = f.bytes()
	m, err := ReadMeta(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	return f, data, m
}

func BenchmarkScan(b *testing.B) {
	for _, n := range []int{250, 1000, 10000} {
		b.Run(fmt.Sprint(n, "-records"), func(b *testing.B) {
			_, data, m := benchFile(b, n)
			for b.Loop() {
				if err := Scan(data, m, ignore); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(m.HighWater), "pages")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/10/float64(b.N)/float64(m.HighWater), "µs/100-pages")
		})
	}
}

func BenchmarkDescend(b *testing.B) {
	_, data, m := benchFile(b, 10000)
	path := [][]byte{[]byte("networks"), []byte("podnet"), []byte("allocations")}
	for b.Loop() {
		if err := Descend(data, m, path, []byte("address-00005000")); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadMeta(b *testing.B) {
	db, data, _ := benchFile(b, 10000)
	f, err := os.Open(db.path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	for b.Loop() {
		if _, err := ReadMeta(f, int64(len(data))); err != nil {
			b.Fatal(err)
		}
	}
}
