package cli

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

func TestNoClientHoldsUpTheServerForGood(t *testing.T) {
	s := newServer(prometheus.NewRegistry(), newHealth(), &shared{})
	if s.ReadTimeout <= 0 || s.WriteTimeout <= scrapeTime || s.IdleTimeout <= 0 {
		t.Errorf("limits are %s to read, %s to write, %s idle", s.ReadTimeout, s.WriteTimeout, s.IdleTimeout)
	}
}

func TestAScrapeThatHangsIsBrokenOffAtTheEnd(t *testing.T) {
	begun, end := make(chan struct{}), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(begun)
		<-end
	}))
	var asked sync.WaitGroup
	asked.Go(func() {
		if resp, err := http.Get(s.URL); err == nil {
			t.Errorf("the answer is %s", resp.Status)
			_ = resp.Body.Close()
		}
	})
	<-begun
	if err := shutDown(s.Config, time.Millisecond); err != nil {
		t.Errorf("error %v", err)
	}
	asked.Wait()
	close(end)
	s.Close()
}

func TestHealthzTellsEachReason(t *testing.T) {
	lost, failed := errors.New("lost"), errors.New("backfill failed")
	for name, c := range map[string]struct {
		round, problem error
		status         int
		text           string
	}{
		"nothing was asked yet":      {errNoAnswer, nil, http.StatusServiceUnavailable, "the container runtime has not answered yet"},
		"all is well":                {nil, nil, http.StatusOK, "ok"},
		"the last round has failed":  {failed, nil, http.StatusServiceUnavailable, "backfill failed"},
		"the checkpoint has, too":    {failed, lost, http.StatusServiceUnavailable, "backfill failed; lost"},
		"the checkpoint is not well": {nil, lost, http.StatusServiceUnavailable, "lost"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHealth()
			h.set(c.round)
			s := newServer(prometheus.NewRegistry(), h, &shared{look: func() error { return c.problem }})
			w := httptest.NewRecorder()
			s.Handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/healthz", nil))
			if text := strings.TrimSpace(w.Body.String()); w.Code != c.status || text != c.text {
				t.Errorf("%d %q, want %d %q", w.Code, text, c.status, c.text)
			}
		})
	}
}

func TestWhoAsksAtTheSameTimeSharesOneLook(t *testing.T) {
	var looks atomic.Int64
	begun, end := make(chan struct{}), make(chan struct{})
	want := errors.New("lost")
	s := &shared{look: func() error {
		if looks.Add(1) == 1 {
			close(begun)
			<-end
		}
		return want
	}}
	var all sync.WaitGroup
	ask := func() {
		if err := s.err(); !errors.Is(err, want) {
			t.Errorf("the answer is %v", err)
		}
	}
	all.Go(ask)
	<-begun
	for range 20 {
		all.Go(ask)
	}
	close(end)
	all.Wait()
	ask() // soon after
	if n := looks.Load(); n != 1 {
		t.Errorf("%d looks", n)
	}
	s.ended = s.ended.Add(-freshFor - time.Millisecond)
	ask()
	if n := looks.Load(); n != 2 {
		t.Errorf("%d looks, the second of them later", n)
	}
}
