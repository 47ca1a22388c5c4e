// Package dev implements the development loop for functions and Compositions. The
// loop watches the files that a render and its tests read. When such a file
// changes, it repeats the render or the tests. Functions keep running; only those
// whose source has changed are restarted.
//
// A Watcher reports that something may have changed, and a Snapshot records the state
// of files. The changes are the differences between two Snapshots. A file that is
// written with the same content has not changed.
//
// The loop turns file changes into a Plan, runs the Plan as a Round, and shows
// the Round as a Text.
package dev
