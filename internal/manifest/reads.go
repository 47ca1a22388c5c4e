package manifest

import (
	"io/fs"
	"os"
	"slices"
	"sync"

	"github.com/spf13/afero"
)

// Reads is a file system that records the paths that are read: opened files and
// folders, and paths that do not exist. It is safe for concurrent use.
type Reads struct {
	afero.Fs
	noted sync.Map // the values are true for trees
}

var _ afero.Lstater = (*Reads)(nil)

// Paths returns the recorded paths, sorted.
func (r *Reads) Paths() (all []string) {
	for path := range r.noted.Range {
		all = append(all, path.(string))
	}
	slices.Sort(all)
	return all
}

// Record records a path that was read before.
func (r *Reads) Record(name string) { r.noted.LoadOrStore(name, false) }

// RecordTree records the path of a file, or of a folder in which all files may be read.
func (r *Reads) RecordTree(name string) { r.noted.Store(name, true) }

// Trees returns the paths that RecordTree recorded. They are also in Paths.
func (r *Reads) Trees() (all []string) {
	for path, isTree := range r.noted.Range {
		if isTree.(bool) {
			all = append(all, path.(string))
		}
	}
	return all
}

// Open records the path, even if it does not exist.
func (r *Reads) Open(name string) (afero.File, error) {
	r.Record(name)
	return r.Fs.Open(name)
}

// OpenFile records the path, even if it does not exist.
func (r *Reads) OpenFile(name string, flag int, perm os.FileMode) (afero.File, error) {
	r.Record(name)
	return r.Fs.OpenFile(name, flag, perm)
}

// Stat records the path if it does not exist.
func (r *Reads) Stat(name string) (fs.FileInfo, error) {
	info, err := r.Fs.Stat(name)
	if err != nil {
		r.Record(name)
	}
	return info, err
}

// LstatIfPossible records the path if it does not exist.
func (r *Reads) LstatIfPossible(name string) (fs.FileInfo, bool, error) {
	l, ok := r.Fs.(afero.Lstater)
	if !ok {
		info, err := r.Stat(name)
		return info, false, err
	}
	info, lstat, err := l.LstatIfPossible(name)
	if err != nil {
		r.Record(name)
	}
	return info, lstat, err
}
