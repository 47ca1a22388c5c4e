// Package watch detects changes of files. A Watcher reports that something may have
// changed, and a Snapshot records the state of files. The changes are the differences
// between two Snapshots. A file that is written with the same content has not changed.
package watch
