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
	// quiet is how long nothing has to happen before a change is told: an
	// editor's save is several events within milliseconds.
	quiet = 15 * time.Millisecond
	// patience is how long a change waits for quiet at most.
	patience = 200 * time.Millisecond
	// Interval is how often polling looks.
	Interval = 500 * time.Millisecond
)

// A Watcher says when something may have happened in folders. Its methods are
// for one goroutine.
type Watcher struct {
	// C gets a value when something may have happened: soon after, once it is
	// quiet, or at each tick of polling.
	C <-chan struct{}

	notify *fsnotify.Watcher
	cancel context.CancelFunc
	done   chan struct{}
}

// Open returns a Watcher, which has to be closed. It asks the system to tell of
// changes, or, if poll is set or the system tells nothing, ticks. Why it does not
// tell is polling, which is nil otherwise.
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

func (w *Watcher) run(ctx context.Context, tell func(context.Context, chan<- struct{})) <-chan struct{} {
	c := make(chan struct{}, 1)
	go func() {
		defer close(w.done)
		tell(ctx, c)
	}()
	return c
}

// Watch watches these folders, and those of before no more. It reports whether
// some are new: what happened there before now is not told. Folders that have
// gone are passed over. An error says that the system cannot watch so many: the
// Watcher then polls.
func (w *Watcher) Watch(ctx context.Context, dirs []string) (fresh bool, err error) {
	if w.notify == nil {
		return false, nil
	}
	known := w.notify.WatchList()
	for _, dir := range known {
		if !slices.Contains(dirs, dir) {
			_ = w.notify.Remove(dir) // it may have gone already
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

// poll goes over to polling, and returns why.
func (w *Watcher) poll(ctx context.Context, why error) error {
	err := errors.Join(advise(why), w.Close())
	ctx, w.cancel = context.WithCancel(ctx)
	w.notify, w.done = nil, make(chan struct{})
	w.C = w.run(ctx, tick)
	return err
}

// advise says what limit was met (inotify(7)).
func advise(err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("watching files: the system lets nobody watch more folders (fs.inotify.max_user_watches): %w", err)
	case errors.Is(err, syscall.EMFILE):
		return fmt.Errorf("watching files: the system lets nobody have more watchers (fs.inotify.max_user_instances): %w", err)
	case err != nil:
		return fmt.Errorf("watching files: %w", err)
	}
	return nil
}

// Close ends it.
func (w *Watcher) Close() error {
	w.cancel()
	<-w.done
	if w.notify == nil {
		return nil
	}
	if err := w.notify.Close(); err != nil {
		return fmt.Errorf("ending to watch files: %w", err)
	}
	return nil
}

// meaningful returns a channel of events that are no mere change of attributes.
// It is closed with the watcher.
func meaningful(n *fsnotify.Watcher) <-chan struct{} {
	c := make(chan struct{})
	go func() {
		defer close(c)
		for {
			select {
			case e, ok := <-n.Events:
				if !ok {
					return
				}
				if e.Op != fsnotify.Chmod {
					c <- struct{}{}
				}
			case _, ok := <-n.Errors: // some were lost: anything may have happened
				if !ok {
					return
				}
				c <- struct{}{}
			}
		}
	}()
	return c
}

// settle passes on that something happened once it is quiet, or patience is at
// its end.
func settle(ctx context.Context, in <-chan struct{}, out chan<- struct{}) {
	var calm, late <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			go drain(in)
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
		tell(out)
	}
}

// drain lets the sender come to its end.
func drain(in <-chan struct{}) {
	for range in {
	}
}

// tell is one value for all that is not read yet.
func tell(out chan<- struct{}) {
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
			tell(out)
		}
	}
}
