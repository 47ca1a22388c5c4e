package scaffold

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"path/filepath"

	"github.com/xfn-dev/xfn/internal/progress"
)

// What a template may be, unless Options say otherwise.
const (
	DefaultMaxFiles = 100_000
	DefaultMaxBytes = 1 << 30
)

// Options say what to make of which template.
type Options struct {
	// Name is that of the new package. Any will do for a template in a git
	// repository. For a bundled one it has to be a Go module path and a
	// Kubernetes name.
	Name string
	// Template is a name of the catalogue, the URL of a git repository in a
	// form that clone.Options describes, or a path to one.
	Template string
	// Ref is the branch, tag or commit; empty for the repository's HEAD. A
	// bundled template has none.
	Ref string
	// Dir is the directory to fill, the current one if empty. It and its
	// parents are made if they do not exist.
	Dir string
	// MaxFiles and MaxBytes bound the template: how many files and folders,
	// and of what size in sum, transferred and written. 0 is the default.
	MaxFiles int
	MaxBytes int64
	// Progress learns what happens. It may be nil.
	Progress progress.Func
}

// A Result says what was made.
type Result struct {
	// Name is that of the package, as it was given.
	Name string
	// Dir is the absolute path of the directory.
	Dir string
	// URL is where the template came from, without credentials: a git URL or
	// path as it was given, or "bundled:" and a name.
	URL string
	// Commit is the commit's full hash, empty for a bundled template.
	Commit string
	// Ref is the branch, or "HEAD" for a tag or a commit that was asked for.
	// It is empty for a bundled template.
	Ref string
	// Notes is what the template's NOTES.txt says, empty if there is none.
	// They are a stranger's words, with whatever control characters.
	Notes string
	// Script is the absolute path of the template's init.sh, empty if there
	// is none.
	Script string

	// Made are the directories that did not exist before, outermost first.
	Made []string
}

// String says in one line what was made of what, in the words of the crossplane
// CLI.
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

// Init fills a directory, which must be empty but for a .git, with the files of
// a template. It runs nothing. If it returns an error, also for ctx's end, the
// directory is as it was.
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
	warnOfLinks(o.Progress, files)
	if res.Made, err = write(ctx, dir, files); err != nil {
		return Result{}, fmt.Errorf("writing template %q to %q: %w", res.URL, dir, err)
	}
	return res, nil
}
