package scaffold

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"path/filepath"
)

// Limits of a template, unless Options has others.
const (
	DefaultMaxFiles = 100_000
	DefaultMaxBytes = 1 << 30
)

// Options say which template becomes which directory.
type Options struct {
	// Name is the name of the new package. For a bundled template it must be
	// both a Go module path and a Kubernetes name.
	Name string
	// Template is a name in the catalogue of package templates, the URL of a git
	// repository, or the path of one. URLs are those that git clone supports
	// with the protocols https, http, ssh and file.
	Template string
	// Ref is a branch, tag or commit of the repository. Empty means its HEAD. A
	// bundled template has no refs.
	Ref string
	// Dir is the directory to fill. Empty means the current one. It is created,
	// with its parents, if it does not exist.
	Dir string
	// MaxFiles limits the number of files and folders of the template, and
	// MaxBytes their total size, both downloaded and written. Zero means the
	// default.
	MaxFiles int
	MaxBytes int64
	// Progress is called for each stage, with zero bytes, and as bytes are
	// downloaded; total is 0 while it is unknown. It may be nil.
	Progress func(text string, done, total int64)
	// Warn is called with sentences about parts of the template that are not
	// copied, or that may surprise. It may be nil.
	Warn func(text string)
}

func (o Options) warn(text string) {
	if o.Warn != nil {
		o.Warn(text)
	}
}

// A Result describes the directory that Init has filled.
type Result struct {
	// Name is Options.Name.
	Name string
	// Dir is the absolute path of the directory.
	Dir string
	// URL is the origin of the template, without credentials: the git URL or
	// path, or "bundled:" and a name.
	URL string
	// Commit is the full hash of the commit, empty for a bundled template.
	Commit string
	// Ref is the branch, or "HEAD" if Options.Ref is a tag or a commit. It is
	// empty for a bundled template.
	Ref string
	// Notes is the text of the template's NOTES.txt, empty if there is none. It
	// is untrusted, and may have control characters.
	Notes string
	// Script is the absolute path of the template's init.sh, empty if there is
	// none.
	Script string

	// Made are the directories that did not exist before, outermost first.
	Made []string
}

// String describes the result in one line, in the words of the crossplane CLI.
func (r Result) String() string {
	return fmt.Sprintf("Initialized package %q in directory %q from %s", r.Name, r.Dir, r.source())
}

func (r Result) source() string {
	if r.Commit == "" {
		return r.URL
	}
	tree, err := url.JoinPath(r.URL, "tree", r.Commit)
	if err != nil {
		tree = r.URL + "/tree/" + r.Commit
	}
	return fmt.Sprintf("%s (%s)", tree, r.Ref)
}

// Init writes the files of a template to a directory, which must be empty except
// for a .git. It runs no code of the template. If it fails, or ctx is done, it
// leaves the directory as it was.
func Init(ctx context.Context, o Options) (Result, error) {
	o.MaxFiles = cmp.Or(o.MaxFiles, DefaultMaxFiles)
	o.MaxBytes = cmp.Or(o.MaxBytes, DefaultMaxBytes)
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return Result{}, fmt.Errorf("finding directory %q: %w", o.Dir, err)
	}
	if err := checkEmpty(dir); err != nil {
		return Result{}, err
	}
	res, files, err := load(ctx, o)
	if err != nil {
		return Result{}, err
	}
	res.Name, res.Dir = o.Name, dir
	if res.Notes, err = notes(files); err != nil {
		return Result{}, fmt.Errorf("template %q: %w", res.URL, err)
	}
	if res.Script, err = script(dir, files); err != nil {
		return Result{}, fmt.Errorf("template %q: %w", res.URL, err)
	}
	warnOfLinks(o.warn, files)
	if res.Made, err = write(ctx, dir, files); err != nil {
		return Result{}, fmt.Errorf("writing template %q to %q: %w", res.URL, dir, err)
	}
	return res, nil
}
