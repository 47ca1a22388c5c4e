package suite

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/suite/spec"
)

// goldens are the golden files that a run has written, by path.
type goldens struct {
	mu      sync.Mutex
	written map[string][]byte
}

type caseGoldens struct{ *attempt }

// Text returns the text of a golden file.
func (g caseGoldens) Text(ctx context.Context, file string) ([]byte, error) {
	path := g.path(file)
	text, err := g.options.Config.Reader.Bytes(ctx, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, cmp.Or(checkInside(filepath.Dir(g.item.Suite.Path), path), fs.ErrNotExist)
	}
	return text, err
}

// Read returns the documents in a golden file.
func (g caseGoldens) Read(ctx context.Context, file string) ([]map[string]any, error) {
	text, err := g.Text(ctx, file)
	if err != nil {
		return nil, err
	}
	docs, err := manifest.Objects(g.path(file), text)
	if err != nil {
		return nil, fmt.Errorf("reading a golden file: %w", err)
	}
	return docs, nil
}

// Update writes docs to a golden file. It returns an error if the file is outside of the
// suite's folder, if it is the suite or an input of the case, or if another case of this run has
// written other content to it.
func (g caseGoldens) Update(file string, docs []map[string]any) (bool, error) {
	if g.options.Update == nil {
		return false, nil
	}
	path := g.path(file)
	if err := checkInside(filepath.Dir(g.item.Suite.Path), path); err != nil {
		return false, err
	}
	sources := append([]spec.Source{{File: g.form.XR.File}, g.form.XRD, g.form.Composition, g.form.Operation}, g.form.Functions...)
	if path == g.item.Suite.Path || slices.ContainsFunc(sources, func(s spec.Source) bool { return s.File != "" && g.path(s.File) == path }) {
		return false, hint.Wrap(fmt.Errorf("golden file %q is the suite or an input of the case, and is not written", path), "name another file")
	}
	var text bytes.Buffer
	if err := manifest.Write(&text, docs...); err != nil {
		return false, err
	}
	g.goldens.mu.Lock()
	defer g.goldens.mu.Unlock()
	if before, ok := g.goldens.written[path]; ok && !bytes.Equal(before, text.Bytes()) {
		return false, fmt.Errorf("golden file %s is also used by another case, which renders other content", path)
	}
	g.goldens.written[path] = text.Bytes()
	if err := g.options.Update(path, text.Bytes()); err != nil {
		return false, fmt.Errorf("writing golden file %q: %w", path, err)
	}
	g.out.Updated = append(g.out.Updated, path)
	return true, nil
}

// checkInside returns an error if a golden file is outside of the folder dir, also by a
// symbolic link. Suites may come from others, and must not overwrite files elsewhere.
func checkInside(dir, path string) error {
	outside := hint.Wrap(fmt.Errorf("golden file %q is outside of the suite's folder %q, and is not written", path, dir),
		"name a file in the folder of the suite")
	full, err := resolved(path)
	from, err2 := resolved(dir)
	name, err3 := filepath.Rel(from, full)
	if errors.Join(err, err2, err3) != nil || !filepath.IsLocal(name) {
		return outside
	}
	return nil
}

// resolved returns the absolute path of a file without symbolic links. The file and the
// folders that lead to it need not exist.
func resolved(path string) (string, error) {
	full, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	target, err := filepath.EvalSymlinks(full)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return target, err
	}
	if _, err := os.Lstat(full); err == nil {
		return "", fmt.Errorf("the target of the link %q does not exist", full)
	}
	parent := filepath.Dir(full)
	if parent == full {
		return full, nil
	}
	parent, err = resolved(parent)
	return filepath.Join(parent, filepath.Base(full)), err
}

// WriteGolden writes a golden file to the local file system and creates its
// folder. It is a value for Options.Update.
func WriteGolden(path string, text []byte) error {
	return fsx.WriteInDir(path, 0o644, text)
}
