package main

import (
	"context"

	"github.com/bolt-local/bolt-local/migrate/engine"
)

// held measures ADD and DEL with n addresses held.
func held(n int, goal float64) func(*bench, context.Context) ([]row, error) {
	return func(b *bench, ctx context.Context) ([]row, error) {
		s, err := b.addAndDel(ctx, "", n)
		if err != nil {
			return nil, err
		}
		return []row{
			{"ADD, " + thousands(n) + " held", s[0], s[1], goal},
			{"DEL, " + thousands(n) + " held", s[2], s[3], goal},
		}, nil
	}
}

// mirrored measures ADD and DEL while host-local's directory is written too.
func (b *bench) mirrored(ctx context.Context) ([]row, error) {
	s, err := b.addAndDel(ctx, engine.Switch, 1_000)
	if err != nil {
		return nil, err
	}
	return []row{
		{"ADD switch 1,000", s[0], s[1], 0.60},
		{"DEL switch 1,000", s[2], s[3], 0.60},
	}, nil
}

// addAndDel measures ADD, ours and theirs, and DEL with n addresses held. The
// DEL frees what the ADD took, so n stays.
func (b *bench) addAndDel(ctx context.Context, phase engine.Phase, n int) ([][]float64, error) {
	ours, theirs, err := b.both(ctx, phase, n)
	if err != nil {
		return nil, err
	}
	return interleave(b.rounds,
		call(ctx, ours, "ADD"), call(ctx, theirs, "ADD"),
		call(ctx, ours, "DEL"), call(ctx, theirs, "DEL"))
}

// large compares ours with itself at a size where host-local takes seconds.
func (b *bench) large(ctx context.Context) ([]row, error) {
	const many, few = 100_000, 100
	large, err := b.ours(ctx, subnet(many), "", many)
	if err != nil {
		return nil, err
	}
	small, err := b.ours(ctx, subnet(many), "", few)
	if err != nil {
		return nil, err
	}
	s, err := interleave(b.rounds,
		call(ctx, large, "ADD"), call(ctx, small, "ADD"),
		call(ctx, large, "DEL"), call(ctx, small, "DEL"))
	if err != nil {
		return nil, err
	}
	return []row{
		{"ADD 100,000/100", s[0], s[1], 1.15},
		{"DEL 100,000/100", s[2], s[3], 0},
	}, nil
}
