package manifest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/proc"

	"github.com/spf13/afero"
)

// MaxSize is the maximum size in bytes of a file that a Reader reads. Stream limits the
// size of each document and not of the file.
const MaxSize = 128 << 20

// ErrEmpty is the error of a file without documents.
var ErrEmpty = errors.New("there is no YAML document")

// Stdin is the path of standard input.
const Stdin = "-"

// IsFile reports whether a path with this mode, found in a folder, is a regular file or a symbolic
// link to one. The files of a mounted ConfigMap are such links. IsFile also returns true for a link
// that cannot be followed, so that reading it returns an error. It returns false if the name of such
// a link is hidden, because editors lock files with hidden links.
func IsFile(fsys afero.Fs, path string, mode fs.FileMode) bool {
	if mode&fs.ModeSymlink == 0 {
		return mode.IsRegular()
	}
	info, err := fsys.Stat(path)
	if err != nil {
		return !strings.HasPrefix(filepath.Base(path), ".")
	}
	return info.Mode().IsRegular()
}

// IsYAML reports whether a path has an extension of YAML: ".yaml" or ".yml", in lower case.
func IsYAML(path string) bool {
	ext := filepath.Ext(path)
	return ext == ".yaml" || ext == ".yml"
}

// A Reader reads YAML documents from files, folders and standard input.
type Reader struct {
	// FS is the file system that paths refer to.
	FS afero.Fs
	// Stdin is the content of path "-", which is an error if Stdin is nil.
	Stdin io.Reader
	// Documents, if not nil, returns the documents of a path that is not a file. It must be
	// safe for concurrent use.
	Documents func(path string) ([]Document, bool)
	// Warn, if not nil, is called with the errors that Document.Typography and Document.Ignored
	// return for documents that are read from files, perhaps repeatedly. It must be safe for
	// concurrent use.
	Warn func(text string)
	// Streams, if not nil, keeps the content of standard input and pipes, so that they can be read
	// several times.
	Streams *proc.Memo[string, []byte]
}

// Suspect calls r.Warn for documents.
func (r Reader) Suspect(docs ...Document) {
	if r.Warn == nil {
		return
	}
	for _, doc := range docs {
		for _, err := range doc.Typography() {
			r.Warn(err.Error())
		}
		if err := doc.Ignored(); err != nil {
			r.Warn(err.Error())
		}
	}
}

// First returns the first document of a file, and whether more documents follow. If the
// file has no documents, the error is ErrEmpty.
func (r Reader) First(ctx context.Context, path string) (doc Document, more bool, err error) {
	docs, err := r.file(ctx, path)
	if err != nil {
		return Document{}, false, err
	}
	if len(docs) == 0 {
		return Document{}, false, &Error{Path: path, Err: ErrEmpty}
	}
	return docs[0], len(docs) > 1, nil
}

// FirstObject returns the object in the first document of a file, and the document.
func (r Reader) FirstObject(ctx context.Context, path string) (map[string]any, Document, error) {
	doc, _, err := r.First(ctx, path)
	if err != nil {
		return nil, doc, err
	}
	obj, err := doc.Object()
	return obj, doc, err
}

// All returns the documents of a file. For a folder, it returns the documents of its .yaml
// and .yml files, in the order of the file names, without sub-folders. A pipe in a folder is not
// read: a reader would wait for its writer.
func (r Reader) All(ctx context.Context, path string) ([]Document, error) {
	if docs, ok := r.given(path); ok {
		return docs, nil
	}
	if path == Stdin {
		return r.file(ctx, path)
	}
	dir, err := afero.IsDir(r.FS, path)
	if err != nil {
		return nil, r.unreadable(path, err)
	}
	if !dir {
		return r.file(ctx, path)
	}
	entries, err := afero.ReadDir(r.FS, path)
	if err != nil {
		return nil, fmt.Errorf("reading folder %q: %w", path, fsx.Cause(err))
	}
	var all []Document
	for _, e := range entries {
		at := filepath.Join(path, e.Name())
		if !IsYAML(e.Name()) || !IsFile(r.FS, at, e.Mode()) {
			continue
		}
		docs, err := r.file(ctx, at)
		if err != nil {
			return nil, err
		}
		all = append(all, docs...)
	}
	return all, nil
}

