// Package watch tells when files change: a Watcher says that something may
// have, and a Look what is there now. What changed is the difference of two
// Looks, so that it does not matter by whom, in which order and how often a
// change was told, and a file that was only touched has not changed.
package watch
