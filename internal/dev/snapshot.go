package dev

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/manifest"
)

// Targets are the files and folders whose state a Snapshot records.
type Targets struct {
	// Paths are files and folders. For a folder, the Snapshot records the names
	// of the YAML and JSON files in it. A path need not exist.
	Paths []string
	// Sources are sources of functions. For the folder of a Go main package, the
	// Snapshot records all files of its module that are part of the program.
	// Other sources are package files and OCI image layouts.
	Sources []string
	// Folders are folders in which all files are recorded, recursively.
	Folders []string
}

// A Snapshot is the state of files and folders at one time.
type Snapshot struct {
	// files has the state of each target's files, by path.
	files map[target]map[string]stamp
	// within has the state of the files in Targets.Folders, by folder and path.
	within map[string]map[string]stamp
	// Dirs are the folders that must be watched. Any change of a recorded file
	// causes an event in one of them.
	Dirs []string
	// at is the time at which TakeSnapshot was called.
	at time.Time
}

// A target is an element of Targets: a source, or another path.
type target struct{ path, source string }

// A Change is a file or folder that was changed, created or removed between two Snapshots.
type Change struct {
	Path string
	// Source is the element of Targets.Sources to which the path belongs. For a
	// path that belongs to another target, it is "".
	Source string
}

// A stamp is the recorded state of a file or folder. The zero value means that it
// does not exist.
type stamp struct {
	exists   bool
	folder   bool
	size     int64
	modified time.Time
	// sum is the digest of a file's content, or of the file names in a folder.
	sum [sha256.Size]byte
	// embeds has the patterns of the go:embed directives in a Go file.
	embeds []string
}

// same reports whether the file or folder has not changed. Files larger than
// hashed are compared by modification time, smaller files by content.
func (s stamp) same(o stamp) bool {
	return s.exists == o.exists && s.size == o.size && s.sum == o.sum && (s.size <= hashed || s.modified.Equal(o.modified))
}

const (
	// hashed is the maximum size in bytes of files that are compared by content.
	// Larger files are compared by size and modification time.
	hashed = 1 << 20
	// racy is the minimum age of a reliable modification time. If a time is
	// younger, the file may change again without a new time, because the clocks
	// of file systems are coarse.
	racy = 2 * time.Second
	// mostFiles is the maximum number of files that are recorded for a source.
	mostFiles = 20_000
)

// TakeSnapshot returns the state of targets at the time now. A file that has the
// same size and modification time as in the former Snapshot is not read again.
// The former Snapshot may be the zero value.
func TakeSnapshot(t Targets, former Snapshot, now time.Time) Snapshot {
	l := snapshotter{former: former, dirs: map[string]bool{}, within: map[string]map[string]stamp{}}
	snapshot := Snapshot{files: map[target]map[string]stamp{}, within: l.within, at: now}
	for _, p := range t.Paths {
		snapshot.files[target{path: p}] = map[string]stamp{p: l.path(p)}
	}
	for _, s := range t.Sources {
		snapshot.files[target{source: s}] = l.source(s)
	}
	for _, f := range t.Folders {
		snapshot.files[target{path: f}] = map[string]stamp{f: l.folder(f)}
	}
	for dir := range l.dirs {
		snapshot.Dirs = append(snapshot.Dirs, filepath.Clean(dir))
	}
	snapshot.Dirs = union(snapshot.Dirs)
	return snapshot
}

// folder returns one stamp for all files in a folder together, because it is not known which
// of the files are read. The folder may be a symbolic link. The modification time of the
// stamp is the latest modification time of these files.
func (l *snapshotter) folder(folder string) stamp {
	source := sourceSnapshotter{snapshotter: l, files: map[string]stamp{}, former: l.former.within[folder]}
	l.within[folder] = source.files
	l.around(folder)
	root := folder
	if real, err := filepath.EvalSymlinks(folder); err == nil {
		root = real
	}
	source.whole(root)
	sum := sha256.New()
	all := stamp{exists: len(source.files) > 0}
	for _, path := range slices.Sorted(maps.Keys(source.files)) {
		file := source.files[path]
		fmt.Fprintf(sum, "%q %d %x\n", path, file.size, file.sum)
		if file.size > hashed {
			fmt.Fprintln(sum, file.modified.UnixNano())
		}
		if file.modified.After(all.modified) {
			all.modified = file.modified
		}
	}
	sum.Sum(all.sum[:0])
	return all
}

