package scaffold

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/xfn-dev/xfn/init/internal/clone"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/templates"
)

// load reads the template that o names into memory, with as much of a Result
// as comes from there.
func load(ctx context.Context, o Options) (Result, []file, error) {
	t, known := templates.Lookup(o.Template)
	switch {
	case known && t.Files != nil:
		return loadBundled(t, o)
	case known:
		return loadRepository(ctx, t.URL, o)
	case isBareWord(o.Template):
		return Result{}, nil, hint.Wrap(fmt.Errorf("unknown template %q", o.Template),
			"name one of "+strings.Join(templates.Names(), ", ")+", or give the URL of a git repository or a path to one")
	}
	return loadRepository(ctx, o.Template, o)
}

// isBareWord says whether template can only have been meant for a name.
func isBareWord(template string) bool {
	if strings.ContainsAny(template, `/\:`) {
		return false
	}
	_, err := os.Lstat(template)
	return template == "" || err != nil
}

func loadBundled(t templates.Template, o Options) (Result, []file, error) {
	if o.Ref != "" {
		return Result{}, nil, hint.Wrap(fmt.Errorf("template %q has no branch, tag or commit %q: it comes with this program", t.Name, o.Ref),
			"leave the ref out, or name a template in a git repository")
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
	report := progress.FromPlain(o.Progress)
	report.Step("reading template " + shown)
	snap, err := clone.Commit(ctx, clone.Options{URL: from, Ref: o.Ref, MaxBytes: o.MaxBytes, Progress: report})
	if err != nil {
		return Result{}, nil, fmt.Errorf("reading template %q: %w", shown, err)
	}
	w := &walker{ctx: ctx, objects: snap.Objects, maxFiles: o.MaxFiles, bytesLeft: o.MaxBytes, maxBytes: o.MaxBytes, warn: o.warn}
	if err := w.walk(snap.Tree, "", 0); err != nil {
		return Result{}, nil, fmt.Errorf("reading template %q at commit %s: %w", shown, snap.Commit, err)
	}
	return Result{URL: shown, Commit: snap.Commit, Ref: snap.Ref}, w.files, nil
}

// notes returns what NOTES.txt says.
func notes(files []file) (string, error) {
	f, err := regular(files, "NOTES.txt")
	if f == nil || err != nil {
		return "", err
	}
	const most = 1 << 20
	if f.size > most {
		return "", fmt.Errorf("NOTES.txt is larger than the %d bytes that are allowed", most)
	}
	r, err := f.open()
	if err != nil {
		return "", fmt.Errorf("reading NOTES.txt: %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(r, most))
	if err != nil {
		return "", fmt.Errorf("reading NOTES.txt: %w", err)
	}
	return string(data), r.Close()
}

// script returns the path of init.sh in dir.
func script(dir string, files []file) (string, error) {
	f, err := regular(files, "init.sh")
	if f == nil || err != nil {
		return "", err
	}
	return filepath.Join(dir, f.path), nil
}

// regular returns the file called name, nil if there is none. Something else
// by that name is an error: it may be a link out of the directory.
func regular(files []file, name string) (*file, error) {
	for i, f := range files {
		if f.path != name {
			continue
		}
		if !f.mode.IsRegular() {
			return nil, fmt.Errorf("%s is not a regular file", name)
		}
		return &files[i], nil
	}
	return nil, nil
}
