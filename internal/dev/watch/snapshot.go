package watch

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Targets are the files and folders of a Snapshot. Paths are those of this process.
type Targets struct {
	// Paths are files, and folders in which the names of YAML and JSON
	// files are watched. They need not exist.
	Paths []string
	// Sources are the sources of functions: folders of Go main packages,
	// with all files of their modules that are part of the program, and
	// packages as files or OCI image layouts.
	Sources []string
	// Folders are folders in which all files are watched, recursively.
	Folders []string
}

// A Snapshot is the state of files and folders at one time.
type Snapshot struct {
	// files has the stamps of the files of each target, by path.
	files map[target]map[string]stamp
	// Dirs are the folders to watch: without an event in one of them, another
	// Snapshot cannot differ.
	Dirs []string
	// at is the time at which the Snapshot began.
	at time.Time
}

// A target is one of Targets. isSource is true for one of Targets.Sources.
type target struct {
	name     string
	isSource bool
}

// A Change is a file or folder that was changed, created or removed between two
// Snapshots.
type Change struct {
	Path string
	// Source is the one of Targets.Sources that it belongs to, or "" for one of
	// Targets.Paths.
	Source string
}

// A stamp identifies the state of a file. The zero value is that of a missing file.
type stamp struct {
	exists   bool
	folder   bool
	size     int64
	modified time.Time
	// sum is that of a file's content, or of the names in a folder.
	sum [sha256.Size]byte
	// embeds are the patterns that a Go file embeds.
	embeds []string
}

// same reports whether nothing changed. Large files are compared by time.
func (s stamp) same(o stamp) bool {
	return s.exists == o.exists && s.size == o.size && s.sum == o.sum && (s.size <= hashed || s.modified.Equal(o.modified))
}

const (
	// hashed is the size up to which the content of a file is compared, and
	// not only its size and time.
	hashed = 1 << 20
	// racy is the age from which the modification time of a file is
	// reliable, because file systems have coarse clocks.
	racy = 2 * time.Second
	// most limits the number of files of a source.
	most = 20_000
)

// TakeSnapshot returns the state of targets. Files whose size and time are those
// of the former Snapshot, which may be the zero value, are not read again. Now is
// the current time.
func TakeSnapshot(t Targets, former Snapshot, now time.Time) Snapshot {
	l := snapshotter{former: former, dirs: map[string]bool{}}
	snapshot := Snapshot{files: map[target]map[string]stamp{}, at: now}
	for _, p := range t.Paths {
		snapshot.files[target{name: p}] = map[string]stamp{p: l.path(p)}
	}
	for _, s := range t.Sources {
		snapshot.files[target{s, true}] = l.source(s)
	}
	for _, f := range t.Folders {
		snapshot.files[target{name: f}] = map[string]stamp{f: l.folder(f)}
	}
	for dir := range l.dirs {
		snapshot.Dirs = append(snapshot.Dirs, filepath.Clean(dir))
	}
	slices.Sort(snapshot.Dirs)
	snapshot.Dirs = slices.Compact(snapshot.Dirs)
	return snapshot
}

// folder returns one stamp for all files of a folder, because it is not known which
// ones are read.
func (l *snapshotter) folder(folder string) stamp {
	source := sourceSnapshotter{snapshotter: l, files: map[string]stamp{}}
	l.around(folder)
	source.whole(folder)
	sum := sha256.New()
	all := stamp{exists: len(source.files) > 0}
	for _, path := range slices.Sorted(maps.Keys(source.files)) {
		fmt.Fprintf(sum, "%q %d %x\n", path, source.files[path].size, source.files[path].sum)
		all.size += source.files[path].size
	}
	sum.Sum(all.sum[:0])
	return all
}

// Count returns the number of existing files and of folders that are watched.
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

// Since returns the changes since the former Snapshot, sorted by source and path. A
// target that the former one does not have has changed if it was modified after
// began.
func (l Snapshot) Since(former Snapshot, began time.Time) []Change {
	var changes []Change
	for t, now := range l.files {
		source := ""
		if t.isSource {
			source = t.name
		}
		before, known := former.files[t]
		for path, s := range now {
			if known && !s.same(before[path]) || !known && s.exists && s.modified.After(began) {
				changes = append(changes, Change{path, source})
			}
		}
		for path, s := range before {
			if _, ok := now[path]; !ok && s.exists {
				changes = append(changes, Change{path, source})
			}
		}
	}
	slices.SortFunc(changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Path, b.Path))
	})
	return changes
}

// A snapshotter creates one Snapshot.
type snapshotter struct {
	former Snapshot
	dirs   map[string]bool
}

// path records a file, or the names in a folder.
func (l *snapshotter) path(path string) stamp {
	l.around(path)
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return stamp{}
	case info.IsDir():
		l.dirs[filepath.Clean(path)] = true
		return names(path, info)
	}
	return l.file(path, info, l.former.files[target{name: path}][path])
}

// around records the folder of a path, or the nearest one that exists, and the
// target folder of a link.
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

// names returns the stamp of a folder. It depends on the names of files, not on
// their content.
func names(path string, info fs.FileInfo) stamp {
	entries, err := os.ReadDir(path)
	if err != nil {
		return stamp{}
	}
	var all []string
	for _, e := range entries {
		hidden := strings.HasPrefix(e.Name(), ".")
		if !hidden && (e.IsDir() || slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(e.Name()))) {
			all = append(all, e.Name())
		}
	}
	return stamp{exists: true, folder: true, modified: info.ModTime(), sum: sha256.Sum256([]byte(strings.Join(all, "\x00")))}
}

// file reads a file, unless the former stamp is still valid.
func (l *snapshotter) file(path string, info fs.FileInfo, former stamp) stamp {
	s := stamp{exists: true, size: info.Size(), modified: info.ModTime()}
	if !info.Mode().IsRegular() || s.size > hashed {
		return s
	}
	if former.exists && former.size == s.size && former.modified.Equal(s.modified) && s.modified.Before(l.former.at.Add(-racy)) {
		return former
	}
	text, err := read(path)
	if err != nil {
		return stamp{exists: !errors.Is(err, fs.ErrNotExist)}
	}
	s.size, s.sum = int64(len(text)), sha256.Sum256(text)
	if filepath.Ext(path) == ".go" {
		s.embeds = embeds(text)
	}
	return s
}

// read reads a file up to a limit, because it may have grown.
func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, hashed+1))
}
