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
	s := newServer(prometheus.NewRegistry(), newHealth(time.Now, time.Hour), &shared{})
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
			h := newHealth(time.Now, time.Hour)
			h.roundEnded(c.round)
			s := newServer(prometheus.NewRegistry(), h, &shared{look: func() error { return c.problem }})
			w := httptest.NewRecorder()
			s.Handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/healthz", nil))
			if text := strings.TrimSpace(w.Body.String()); w.Code != c.status || text != c.text {
				t.Errorf("%d %q, want %d %q", w.Code, text, c.status, c.text)
			}
		})
	}
}

func TestHealthzTellsOfRoundsThatDoNotEnd(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	h := newHealth(func() time.Time { return now }, time.Hour)
	looks := 0
	s := newServer(prometheus.NewRegistry(), h, &shared{look: func() error { looks++; return nil }})
	expect := func(when, want string) {
		t.Helper()
		w := httptest.NewRecorder()
		s.Handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/healthz", nil))
		if text := w.Body.String(); (w.Code == http.StatusOK) != (want == "ok") || !strings.HasPrefix(text, want) {
			t.Errorf("%s: %d %q, want %q", when, w.Code, text, want)
		}
	}
	h.set(nil)
	now = now.Add(time.Hour)
	expect("an hour after the start", "ok")
	now = now.Add(time.Second)
	before := looks
	expect("later", "no round has ended for 1h0m1s: ")
	if looks > before {
		t.Error("the checkpoint was looked at, which may hang, too")
	}
	h.set(nil)
	expect("within a round", "no round has ended for 1h0m1s: ")
	h.roundEnded(nil)
	expect("at the end of a round", "ok")
	now = now.Add(time.Hour)
	h.roundEnded(errors.New("failed"))
	now = now.Add(time.Minute)
	expect("after one that failed", "failed")
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
