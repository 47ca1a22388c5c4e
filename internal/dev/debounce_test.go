package dev

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/xfn-dev/xfn/internal/e2e"
)

// TestDebounce checks that events within a short time cause one notification. If
// events do not end, there is a notification after the time patience.
func TestDebounce(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"full": "text", "empty": ""} {
		e2e.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	event := func(op fsnotify.Op, name string) fsnotify.Event {
		return fsnotify.Event{Op: op, Name: filepath.Join(dir, name)}
	}
	write := event(fsnotify.Write, "full")
	cases := map[string]struct {
		reason string
		events []fsnotify.Event
		every  time.Duration
		want   int
	}{
		"One":        {"a single event is reported", []fsnotify.Event{write}, 0, 1},
		"Save":       {"the events of a save are reported once", slices.Repeat([]fsnotify.Event{write}, 5), quiet / 3, 1},
		"Apart":      {"two saves are reported separately", slices.Repeat([]fsnotify.Event{write}, 2), 2 * quiet, 2},
		"Endless":    {"continuous events are reported after a limit", slices.Repeat([]fsnotify.Event{write}, 1000), quiet / 2, 5},
		"Emptied":    {"an empty file is probably written again", []fsnotify.Event{event(fsnotify.Write, "empty"), write}, 2 * quiet, 1},
		"Removed":    {"a removed file is probably written again", []fsnotify.Event{event(fsnotify.Rename, "gone"), event(fsnotify.Create, "full")}, 2 * quiet, 1},
		"Temporary":  {"a temporary file that is gone is not awaited", []fsnotify.Event{event(fsnotify.Create, "gone"), event(fsnotify.Rename, "gone"), write, write}, quiet - 1, 1},
		"Attributes": {"changed attributes are ignored", []fsnotify.Event{event(fsnotify.Chmod, "full")}, 0, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in, lost, out := make(chan fsnotify.Event), make(chan error), make(chan struct{})
				ctx, cancel := context.WithCancel(t.Context())
				told := 0
				go func() {
					for range out {
						told++
					}
				}()
				go func() {
					defer close(out)
					debounce(ctx, in, lost, out)
				}()
				for _, e := range tc.events {
					in <- e
					time.Sleep(tc.every) // advances the fake clock of the synctest bubble
				}
				time.Sleep(patience)
				synctest.Wait()
				e2e.Equal(t, tc.reason, tc.want, told)
				cancel()
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
		e2e.Equal(t, "ticks have the interval of polling", 2*pollInterval, time.Since(began))
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
			w, polling := OpenWatcher(t.Context(), false)
			if polling != nil {
				t.Skipf("this system has no change notifications: %v", polling)
			}
			err := w.poll(t.Context(), tc.err)
			e2e.ErrorIs(t, "the error that ended watching is kept", err, tc.err)
			e2e.ErrorHas(t, "the error says what the user can change", err, tc.want)
			select {
			case <-w.C:
			case <-time.After(time.Minute):
				t.Error("polling sends no ticks")
			}
			e2e.Equal(t, "a polling watcher does not watch folders", false, e2e.Must(w.Watch(t.Context(), []string{t.TempDir()}))(t))
			e2e.NoError(t, w.Close())
		})
	}
}
