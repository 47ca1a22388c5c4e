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

// Targets are the files and folders whose state a Snapshot records.
type Targets struct {
	// Paths are files and folders. For a folder, the names of the YAML and
	// JSON files in it are recorded. A path need not exist.
	Paths []string
	// Sources are sources of functions. For the folder of a Go main
	// package, all files of its module that are part of the program are
	// recorded. Other sources are package files and OCI image layouts.
	Sources []string
	// Folders are folders in which all files are watched, recursively.
	Folders []string
}

// A Snapshot is the state of files and folders at one time.
type Snapshot struct {
	// files has the state of each target's files, by path.
	files map[target]map[string]stamp
	// Dirs are the folders to watch: files can only change with an event in
	// one of them.
	Dirs []string
	// at is the time at which the Snapshot was started.
	at time.Time
}

// A target is one of Targets. isSource is true if it is in Targets.Sources.
type target struct {
	name     string
	isSource bool
}

// A Change is a file or folder that was changed, created or removed between two
// Snapshots.
type Change struct {
	Path string
	// Source is the source in Targets.Sources that the path belongs to. It
	// is "" for other targets.
	Source string
}

// A stamp is the recorded state of a file. The zero value is a file that does
// not exist.
type stamp struct {
	exists   bool
	folder   bool
	size     int64
	modified time.Time
	// sum is the digest of a file's content, or of the names in a folder.
	sum [sha256.Size]byte
	// embeds has the patterns of the embed directives in a Go file.
	embeds []string
}

// same reports whether nothing changed. Large files are compared by time.
func (s stamp) same(o stamp) bool {
	return s.exists == o.exists && s.size == o.size && s.sum == o.sum && (s.size <= hashed || s.modified.Equal(o.modified))
}

const (
	// hashed is the maximum size of files that are compared by content.
	// Larger files are compared by size and time.
	hashed = 1 << 20
	// racy is the age from which a modification time is reliable. A younger
	// file may change again without a new time, because clocks are coarse.
	racy = 2 * time.Second
	// most limits the number of files of a source.
	most = 20_000
)

// TakeSnapshot returns the state of targets at the time now. A file with the
// size and time that it has in the former Snapshot is not read again. The
// former Snapshot may be the zero value.
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

// folder returns one stamp for all files in a folder. It is not known which of
// them are read.
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

// Since returns the changes from the former Snapshot to l, sorted by source and
// path. The files of a target that is only in l count as changed if they were
// modified after began.
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

// path returns the stamp of a file, or of the names in a folder.
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

// around adds the folders of a path to Dirs: its folder, or the nearest parent
// that exists, and the folder of the file to which a link points.
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

// read reads at most hashed+1 bytes of a file, which may have grown.
func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, hashed+1))
}
