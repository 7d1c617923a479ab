package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/bolt-local/bolt-local/cmd/internal/wording"
)

// Limits of the server, so that no client holds up anything for good.
const (
	// scrapesAtOnce and scrapeTime are for /metrics. Prometheus gives up after 10 s
	// if it is not told otherwise.
	scrapesAtOnce = 4
	scrapeTime    = 10 * time.Second
	// readTime is for a request, writeTime for that and its answer, and idleTime
	// for the wait for the next one.
	readTime  = 10 * time.Second
	writeTime = readTime + scrapeTime
	idleTime  = 2 * time.Minute
	// shutdownTime is how long a scrape may take to its end.
	shutdownTime = 5 * time.Second
)

// newServer answers on /metrics what gatherer has, and on /healthz what is wrong,
// by rounds and problem.
func newServer(gatherer prometheus.Gatherer, rounds *health, problem *shared) *http.Server {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(gatherer, promhttp.HandlerOpts{MaxRequestsInFlight: scrapesAtOnce, Timeout: scrapeTime}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		err := rounds.hangs()
		if err == nil { // else a look may hang, too
			err = errors.Join(rounds.err(), problem.err())
		}
		if err != nil {
			http.Error(w, wording.OneLine(err.Error()), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	return &http.Server{Handler: mux, ReadTimeout: readTime, WriteTimeout: writeTime, IdleTimeout: idleTime}
}

// shutDown lets what is asked for come to its end for a time, and then breaks it
// off.
func shutDown(s *http.Server, within time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	err := s.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return s.Close()
	}
	return err
}
