package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/store"
)

// imported measures the first ADD on a node that host-local has run: it takes
// over all of the files.
func (b *bench) imported(ctx context.Context) ([]row, error) {
	const files, goal = 10_000, 500 // ms
	dataDir, err := b.newDataDir(boltLocal)
	if err != nil {
		return nil, err
	}
	p := plugin{name: boltLocal, path: b.programs.boltLocal, dataDir: dataDir, subnet: subnet(files)}
	if err := p.holdHostLocal(files); err != nil {
		return nil, fmt.Errorf("host-local's directory: %w", err)
	}
	s, err := interleave(b.rounds, func(round int) (float64, error) { return p.firstAdd(ctx, files, round) })
	if err != nil {
		return nil, err
	}
	return []row{{"import " + thousands(files), s[0], nil, goal}}, nil
}

// firstAdd removes the checkpoint and calls ADD, with n files in host-local's
// directory. The DEL afterwards leaves them as they were.
func (p plugin) firstAdd(ctx context.Context, n, round int) (float64, error) {
	for _, name := range []string{store.CheckpointFile, store.LockFile, store.JournalFile, store.DeferredDir} {
		if err := os.RemoveAll(filepath.Join(p.dataDir, name)); err != nil {
			return 0, err
		}
	}
	syscall.Sync()
	id := containerID("round", round)
	took, err := p.call(ctx, "ADD", id)
	if err != nil {
		return 0, err
	}
	if err := p.expectSettled(engine.Switch, n+1); err != nil {
		return 0, err
	}
	_, err = p.call(ctx, "DEL", id)
	return took, err
}