// Count returns the number of recorded files that exist, and of folders that are watched.
func (l Snapshot) Count() (files, folders int) {
	for _, stamps := range l.files {
		for _, s := range stamps {
			if s.exists && !s.folder {
				files++
			}
		}
	}
	return files, len(l.Dirs)
}

// Since returns the changes from the former Snapshot to l, sorted by source and
// path. For a target that the former Snapshot does not have, the changes are the
// files that were modified after the time began.
func (l Snapshot) Since(former Snapshot, began time.Time) []Change {
	var changes []Change
	for t, now := range l.files {
		before, known := former.files[t]
		for path, s := range now {
			if known && !s.same(before[path]) || !known && s.exists && s.modified.After(began) {
				changes = append(changes, Change{path, t.source})
			}
		}
		for path, s := range before {
			if _, ok := now[path]; !ok && s.exists {
				changes = append(changes, Change{path, t.source})
			}
		}
	}
	slices.SortFunc(changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Path, b.Path))
	})
	return changes
}

// A snapshotter creates one Snapshot. former is the Snapshot before it.
type snapshotter struct {
	former Snapshot
	dirs   map[string]bool
	within map[string]map[string]stamp
}

// path returns the stamp of a file, or of a folder and the file names in it.
func (l *snapshotter) path(path string) stamp {
	l.around(path)
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return stamp{}
	case info.IsDir():
		l.dirs[filepath.Clean(path)] = true
		return folderStamp(path, info)
	}
	return l.file(path, info, l.former.files[target{path: path}][path])
}

// around adds folders to l.dirs, so that any change of path is noticed. They are
// the folder of path, or its nearest parent that exists, and the folder of the
// file to which a symbolic link points.
func (l *snapshotter) around(path string) {
	dir := filepath.Dir(path)
	for info, err := os.Stat(dir); (err != nil || !info.IsDir()) && filepath.Dir(dir) != dir; info, err = os.Stat(dir) {
		dir = filepath.Dir(dir)
	}
	l.dirs[dir] = true
	if real, err := filepath.EvalSymlinks(path); err == nil && filepath.Clean(real) != filepath.Clean(path) {
		l.dirs[filepath.Dir(real)] = true
	}
}

// folderStamp returns the stamp of a folder. It depends on the names of the files in
// the folder, but not on their content.
func folderStamp(path string, info fs.FileInfo) stamp {
	entries, err := os.ReadDir(path)
	if err != nil {
		return stamp{}
	}
	var all []string
	for _, e := range entries {
		hidden := strings.HasPrefix(e.Name(), ".")
		if !hidden && (e.IsDir() || manifest.IsYAML(e.Name()) || filepath.Ext(e.Name()) == ".json") {
			all = append(all, e.Name())
		}
	}
	return stamp{exists: true, folder: true, modified: info.ModTime(), sum: sha256.Sum256([]byte(strings.Join(all, "\x00")))}
}

// file returns the stamp of a file. It reads the file unless the former stamp is
// still valid.
func (l *snapshotter) file(path string, info fs.FileInfo, former stamp) stamp {
	s := stamp{exists: true, size: info.Size(), modified: info.ModTime()}
	if !info.Mode().IsRegular() || s.size > hashed {
		return s
	}
	if former.exists && former.size == s.size && former.modified.Equal(s.modified) && s.modified.Before(l.former.at.Add(-racy)) {
		return former
	}
	text, err := fsx.ReadFile(path, hashed) // The file may have grown since its size was read.
	if err != nil {
		return stamp{exists: !errors.Is(err, fs.ErrNotExist)}
	}
	s.size, s.sum = int64(len(text)), sha256.Sum256(text)
	if filepath.Ext(path) == ".go" {
		s.embeds = embeds(text)
	}
	return s
}
