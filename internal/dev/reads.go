package dev

import (
	"io/fs"
	"os"
	"slices"
	"sync"

	"github.com/spf13/afero"
)

// reads is a file system that records the paths that are read: opened files and
// folders, and paths that do not exist. It is safe for concurrent use.
type reads struct {
	afero.Fs
	noted sync.Map
}

var _ afero.Lstater = (*reads)(nil)

func (r *reads) paths() (all []string) {
	for path := range r.noted.Range {
		all = append(all, path.(string))
	}
	slices.Sort(all)
	return all
}

// Open records the path, even if it does not exist.
func (r *reads) Open(name string) (afero.File, error) {
	r.noted.Store(name, nil)
	return r.Fs.Open(name)
}

// OpenFile records the path, even if it does not exist.
func (r *reads) OpenFile(name string, flag int, perm os.FileMode) (afero.File, error) {
	r.noted.Store(name, nil)
	return r.Fs.OpenFile(name, flag, perm)
}

// Stat records the path if it does not exist.
func (r *reads) Stat(name string) (fs.FileInfo, error) {
	info, err := r.Fs.Stat(name)
	if err != nil {
		r.noted.Store(name, nil)
	}
	return info, err
}

// LstatIfPossible records the path if it does not exist.
func (r *reads) LstatIfPossible(name string) (fs.FileInfo, bool, error) {
	l, ok := r.Fs.(afero.Lstater)
	if !ok {
		info, err := r.Stat(name)
		return info, false, err
	}
	info, lstat, err := l.LstatIfPossible(name)
	if err != nil {
		r.noted.Store(name, nil)
	}
	return info, lstat, err
}
