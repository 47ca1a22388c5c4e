package dev

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// quiet is the time without events after which a change is reported. When an
	// editor saves a file, several events follow one another.
	quiet = 2 * time.Millisecond
	// incomplete replaces quiet after a file was emptied or removed, because editors do so
	// before they write the new content.
	incomplete = 15 * time.Millisecond
	// patience is the maximum time between a change and its report, if events do not stop.
	patience = 200 * time.Millisecond
	// pollInterval is the time between two reports of a Watcher that polls.
	pollInterval = 500 * time.Millisecond
)

// A Watcher reports that files in the watched folders may have changed. Its
// methods must be called from one goroutine.
type Watcher struct {
	// C receives a value shortly after a change, or at each Interval if the
	// Watcher polls. Watch may replace C.
	C <-chan struct{}

	notify *fsnotify.Watcher
	// watched has the folders that are watched, as they were just before. A system watches a
	// folder itself, and not the one that has its path later.
	watched map[string]fs.FileInfo
	cancel  context.CancelFunc
	done    chan struct{}
}

// OpenWatcher returns a Watcher, which the caller must close. It uses the change notifications of
// the operating system. It polls if poll is true, or if notifications are not available. If
// they are not available, polling is the reason.
func OpenWatcher(ctx context.Context, poll bool) (w *Watcher, polling error) {
	ctx, cancel := context.WithCancel(ctx)
	w = &Watcher{cancel: cancel, done: make(chan struct{}), watched: map[string]fs.FileInfo{}}
	if !poll {
		w.notify, polling = fsnotify.NewWatcher()
		polling = advise(polling)
	}
	if w.notify == nil {
		w.C = w.run(ctx, tick)
	} else {
		w.C = w.run(ctx, func(ctx context.Context, out chan<- struct{}) { debounce(ctx, w.notify.Events, w.notify.Errors, out) })
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

// Watch replaces the watched folders by dirs, and the folders between them and the working
// directory, because renaming one of these replaces a watched folder. It skips folders that
// do not exist. fresh reports whether a folder is new. Changes in a new folder before the
// call are not reported, so the caller must look for them. If the system cannot watch that
// many folders, Watch returns an error, and the Watcher polls from then on.
func (w *Watcher) Watch(ctx context.Context, dirs []string) (fresh bool, err error) {
	if w.notify == nil {
		return false, nil
	}
	dirs = withParents(dirs)
	known := slices.DeleteFunc(w.notify.WatchList(), func(dir string) bool {
		info, err := os.Stat(dir)
		if err == nil && slices.Contains(dirs, dir) && os.SameFile(info, w.watched[dir]) {
			return false
		}
		_ = w.notify.Remove(dir) // Remove fails if the folder was deleted. The error is ignored.
		return true
	})
	for _, dir := range dirs {
		if slices.Contains(known, dir) {
			continue
		}
		info, err := os.Stat(dir)
		if err == nil {
			err = w.notify.Add(dir)
		}
		switch {
		case err == nil:
			fresh, w.watched[dir] = true, info
		case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		default:
			return true, w.poll(ctx, err)
		}
	}
	return fresh, nil
}

// withParents returns dirs, and the folders above each one up to the working directory. A folder
// precedes those in it.
func withParents(dirs []string) []string {
	all := slices.Clone(dirs)
	for _, dir := range dirs {
		for dir != "." && filepath.IsLocal(dir) {
			dir = filepath.Dir(dir)
			all = append(all, dir)
		}
	}
	return union(all)
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

// debounce sends a value to out when there has been no event for the time quiet, or for the time
// incomplete if a file was emptied or removed. If events do not stop, it sends a value at the
// time patience after the first one. Changes of file attributes are not events. An error means
// that events were lost, so anything may have changed.
func debounce(ctx context.Context, events <-chan fsnotify.Event, lost <-chan error, out chan<- struct{}) {
	var calm, late <-chan time.Time
	s := newSave()
	for {
		var wait time.Duration
		select {
		case <-ctx.Done():
			return
		case e, ok := <-events:
			if !ok {
				return
			}
			if e.Op == fsnotify.Chmod {
				continue
			}
			wait = s.add(e)
		case _, ok := <-lost:
			if !ok {
				return
			}
			wait = incomplete
		case <-calm:
		case <-late:
		}
		if wait == 0 {
			calm, late, s = nil, nil, newSave()
			signal(out)
			continue
		}
		calm = time.After(wait)
		if late == nil {
			late = time.After(patience)
		}
	}
}

// A save has the files of events that follow one another. created are the files that did not
// exist before. unfinished are the files that are empty or were removed.
type save struct{ created, unfinished map[string]bool }

func newSave() save { return save{created: map[string]bool{}, unfinished: map[string]bool{}} }

// add adds an event. It returns the time without events after which the save has ended.
func (s save) add(e fsnotify.Event) time.Duration {
	if e.Has(fsnotify.Create) {
		s.created[e.Name] = true
	}
	info, err := os.Stat(e.Name)
	// A file that was created in the same save and is gone was temporary.
	if err != nil && !s.created[e.Name] || err == nil && info.Mode().IsRegular() && info.Size() == 0 {
		s.unfinished[e.Name] = true
	} else {
		delete(s.unfinished, e.Name)
	}
	if len(s.unfinished) > 0 {
		return incomplete
	}
	return quiet
}

// signal sends a value to out, unless out already has a pending value.
func signal(out chan<- struct{}) {
	select {
	case out <- struct{}{}:
	default:
	}
}

func tick(ctx context.Context, out chan<- struct{}) {
	t := time.NewTicker(pollInterval)
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
