package scaffold

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/remote/clone"
	"github.com/xfn-dev/xfn/templates"
)

// load reads the template that o names. It returns its files, and a Result with
// only the fields that describe its origin.
func load(ctx context.Context, o Options) (Result, []file, error) {
	t, known := templates.Lookup(o.Template)
	switch {
	case known && t.Files != nil:
		return loadBundled(t, o)
	case known:
		return loadRepository(ctx, t.URL, o)
	case isBareWord(o.Template):
		next := "name one of " + strings.Join(templates.Names(), ", ") + ", or give the URL of a git repository or a path to one"
		if near := hint.Nearest(o.Template, templates.Names()); near != "" {
			next = "did you mean " + near + "? Otherwise " + next
		}
		return Result{}, nil, hint.Wrap(fmt.Errorf("unknown template %q", o.Template), next)
	}
	return loadRepository(ctx, o.Template, o)
}

// isBareWord reports whether template can only be the short name of a template,
// and not a path or URL.
func isBareWord(template string) bool {
	if strings.ContainsAny(template, `/\:`) {
		return false
	}
	_, err := os.Lstat(template)
	return template == "" || err != nil
}

func loadBundled(t templates.Template, o Options) (Result, []file, error) {
	if o.Ref != "" {
		return Result{}, nil, hint.Wrap(fmt.Errorf("template %q has no branch, tag or commit %q, because it is bundled with this program", t.Name, o.Ref),
			"leave the ref out, or use a template in a git repository")
	}
	if err := checkName(o.Name); err != nil {
		return Result{}, nil, err
	}
	files, err := renamed(t.Files, o.Name)
	if err != nil {
		return Result{}, nil, fmt.Errorf("reading template %q: %w", t.Name, err)
	}
	return Result{URL: "bundled:" + t.Name}, files, nil
}

func loadRepository(ctx context.Context, from string, o Options) (Result, []file, error) {
	shown := clone.Redact(from)
	plain := progress.FromPlain(o.Progress)
	report := progress.Func(func(e progress.Event) {
		if e.Kind == progress.Note && o.Warn != nil {
			o.Warn(e.Text)
			return
		}
		plain.Send(e)
	})
	report.Step("reading template " + shown)
	snap, err := clone.Commit(ctx, clone.Options{URL: from, Ref: o.Ref, MaxBytes: o.MaxBytes, Progress: report})
	if err != nil {
		return Result{}, nil, explainRepository(fmt.Errorf("reading template %q: %w", shown, err))
	}
	w := &walker{ctx: ctx, objects: snap.Objects, maxFiles: o.MaxFiles, bytesLeft: o.MaxBytes, maxBytes: o.MaxBytes, warn: o.Warn}
	if err := w.walk(snap.Tree, "", 0); err != nil {
		return Result{}, nil, fmt.Errorf("reading template %q at commit %s: %w", shown, snap.Commit, err)
	}
	return Result{URL: shown, Commit: snap.Commit, Ref: snap.Ref}, w.files, nil
}

// explainRepository adds a hint to err if the server cannot be reached, or if a path on this machine
// is not a git repository.
func explainRepository(err error) error {
	if hint.Of(err) == clone.CheckNetwork {
		return hint.Wrap(err, clone.CheckNetwork+"; the bundled template go needs neither")
	}
	var none *clone.NoRepositoryError
	if !errors.As(err, &none) {
		return err
	}
	if _, missing := os.Stat(none.Path); missing == nil {
		return hint.Wrap(err, "a template is read from a commit: run git init, git add and git commit in this directory")
	}
	next := cmp.Or(manifest.Similar(afero.NewOsFs(), none.Path), "no file or directory has this path: name the path of a git repository, or one of the templates "+hint.Hint(strings.Join(templates.Names(), ", ")))
	return hint.Wrap(err, next)
}

// label matches label names of RFC 1123 that begin with a letter.
var label = proc.Regexp(`^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`)

// checkName returns an error unless name can be both a Go module and the name
// of a Kubernetes object.
func checkName(name string) error {
	if !label().MatchString(name) {
		return hint.Wrap(fmt.Errorf("%q cannot name a function: the name must be valid as a Kubernetes name and as a Go module path", name),
			"use at most 63 lower-case letters, digits and dashes, beginning with a letter and ending with a letter or a digit, such as function-colors")
	}
	if slices.Contains(goNames, name) {
		return hint.Wrap(fmt.Errorf("%q cannot name a function: the standard library or the go command uses this name", name), "use a longer name, such as function-"+name)
	}
	return nil
}

// goNames cannot name a Go module. They are the first elements of import paths
// of the standard library, and names that the go command reserves.
var goNames = strings.Fields(`
	all cmd go std tool work
	archive arena bufio builtin bytes cmp compress container context crypto database
	debug embed encoding errors expvar flag fmt hash html image index internal io
	iter log maps math mime net os path plugin reflect regexp runtime simd slices
	sort strconv strings structs sync syscall testing text time unicode unique
	unsafe vendor weak`)

// renamed returns the files of a bundled template, with the placeholder replaced by name.
func renamed(from fs.FS, name string) ([]file, error) {
	var files []file
	err := fs.WalkDir(from, ".", func(at string, d fs.DirEntry, err error) error {
		if err != nil || at == "." {
			return err
		}
		to := strings.ReplaceAll(strings.TrimSuffix(at, ".tmpl"), templates.Placeholder, name)
		if d.IsDir() {
			files = append(files, file{path: to, mode: fs.ModeDir})
			return nil
		}
		data, err := fs.ReadFile(from, at)
		if err != nil {
			return err
		}
		if utf8.Valid(data) {
			data = bytes.ReplaceAll(data, []byte(templates.Placeholder), []byte(name))
		}
		files = append(files, file{path: to, mode: 0o644, size: int64(len(data)), open: func() (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(data)), nil
		}})
		return nil
	})
	return files, err
}
