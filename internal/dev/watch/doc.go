// Package watch detects changes of files. A Watcher reports that something may
// have changed, and a Snapshot records the state of files. The changes are the
// differences between two Snapshots. A file whose content is the same has not
// changed, even if it was written.
package watch
