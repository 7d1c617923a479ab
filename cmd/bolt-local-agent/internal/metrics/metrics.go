// Package metrics is what the agent tells Prometheus: all that `bolt-local
// status` knows, copied anew for each scrape, and what the agent itself has done
// since it was started.
package metrics

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bolt-local/bolt-local/cmd/internal/nodestatus"
	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/ipam/netns"
	"github.com/bolt-local/bolt-local/migrate"
	"github.com/bolt-local/bolt-local/store"
)

// unknownToRuntime is the reason for which the agent frees an allocation, the only
// one by now: the container runtime does not know its sandbox.
const unknownToRuntime = "unknown-to-runtime"

// The parts of a round.
const (
	Backfill = "backfill"
	GC       = "gc"
)

// How a round ends.
const (
	ok     = "ok"
	failed = "failed"
)

// Collector implements [prometheus.Collector].
type Collector struct {
	reader func() nodestatus.Reader
	freed  *prometheus.CounterVec
	rounds *prometheus.CounterVec
	waits  prometheus.Histogram
}

// New returns a collector. reader is called for each scrape.
func New(reader func() nodestatus.Reader) *Collector {
	c := &Collector{
		reader: reader,
		freed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "bolt_local_agent_freed_total", Help: "Stale allocations that the agent has freed, by reason.",
		}, []string{"reason"}),
		rounds: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "bolt_local_agent_rounds_total", Help: "Rounds of the agent, by what was done and how it ended.",
		}, []string{"round", "result"}),
		waits: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "bolt_local_agent_lock_wait_seconds",
			Help:    "Time for which the agent waited for the lock that it shares with the plugin.",
			Buckets: []float64{.001, .005, .01, .05, .1, .5, 1, 2, 5, 10},
		}),
	}
	c.freed.WithLabelValues(unknownToRuntime)     // 0 is told, too
	for _, what := range []string{Backfill, GC} { // else no increase from 0 is seen
		for _, result := range []string{ok, failed} {
			c.rounds.WithLabelValues(what, result)
		}
	}
	return c
}

// Freed counts freed allocations.
func (c *Collector) Freed(n int) { c.freed.WithLabelValues(unknownToRuntime).Add(float64(n)) }

// Round counts a part of a round.
func (c *Collector) Round(what string, err error) {
	result := ok
	if err != nil {
		result = failed
	}
	c.rounds.WithLabelValues(what, result).Inc()
}

// Waited counts a wait for the lock.
func (c *Collector) Waited(d time.Duration) { c.waits.Observe(d.Seconds()) }

// Problem is why the checkpoint may not be believed, or cannot be written, or
// ADD is refused since allocations were lost; nil where nothing is.
func (c *Collector) Problem() error {
	r := c.reader()
	snap, err := r.Load("")
	if err != nil {
		return err
	}
	errs := []error{snap.Err(), r.State.Store.Writable()}
	if snap.Lost != "" {
		errs = append(errs, fmt.Errorf("%w: ADD is refused in networks that are not stored: %s", store.ErrLost, snap.Lost))
	}
	for _, n := range snap.Networks {
		if err := migrate.OldWritable(n.Migration.Directory); err != nil {
			errs = append(errs, fmt.Errorf("network %s: %w", n.Name, err))
		}
		if n.Lost != "" {
			errs = append(errs, fmt.Errorf("%w: ADD is refused in network %s: %s", store.ErrLost, n.Name, n.Lost))
		}
	}
	return errors.Join(errs...)
}

// Describe implements [prometheus.Collector]. The networks, and with them the
// metrics, come and go: it describes nothing, which makes it an unchecked one.
func (c *Collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	r := c.reader()
	snap, err := r.LoadVerified("")
	collect(ch, nodestatus.Up(err == nil))
	if err == nil {
		plugin := &ipam.Plugin{Namespaces: &netns.System{}}
		for _, f := range nodestatus.New(snap, plugin).Metrics() {
			collect(ch, f)
		}
	}
	c.freed.Collect(ch)
	c.rounds.Collect(ch)
	c.waits.Collect(ch)
}

// collect sends one family. A value that no float64 has is rounded.
func collect(ch chan<- prometheus.Metric, f nodestatus.Family) {
	if len(f.Samples) == 0 {
		return
	}
	var names []string
	for _, l := range f.Samples[0].Labels {
		names = append(names, l.Name)
	}
	desc := prometheus.NewDesc(f.Name, f.Help, names, nil)
	for _, s := range f.Samples {
		values := make([]string, len(s.Labels))
		for i, l := range s.Labels {
			values[i] = l.Value
		}
		value, err := strconv.ParseFloat(s.Value, 64)
		if err == nil {
			ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, values...)
		} else {
			ch <- prometheus.NewInvalidMetric(desc, err)
		}
	}
}
