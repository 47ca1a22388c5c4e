package models

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/xfn-dev/xfn/internal/fsx"
)

// The languages of models.
const (
	JSON   = "json"
	Go     = "go"
	KCL    = "kcl"
	Python = "python"
)

// A Target is the folder of a project into which Generate writes.
type Target struct {
	// Dir is the path of the folder.
	Dir string
	// Languages are the languages for which models are written.
	Languages []string
	// Upbound selects the layout and the names of Upbound's up.
	Upbound bool
	// Accessors adds methods to Go models that get and set the fields.
	Accessors bool
}

// A Source has definitions of kinds.
type Source struct {
	// ID and Version are the entry of the lock file.
	ID, Version string
	// Definitions returns the definitions. Generate calls it only if it needs them.
	Definitions func(context.Context) (Definitions, error)
}

// LockFile is the name of the file that has the versions of all sources.
const LockFile = ".lock.json"

type lock struct {
	Packages map[string]string `json:"packages"`
}

// Generate writes the models of the sources that are not in the lock file with their version,
// and updates the lock file. If a language was added, it writes the models of all sources. With
// to.Accessors, it always writes the models of the project's own APIs, as the crossplane CLI does,
// because the lock file does not say whether they have accessors.
// Files with the same content are not written again.
func Generate(ctx context.Context, to Target, sources ...Source) error {
	locked, err := Locked(to)
	if err != nil {
		return err
	}
	before := maps.Clone(locked)
	complete := to.Complete()
	all := Definitions{}
	for _, s := range sources {
		always := to.Accessors && strings.HasPrefix(s.ID, "fs://")
		if version, ok := locked[s.ID]; ok && version == s.Version && complete && !always {
			continue
		}
		d, err := s.Definitions(ctx)
		if err != nil {
			id := s.ID
			// The ID of a file at a URL is the URL after http://.
			if _, url, _ := strings.Cut(id, "://"); strings.Contains(url, "://") {
				id = url
			}
			return fmt.Errorf("reading the schemas of %q: %w", id, err)
		}
		maps.Copy(all, d)
		locked[s.ID] = s.Version
	}
	if len(all) > 0 {
		g, ctx := errgroup.WithContext(ctx)
		for _, language := range to.Languages {
			g.Go(func() error { return to.write(ctx, language, all) })
		}
		if err := g.Wait(); err != nil {
			return err
		}
	}
	if maps.Equal(before, locked) {
		return nil
	}
	data, err := json.MarshalIndent(lock{locked}, "", "  ")
	if err != nil {
		return err
	}
	return fsx.WriteInDir(filepath.Join(to.Dir, LockFile), 0o600, append(data, '\n'))
}

// Locked returns the versions of all sources in the lock file.
func Locked(to Target) (map[string]string, error) {
	path := filepath.Join(to.Dir, LockFile)
	l := lock{}
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &l)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading the lock file %q: %w", path, fsx.Cause(err))
	}
	if l.Packages == nil {
		l.Packages = map[string]string{}
	}
	return l.Packages, nil
}

// Folder returns the folder of a language in t.Dir.
func (t Target) Folder(language string) string {
	if t.Upbound && language != Python {
		return filepath.Join(t.Dir, language, "models")
	}
	return filepath.Join(t.Dir, language)
}

// GoModule returns the path of the Go module with the models.
func (t Target) GoModule() string {
	if t.Upbound {
		return "dev.upbound.io/models"
	}
	return "dev.crossplane.io/models"
}

// Complete reports whether models exist for either all languages or no language, and whether
// all files have content. Files may be empty after a crash of the machine, because they are
// not synced.
func (t Target) Complete() bool {
	n := 0
	for _, language := range t.Languages {
		if _, err := os.Stat(t.Folder(language)); err == nil {
			n++
		}
		if hasEmpty(t.Folder(language)) {
			return false
		}
	}
	return n == 0 || n == len(t.Languages)
}

// hasEmpty reports whether a folder of models has an empty file that is not of a Python package.
func hasEmpty(dir string) (found bool) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == initFile {
			return nil // A folder that cannot be read fails when its files are written.
		}
		if info, err := d.Info(); err == nil && info.Size() == 0 {
			found = true
			return fs.SkipAll
		}
		return nil
	})
	return found
}

func (t Target) write(ctx context.Context, language string, d Definitions) error {
	files, err := t.files(language, d)
	if err != nil {
		return fmt.Errorf("generating models for %s: %w", language, err)
	}
	dir := t.Folder(language)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := update(filepath.Join(dir, filepath.FromSlash(name)), files[name]); err != nil {
			return err
		}
	}
	if language == JSON {
		return writeIndex(dir)
	}
	return nil
}

func (t Target) files(language string, d Definitions) (map[string][]byte, error) {
	switch language {
	case JSON:
		return jsonFiles(d), nil
	case Go:
		return t.goFiles(d)
	case KCL:
		return kclFiles(d), nil
	case Python:
		return pythonFiles(d), nil
	}
	return nil, fmt.Errorf("unknown language %q, expected %s, %s, %s or %s", language, Go, JSON, KCL, Python)
}

// writeIndex writes IndexFile for all JSON Schemas in a folder, also for those that other
// sources have written.
func writeIndex(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("reading the directory %q: %w", dir, fsx.Cause(err))
	}
	index := &Schema{}
	for _, e := range entries { // sorted by name
		if e.Name() != IndexFile && strings.HasSuffix(e.Name(), schemaSuffix) {
			index.AnyOf = append(index.AnyOf, &Schema{Ref: e.Name()})
		}
	}
	data, _ := json.Marshal(index) // Its types have no errors.
	return update(filepath.Join(dir, IndexFile), data)
}

// update writes a file unless it has the content.
func update(path string, data []byte) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, data) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("creating the directory %q: %w", filepath.Dir(path), fsx.Cause(err))
	}
	return fsx.WriteCached(path, 0o644, data)
}