// JSON returns the documents of a JSON file, or of all .json files in a folder and its sub-folders,
// in the order of the paths. At least one document is required.
func (r Reader) JSON(ctx context.Context, path string) (docs []Document, err error) {
	_, given := r.given(path)
	if dir, _ := afero.IsDir(r.FS, path); given || !dir {
		docs, err = r.All(ctx, path)
	} else {
		// afero.Walk follows a link only if the path ends in a separator.
		err = afero.Walk(r.FS, path+string(filepath.Separator), func(name string, info fs.FileInfo, err error) error {
			switch {
			case err != nil:
				return r.unreadable(name, err)
			case filepath.Ext(name) != ".json" || !IsFile(r.FS, name, info.Mode()):
				return nil
			}
			some, err := r.file(ctx, name)
			docs = append(docs, some...)
			return err
		})
	}
	if err == nil && len(docs) == 0 {
		err = fmt.Errorf("reading %q: there is no JSON file", path)
	}
	return docs, err
}

// given returns the result of r.Documents, if it is set.
func (r Reader) given(path string) ([]Document, bool) {
	if r.Documents == nil {
		return nil, false
	}
	return r.Documents(path)
}

func (r Reader) file(ctx context.Context, path string) ([]Document, error) {
	if docs, ok := r.given(path); ok {
		return docs, nil
	}
	defer proc.EnterActivity(ctx, fmt.Sprintf("reading %q", path))()
	data, err := r.Bytes(ctx, path)
	if err != nil {
		return nil, err
	}
	return proc.Await(ctx, func() ([]Document, error) {
		docs, err := Split(path, data)
		r.Suspect(docs...)
		return docs, err
	})
}

// Bytes returns the content of a file, which may have any format. Callers must not change the bytes.
func (r Reader) Bytes(ctx context.Context, path string) (data []byte, err error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("reading %q: %w", path, context.Cause(ctx))
	}
	size := r.size(path)
	if r.Streams != nil && size == 0 && r.IsStream(path) {
		return r.Streams.Do(path, func() ([]byte, error) { return r.bytes(ctx, path, size) })
	}
	return r.bytes(ctx, path, size)
}

// IsStream reports whether a path is standard input or a pipe, which cannot be read twice.
func (r Reader) IsStream(path string) bool {
	info, err := r.FS.Stat(path)
	return path == Stdin || err == nil && !info.IsDir() && !info.Mode().IsRegular()
}

// bytes returns the content of a file of a size, which is 0 if it is unknown.
func (r Reader) bytes(ctx context.Context, path string, size int64) (data []byte, err error) {
	tooLarge := fmt.Errorf("reading %q: the file is larger than %d MiB", path, MaxSize>>20)
	if size > MaxSize {
		return nil, tooLarge
	}
	in, stop := r.open(ctx, path)
	defer stop()
	var all bytes.Buffer
	all.Grow(int(size) + bytes.MinRead)
	if _, err = all.ReadFrom(io.LimitReader(in, MaxSize+1)); err != nil {
		return nil, r.unreadable(path, err)
	}
	if all.Len() > MaxSize {
		return nil, tooLarge
	}
	return all.Bytes(), nil
}

// size returns the size of a file, or 0 if it is unknown.
func (r Reader) size(path string) int64 {
	if path == Stdin {
		return 0
	}
	info, err := r.FS.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return 0
	}
	return info.Size()
}

// CheckExists returns the error of reading path if nothing exists there. Standard input exists.
func (r Reader) CheckExists(path string) error {
	if _, err := r.FS.Stat(path); path != Stdin && errors.Is(err, fs.ErrNotExist) {
		return r.unreadable(path, err)
	}
	return nil
}

// Some is like All, but a folder without YAML files is an error, as in the crossplane CLI. A file
// without documents is not.
func (r Reader) Some(ctx context.Context, path string) ([]Document, error) {
	docs, err := r.All(ctx, path)
	if err == nil && len(docs) == 0 {
		err = r.CheckHasYAML(path)
	}
	return docs, err
}

