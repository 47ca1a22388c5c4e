package registry

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"
)

// drain is the time for running requests after the server is told to stop.
const drain = 3 * time.Second

// Serve serves h on l until ctx is done. Then it accepts no more requests,
// waits three seconds for running ones, closes the other connections, and
// returns nil. h is not in use after that. It closes l.
func Serve(ctx context.Context, l net.Listener, h http.Handler) error {
	var running sync.WaitGroup
	s := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			running.Add(1)
			defer running.Done()
			h.ServeHTTP(w, r)
		}),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          log.New(io.Discard, "", 0),
	}
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		drained, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
		defer cancel()
		err := s.Shutdown(drained)
		if errors.Is(err, context.DeadlineExceeded) {
			err = s.Close()
		}
		stopped <- err
	})
	if err := s.Serve(l); stop() {
		return err
	}
	defer running.Wait()
	return <-stopped
}
