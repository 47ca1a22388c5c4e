// Package watch detects changes of files: a Watcher reports that something may
// have changed, and a Snapshot is the state of files. Changes are the difference
// of two Snapshots. It does not matter who made a change, in which order and how
// often it was reported, and a file that was only touched has not changed.
package watch
