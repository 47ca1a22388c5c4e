//go:build !linux

package fsx

// startWriteback does nothing: the sync writes all data.
func (f *AtomicFile) startWriteback(_, _ int64) {}
