package watch

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// TestSettle checks that events within a short time cause one notification. If
// events do not end, there is a notification after the time patience.
func TestSettle(t *testing.T) {
	cases := map[string]struct {
		reason string
		events int
		every  time.Duration
		want   int
	}{
		"One":     {"a single event is reported", 1, 0, 1},
		"Save":    {"the events of a save are reported once", 5, quiet / 3, 1},
		"Apart":   {"two saves are reported separately", 2, 2 * quiet, 2},
		"Endless": {"continuous events are reported after a limit", 100, quiet - time.Millisecond, 7},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in, out := make(chan struct{}), make(chan struct{})
				ctx, cancel := context.WithCancel(t.Context())
				told := 0
				go func() {
					for range out {
						told++
					}
				}()
				go func() {
					defer close(out)
					settle(ctx, in, out)
				}()
				for range tc.events {
					in <- struct{}{}
					time.Sleep(tc.every) // advances the fake clock of the synctest bubble
				}
				time.Sleep(patience)
				synctest.Wait()
				if told != tc.want {
					t.Errorf("%s: got %d notifications, want %d", tc.reason, told, tc.want)
				}
				cancel()
				close(in)
				synctest.Wait()
			})
		})
	}
}

func TestTick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		out := make(chan struct{}, 1)
		go tick(ctx, out)
		began := time.Now()
		<-out
		<-out
		if got := time.Since(began); got != 2*Interval {
			t.Errorf("two ticks took %s, want %s", got, 2*Interval)
		}
		cancel()
	})
}

// TestPollInstead checks that the Watcher polls, and returns the reason, if the
// system cannot watch all folders.
func TestPollInstead(t *testing.T) {
	cases := map[string]struct {
		err  error
		want string
	}{
		"Watches":   {syscall.ENOSPC, "max_user_watches"},
		"Instances": {syscall.EMFILE, "max_user_instances"},
		"Other":     {syscall.EACCES, "watching files: "},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w, polling := Open(t.Context(), false)
			if polling != nil {
				t.Skipf("this system has no change notifications: %v", polling)
			}
			err := w.poll(t.Context(), tc.err)
			if !errors.Is(err, tc.err) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
			select {
			case <-w.C:
			case <-time.After(time.Minute):
				t.Error("polling sends no ticks")
			}
			if fresh, err := w.Watch(t.Context(), []string{t.TempDir()}); fresh || err != nil {
				t.Errorf("Watch of a polling watcher: got %v, %v", fresh, err)
			}
			if err := w.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
