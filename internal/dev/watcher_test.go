package dev_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/xfn-dev/xfn/internal/dev"
	"github.com/xfn-dev/xfn/internal/e2e"
)

// awaitChange waits until the Watcher reports a change and a new Snapshot has it.
// It works like the development loop.
func awaitChange(t *testing.T, w *dev.Watcher, targets dev.Targets, before dev.Snapshot) dev.Snapshot {
	t.Helper()
	for {
		select {
		case <-w.C:
			now := dev.TakeSnapshot(targets, before, time.Now())
			e2e.NoError(t, e2e.Err(w.Watch(t.Context(), now.Dirs)))
			now = dev.TakeSnapshot(targets, before, time.Now())
			if len(now.Since(before, time.Now())) > 0 {
				return now
			}
		case <-time.After(time.Minute):
			t.Fatal("no change was reported within a minute")
		}
	}
}

// TestWatcher checks that changes are reported, even in folders that are created,
// removed and created again.
func TestWatcher(t *testing.T) {
	for name, poll := range map[string]bool{"Told": false, "Polled": true} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			put(t, dir, "in/a.yaml", "a")
			w, polling := dev.OpenWatcher(t.Context(), poll)
			if polling != nil {
				t.Skipf("this system has no change notifications: %v", polling)
			}
			defer func() { e2e.NoError(t, w.Close()) }()
			targets := dev.Targets{Paths: []string{filepath.Join(dir, "in", "a.yaml")}, Sources: []string{filepath.Join(dir, "fn")}}
			look := dev.TakeSnapshot(targets, dev.Snapshot{}, time.Now())
			e2e.NoError(t, e2e.Err(w.Watch(t.Context(), look.Dirs)))
			for _, do := range []func(){
				func() { put(t, dir, "in/a.yaml", "aa") },
				func() { remove(t, dir, "in") },
				func() { put(t, dir, "in/a.yaml", "b") },
				func() { put(t, dir, "in/a.yaml", "c") },
				func() { put(t, dir, "fn/deep/new/main.go", "package main") },
				func() { put(t, dir, "fn/deep/new/main.go", "package main // changed") },
				func() { rename(t, dir, "fn", "elsewhere") },
				func() { rename(t, dir, "elsewhere", "fn") },
				func() { put(t, dir, "fn/deep/new/main.go", "package main // again") },
			} {
				do()
				look = awaitChange(t, w, targets, look)
			}
		})
	}
}

// TestWatcherOfReplacedFolder checks that changes are reported after another folder has replaced
// one above the watched folder.
func TestWatcherOfReplacedFolder(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	put(t, dir, "in/deep/a.yaml", "a")
	put(t, dir, "other/deep/a.yaml", "b")
	w, polling := dev.OpenWatcher(t.Context(), false)
	if polling != nil {
		t.Skipf("this system has no change notifications: %v", polling)
	}
	defer func() { e2e.NoError(t, w.Close()) }()
	targets := dev.Targets{Paths: []string{filepath.Join("in", "deep", "a.yaml")}}
	look := dev.TakeSnapshot(targets, dev.Snapshot{}, time.Now())
	e2e.NoError(t, e2e.Err(w.Watch(t.Context(), look.Dirs)))
	rename(t, dir, "in", "former")
	rename(t, dir, "other", "in")
	look = awaitChange(t, w, targets, look)
	put(t, dir, "in/deep/a.yaml", "c")
	awaitChange(t, w, targets, look)
}