// CheckHasYAML returns the error for a folder without YAML files, and nil for other paths, which it
// does not open: the content of a pipe can be read only once.
func (r Reader) CheckHasYAML(path string) error {
	if isDir, _ := afero.IsDir(r.FS, path); !isDir {
		return nil
	}
	entries, err := afero.ReadDir(r.FS, path)
	isYAML := func(e fs.FileInfo) bool {
		return IsYAML(e.Name()) && IsFile(r.FS, filepath.Join(path, e.Name()), e.Mode())
	}
	if err != nil || slices.ContainsFunc(entries, isYAML) {
		return nil
	}
	advice := hint.Hint("name a file, or another directory")
	if slices.ContainsFunc(entries, fs.FileInfo.IsDir) {
		advice += ": directories in it are not read"
	}
	return hint.Wrap(fmt.Errorf("the directory %q has no .yaml or .yml file", path), cmp.Or(Misnamed(r.FS, path), advice))
}

// unreadable returns the error for a path that cannot be read. If it does not exist, the hint
// is the path in the same folder with the most similar name.
func (r Reader) unreadable(path string, err error) error {
	missing := errors.Is(err, fs.ErrNotExist)
	if l, ok := r.FS.(afero.Lstater); ok && missing {
		if info, _, e := l.LstatIfPossible(path); e == nil && info.Mode()&fs.ModeSymlink != 0 {
			err = fmt.Errorf("reading %q: the target of the symbolic link: %w", path, fsx.Cause(err))
			return hint.Wrap(err, "remove the link, or make it lead to a file")
		}
	}
	err = fmt.Errorf("reading %q: %w", path, fsx.Cause(err))
	if missing && strings.Contains(path, "://") {
		return hint.Wrap(err, "URLs are not read: download the file first, as with curl -O, or write - and pipe it")
	}
	if near := Similar(r.FS, path); near != "" && missing {
		return hint.Wrap(err, near)
	}
	return err
}

var almostYAML = proc.Regexp(`(?i)\.ya?ml(?:\.txt)?$`)

// Misnamed returns the hint to rename the files in folders whose names look like YAML, but have another
// extension. Without such files, it returns "".
func Misnamed(fsys afero.Fs, folders ...string) hint.Hint {
	var names []string
	for _, folder := range folders {
		entries, _ := afero.ReadDir(fsys, folder) // A file has no entries.
		for _, e := range entries {
			if !e.IsDir() && !IsYAML(e.Name()) && almostYAML().MatchString(e.Name()) {
				names = append(names, filepath.Join(folder, e.Name()))
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	return hint.Hint("rename " + strings.Join(names, ", ") + ": only files that end in .yaml or .yml are read")
}

// Similar returns a hint for a path that does not exist. It suggests the same name in a folder
// beside it, or else the most similar name in its own folder. It returns "" if there is neither or
// the path exists. If path is a comma-separated list of existing paths, the hint says to name each
// path separately.
func Similar(fsys afero.Fs, path string) hint.Hint {
	isMissing := func(p string) bool { _, err := fsys.Stat(p); return err != nil }
	if !isMissing(path) {
		return ""
	}
	if several := strings.Split(path, ","); len(several) > 1 && !slices.ContainsFunc(several, isMissing) {
		return "the commas are read as a part of the name: repeat the flag or argument for each file"
	}
	entries, err := afero.ReadDir(fsys, filepath.Dir(filepath.Clean(path)))
	if err != nil {
		return ""
	}
	var names []string
	for _, e := range entries {
		if e.Name() == filepath.Base(path) {
			return ""
		}
		names = append(names, e.Name())
	}
	dir, base := filepath.Split(filepath.Clean(path))
	near := ""
	for i := 0; i < len(names) && near == ""; i++ {
		if below := filepath.Join(names[i], base); !isMissing(filepath.Join(dir, below)) {
			near = below
		}
	}
	if near = cmp.Or(near, hint.Nearest(base, names)); near == "" {
		return ""
	}
	return hint.Hint("did you mean " + filepath.Join(dir, near) + "?")
}
