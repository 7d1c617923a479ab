package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"github.com/bolt-local/bolt-local/cmd/bolt-local-agent/internal/metrics"
	"github.com/bolt-local/bolt-local/cmd/internal/command"
	"github.com/bolt-local/bolt-local/cmd/internal/nodestatus"
	"github.com/bolt-local/bolt-local/ipam"
)

// Defaults of serve.
const (
	defaultListen   = "127.0.0.1:9431"
	defaultInterval = 5 * time.Minute
)

func (a *app) serveCommand() *cobra.Command {
	var (
		gc   gcFlags
		fill fillFlags
	)
	cmd := &cobra.Command{
		Use:   "serve [flags]",
		Short: "Do both again and again, and serve metrics",
		Long: `Backfill, and take back what pods have left, every --interval from when the
runtime answers, and serve /metrics (Prometheus) and /healthz on --listen.
Where allocations were lost ADD is served again once each round for the time of
--grace, and two at least, has found every pod recorded.

/healthz answers 200 while rounds end and the last one went well, the checkpoint
can be believed and written, with host-local's directories, and ADD is served;
503 and the reason otherwise. It changes nothing for the plugin, which works
without the agent.`,
		Example: `  bolt-local-agent serve
  bolt-local-agent serve --listen 127.0.0.1:9431 --interval 10m --grace 15m`,
	}
	gc.add(cmd)
	listen := cmd.Flags().String("listen", defaultListen, "`address` for metrics and health")
	interval := cmd.Flags().Duration("interval", defaultInterval, "time between two rounds")
	return a.command(cmd, func(ctx context.Context) error {
		if err := gc.check(); err != nil {
			return err
		}
		if *interval <= 0 {
			return command.UsageError(errors.New("--interval is not above 0"))
		}
		fill.confDir, fill.cacheDirs = gc.confDir, gc.cacheDirs
		return a.serve(ctx, *listen, *interval, fill, gc)
	})
}

func (a *app) serve(ctx context.Context, listen string, interval time.Duration, fill fillFlags, gc gcFlags) error {
	counters := metrics.New(func() nodestatus.Reader { return nodestatus.Reader{State: a.stateWithin(ipam.ReadTimeout)} })
	a.waited = counters.Waited
	registry := prometheus.NewRegistry()
	registry.MustRegister(counters)
	health := newHealth(time.Now, interval+longestRound(a.timeout, gc.confirmAfter))
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return fmt.Errorf("--listen %s: %w", listen, err)
	}
	server := newServer(registry, health, &shared{look: counters.Problem})
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	a.say("Serving metrics at http://" + listener.Addr().String() + "/metrics.")

	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var rounds sync.WaitGroup
	rounds.Go(func() { a.rounds(ctx, interval, fill, gc, health, counters) })
	select {
	case err = <-served:
	case <-ctx.Done():
		err = shutDown(server, shutdownTime)
	}
	stop()
	rounds.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
