package dev

import (
	"io/fs"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/spf13/afero"
)

// reads is a file system that records what is read: opened files and folders,
// and files that do not exist. It is safe for concurrent use.
type reads struct {
	afero.Fs

	mu    sync.Mutex
	noted map[string]bool
}

var _ afero.Lstater = (*reads)(nil)

func newReads(fsys afero.Fs) *reads { return &reads{Fs: fsys, noted: map[string]bool{}} }

func (r *reads) note(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.noted[path] = true
}

// paths returns the recorded paths, sorted.
func (r *reads) paths() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.noted))
}

// Open records the file, whether it exists or not.
func (r *reads) Open(name string) (afero.File, error) {
	r.note(name)
	return r.Fs.Open(name)
}

// OpenFile records the file, whether it exists or not.
func (r *reads) OpenFile(name string, flag int, perm os.FileMode) (afero.File, error) {
	r.note(name)
	return r.Fs.OpenFile(name, flag, perm)
}

// Stat records a file that does not exist.
func (r *reads) Stat(name string) (fs.FileInfo, error) {
	info, err := r.Fs.Stat(name)
	if err != nil {
		r.note(name)
	}
	return info, err
}

// LstatIfPossible records a file that does not exist.
func (r *reads) LstatIfPossible(name string) (info fs.FileInfo, lstat bool, err error) {
	if l, ok := r.Fs.(afero.Lstater); ok {
		info, lstat, err = l.LstatIfPossible(name)
	} else {
		info, err = r.Fs.Stat(name)
	}
	if err != nil {
		r.note(name)
	}
	return info, lstat, err
}
