package scaffold

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
)

// Default limits of a template, which Options can change.
const (
	DefaultMaxFiles = 100_000
	DefaultMaxBytes = 1 << 30

	// maxNotes limits the bytes of NOTES.txt.
	maxNotes = 1 << 20
)

// Options select the template and the directory to create from it.
type Options struct {
	// Name is the name of the package. For a bundled template it must be
	// valid as the name of a Kubernetes object.
	Name string
	// Template is a name in the catalogue of package templates, or the URL or path
	// of a git repository. The protocols are https, http, ssh, git and file.
	Template string
	// Ref is a branch, tag or commit of the repository. The default is its HEAD.
	// A bundled template has no refs.
	Ref string
	// Dir is the directory to fill. The default is the current one.
	Dir string
	// MaxFiles limits the number of files and folders of the template, and
	// MaxBytes the bytes downloaded and the bytes written. Zero is the default.
	MaxFiles int
	MaxBytes int64
	// Progress is called with zero bytes when a stage begins, and then as bytes are
	// downloaded. total is 0 while it is unknown. Progress may be nil.
	Progress func(text string, done, total int64)
	// Warn is called with sentences about parts of the template that Init does not
	// copy, about links out of the directory, and about a server that does not respond. It
	// may be nil.
	Warn func(text string)
}

// A Result describes the directory that Init has filled.
type Result struct {
	// Name is Options.Name.
	Name string
	// Dir is the absolute path of the directory.
	Dir string
	// URL is the URL or path of the git repository without credentials, or
	// "bundled:" and the name of a bundled template.
	URL string
	// Commit is the full hash of the commit, empty for a bundled template.
	Commit string
	// Ref is the branch, "HEAD" for a tag or commit, or "" for a bundled template.
	Ref string
	// Notes is the untrusted text of NOTES.txt, or "".
	Notes string
	// Script is the absolute path of the template's init.sh, or "".
	Script string

	// Made are the directories that did not exist before, outermost first.
	Made []string
}

// String describes the result in one line, in the words of the crossplane CLI.
func (r Result) String() string {
	source := r.URL
	if r.Commit != "" {
		tree, err := url.JoinPath(r.URL, "tree", r.Commit)
		if err != nil {
			tree = r.URL + "/tree/" + r.Commit
		}
		source = fmt.Sprintf("%s (%s)", tree, r.Ref)
	}
	return fmt.Sprintf("Initialized package %q in directory %q from %s", r.Name, r.Dir, source)
}

// find sets Notes and Script to the text and the path of the template's files.
func (r *Result) find(files []file) error {
	for _, f := range files {
		if f.path != "NOTES.txt" && f.path != "init.sh" {
			continue
		}
		if !f.mode.IsRegular() { // A link could lead to a file outside of the directory.
			return fmt.Errorf("%s is not a regular file", f.path)
		}
		if f.path == "init.sh" {
			r.Script = filepath.Join(r.Dir, f.path)
			continue
		}
		var err error
		if r.Notes, err = f.read(maxNotes); err != nil {
			return fmt.Errorf("reading NOTES.txt: %w", err)
		}
	}
	return nil
}

// Init writes the files of a template to a directory, which must be empty except
// for a .git. It runs no code of the template. If it fails, or ctx is done, it
// leaves the directory as it was.
func Init(ctx context.Context, o Options) (Result, error) {
	o.MaxFiles = cmp.Or(o.MaxFiles, DefaultMaxFiles)
	o.MaxBytes = cmp.Or(o.MaxBytes, DefaultMaxBytes)
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return Result{}, fmt.Errorf("finding directory %q: %w", o.Dir, err)
	}
	if err := checkEmpty(dir, ""); err != nil {
		return Result{}, err
	}
	res, files, err := load(ctx, o)
	if err != nil {
		return Result{}, err
	}
	res.Name, res.Dir = o.Name, dir
	if err := res.find(files); err != nil {
		return Result{}, fmt.Errorf("template %q: %w", res.URL, err)
	}
	for _, f := range files {
		if f.mode == fs.ModeSymlink && leadsOut(f) {
			o.Warn(fmt.Sprintf("symbolic link %q leads out of the directory, to %q", f.path, f.link))
		}
	}
	if res.Made, err = write(ctx, dir, files); err != nil {
		return Result{}, fmt.Errorf("writing template %q to %q: %w", res.URL, dir, err)
	}
	return res, nil
}
