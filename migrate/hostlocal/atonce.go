package hostlocal

import (
	"cmp"
	"runtime"
	"sync"
	"sync/atomic"
)

// A file system makes several files durable in about the time of one. Of a few
// files, as a call of a runtime has, nothing would be gained.
const (
	writersAtOnce = 8
	fewFiles      = 16
)

// atOnce calls write for each of n files, where they are many for several at a
// time, and begins no more once one has failed. It returns the first error by the
// order of the files.
func atOnce(n int, write func(i int) error) error {
	if n <= fewFiles {
		return inTurn(n, write)
	}
	var (
		next   atomic.Int64
		failed atomic.Bool
		group  sync.WaitGroup
	)
	errs := make([]error, n)
	for range writersAtOnce {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && !failed.Load(); i = int(next.Add(1)) - 1 {
				if errs[i] = write(i); errs[i] != nil {
					failed.Store(true)
				}
			}
		})
	}
	group.Wait()
	return cmp.Or(errs...)
}

func inTurn(n int, write func(i int) error) error {
	for i := range n {
		if err := write(i); err != nil {
			return err
		}
	}
	return nil
}

// Reading is work for the processor alone. A thread costs as much as some
// hundred files.
const manyFiles = 400

// inParts calls read for all names at once, or where they are many for as many
// parts as there are processors, at the same time.
func inParts[T any](names []string, read func([]string) (T, error)) ([]T, error) {
	parts := 1
	if len(names) >= manyFiles {
		parts = runtime.GOMAXPROCS(0)
	}
	results, errs := make([]T, parts), make([]error, parts)
	at := func(i int) { results[i], errs[i] = read(names[len(names)*i/parts : len(names)*(i+1)/parts]) }
	var group sync.WaitGroup
	for i := 1; i < parts; i++ {
		group.Go(func() { at(i) })
	}
	at(0)
	group.Wait()
	return results, cmp.Or(errs...)
}
