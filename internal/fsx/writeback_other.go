//go:build !linux

package fsx

// startWriteback does nothing: elsewhere, syncing writes all.
func (f *AtomicFile) startWriteback(_, _ int64) {}
