package cli

import (
	"context"
	"errors"
	"time"

	"github.com/bolt-local/bolt-local/cmd/bolt-local-agent/internal/metrics"
	"github.com/bolt-local/bolt-local/cmd/bolt-local-agent/internal/sweep"
	"github.com/bolt-local/bolt-local/cmd/internal/boottime"
	"github.com/bolt-local/bolt-local/cmd/internal/wording"
)

// The wait until the runtime is asked again doubles up to a minute: at the start
// of a node it comes later.
const (
	firstRetry   = time.Second
	longestRetry = time.Minute
)

// rounds backfills and sweeps again and again until ctx ends; before the runtime
// has answered for the first time it asks more often.
func (a *app) rounds(ctx context.Context, interval time.Duration, fill fillFlags, gc gcFlags, health *health, counters *metrics.Collector) {
	var (
		sweeper  = a.sweeper(gc)
		patience = patience{least: gc.grace, bootTime: boottime.Now}
		endpoint string // that has answered last
		retry    = firstRetry
	)
	for ctx.Err() == nil {
		r := round{app: a, counters: counters, patience: &patience}
		if answered := r.answered(ctx); answered != "" {
			if endpoint == "" {
				health.set(errFirstRound)
			}
			if answered != endpoint {
				a.say("The container runtime at " + answered + " answers.")
				patience.forget()
			}
			endpoint = answered
			r.backfill(ctx, fill)
			if r.gc(ctx, sweeper, gc) > 0 {
				r.backfill(ctx, fill) // whom a stale record stood in the way of
			}
		}
		patience.roundEnded()
		if ctx.Err() == nil { // else it was broken off, and says nothing
			health.roundEnded(errors.Join(r.errs...))
		}
		if endpoint != "" {
			pause(ctx, interval)
			continue
		}
		pause(ctx, retry)
		retry = min(2*retry, longestRetry)
	}
}

// round is what is done once in an interval. A part that fails, such as a single
// sandbox that is broken, keeps nothing else from being done.
type round struct {
	app      *app
	counters *metrics.Collector
	patience *patience
	errs     []error
}

// answered returns the endpoint of the runtime, if that lists its sandboxes. "" is
// where a backfill and a gc would fail alike: the round counts as a failed
// backfill.
func (r *round) answered(ctx context.Context) (endpoint string) {
	client, err := r.app.runtime()
	if err == nil {
		defer client.Close()
		_, err = client.List(ctx)
	}
	if err != nil {
		r.ended(ctx, metrics.Backfill, unchanged(err))
		return ""
	}
	return client.Endpoint()
}

func (r *round) backfill(ctx context.Context, f fillFlags) {
	_, err := r.app.backfill(ctx, f, r.patience.doubt, func(c counts) bool { return c.changed() })
	r.ended(ctx, metrics.Backfill, err)
}

func (r *round) gc(ctx context.Context, s *sweep.Sweeper, f gcFlags) (freed int) {
	cache, _ := r.app.cache(f) // a backfill tells which configurations cannot be read
	swept, err := r.app.sweep(ctx, s, cache, f)
	r.app.warnUnstored(swept)
	freed = len(swept.Freed)
	r.counters.Freed(freed)
	r.ended(ctx, metrics.GC, err)
	return freed
}

func (r *round) ended(ctx context.Context, what string, err error) {
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		r.app.warn(what + ": " + wording.OneLine(err.Error()))
	}
	r.counters.Round(what, err)
	r.errs = append(r.errs, err)
}
