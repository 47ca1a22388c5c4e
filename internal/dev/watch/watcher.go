package watch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// quiet is the time without events after which a change is reported. When an
	// editor saves a file, several events occur within milliseconds.
	quiet = 15 * time.Millisecond
	// patience is the maximum time between a change and its report, if events do not stop.
	patience = 200 * time.Millisecond
	// Interval is the time between two reports of a Watcher that polls.
	Interval = 500 * time.Millisecond
)

// A Watcher reports that files in the watched folders may have changed. Its
// methods must be called from one goroutine.
type Watcher struct {
	// C receives a value shortly after a change, or at each Interval if the
	// Watcher polls. Watch may replace C.
	C <-chan struct{}

	notify *fsnotify.Watcher
	cancel context.CancelFunc
	done   chan struct{}
}

// Open returns a Watcher, which the caller must close. It uses the change notifications of
// the operating system. It polls if poll is true, or if notifications are not available. If
// they are not available, polling is the reason.
func Open(ctx context.Context, poll bool) (w *Watcher, polling error) {
	ctx, cancel := context.WithCancel(ctx)
	w = &Watcher{cancel: cancel, done: make(chan struct{})}
	if !poll {
		w.notify, polling = fsnotify.NewWatcher()
		polling = advise(polling)
	}
	if w.notify == nil {
		w.C = w.run(ctx, tick)
	} else {
		w.C = w.run(ctx, func(ctx context.Context, out chan<- struct{}) { settle(ctx, meaningful(w.notify), out) })
	}
	return w, polling
}

func (w *Watcher) run(ctx context.Context, send func(context.Context, chan<- struct{})) <-chan struct{} {
	c := make(chan struct{}, 1)
	go func() {
		defer close(w.done)
		send(ctx, c)
	}()
	return c
}

// Watch replaces the watched folders by dirs. It skips folders that do not exist.
// fresh reports whether a folder is new. Changes in a new folder before the call
// are not reported, so the caller must look for them. If the system cannot watch
// that many folders, Watch returns an error, and the Watcher polls from then on.
func (w *Watcher) Watch(ctx context.Context, dirs []string) (fresh bool, err error) {
	if w.notify == nil {
		return false, nil
	}
	known := w.notify.WatchList()
	for _, dir := range known {
		if !slices.Contains(dirs, dir) {
			_ = w.notify.Remove(dir) // Remove fails if the folder was deleted. The error is ignored.
		}
	}
	for _, dir := range dirs {
		if slices.Contains(known, dir) {
			continue
		}
		switch err := w.notify.Add(dir); {
		case err == nil:
			fresh = true
		case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		default:
			return true, w.poll(ctx, err)
		}
	}
	return fresh, nil
}

// poll makes the Watcher poll after the error why. It returns an error that explains why.
func (w *Watcher) poll(ctx context.Context, why error) error {
	err := errors.Join(advise(why), w.Close())
	ctx, w.cancel = context.WithCancel(ctx)
	w.notify, w.done = nil, make(chan struct{})
	w.C = w.run(ctx, tick)
	return err
}

// advise adds the name of the system limit to an error that means that a limit is
// reached. See inotify(7).
func advise(err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("watching files: the limit of watched folders is reached (fs.inotify.max_user_watches): %w", err)
	case errors.Is(err, syscall.EMFILE):
		return fmt.Errorf("watching files: the limit of watchers is reached (fs.inotify.max_user_instances): %w", err)
	case err != nil:
		return fmt.Errorf("watching files: %w", err)
	}
	return nil
}

// Close stops the Watcher.
func (w *Watcher) Close() error {
	w.cancel()
	<-w.done
	if w.notify == nil {
		return nil
	}
	if err := w.notify.Close(); err != nil {
		return fmt.Errorf("closing the file watcher: %w", err)
	}
	return nil
}

// meaningful returns a channel that receives a value after each event of n,
// except changes of file attributes. It is closed when n is closed.
func meaningful(n *fsnotify.Watcher) <-chan struct{} {
	c := make(chan struct{}, 1)
	go func() {
		defer close(c)
		for {
			select {
			case e, ok := <-n.Events:
				if !ok {
					return
				}
				if e.Op != fsnotify.Chmod {
					signal(c)
				}
			case _, ok := <-n.Errors: // n lost events, so anything may have changed
				if !ok {
					return
				}
				signal(c)
			}
		}
	}()
	return c
}

// settle sends a value to out when in has received no event for the time quiet. If events
// do not stop, it sends a value at the time patience after the first event.
func settle(ctx context.Context, in <-chan struct{}, out chan<- struct{}) {
	var calm, late <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case _, ok := <-in:
			if !ok {
				return
			}
			calm = time.After(quiet)
			if late == nil {
				late = time.After(patience)
			}
			continue
		case <-calm:
		case <-late:
		}
		calm, late = nil, nil
		signal(out)
	}
}

// signal sends a value to out, unless out already has a pending value.
func signal(out chan<- struct{}) {
	select {
	case out <- struct{}{}:
	default:
	}
}

func tick(ctx context.Context, out chan<- struct{}) {
	t := time.NewTicker(Interval)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			signal(out)
		}
	}
}
