package generate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/project"
	"github.com/xfn-dev/xfn/internal/project/models"
)

// Target returns the folder of the project's models.
func Target(p *project.Project) models.Target {
	return models.Target{Dir: p.Dir(p.Paths.Schemas), Languages: p.Languages, Upbound: p.Dialect == project.Upbound, Accessors: p.GoAccessors}
}

// writeModels generates the models of sources. A directory of models that is a link out of the
// project is an error.
func writeModels(ctx context.Context, p *project.Project, sources ...models.Source) error {
	for _, dir := range append([]string{""}, p.Languages...) {
		if _, err := p.Existing(path.Join(p.Paths.Schemas, dir)); err != nil {
			return err
		}
	}
	err := models.Generate(ctx, Target(p), sources...)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return hint.Wrap(fmt.Errorf("writing the models of the project's APIs: %w", err),
			fmt.Sprintf("make the directory writable, or run the command in a writable copy of the project, and add %s with the models to the repository", Target(p).Dir))
	}
	return err
}

type yamlFile struct {
	path string
	data []byte
}

// APIs returns the source of the models for the project's own APIs.
func APIs(p *project.Project) models.Source {
	files, version, err := yamlFiles(p)
	return models.Source{
		ID: "fs://" + p.Paths.APIs, Version: version,
		Definitions: func(context.Context) (models.Definitions, error) {
			if err != nil {
				return nil, err
			}
			return define(files)
		},
	}
}

// yamlFiles returns the YAML files in and below the directory of APIs, in the order of their
// paths, and the SHA-256 hash of their content. A directory that does not exist has no files.
func yamlFiles(p *project.Project) (files []yamlFile, hash string, err error) {
	sum, dir := sha256.New(), p.Dir(p.Paths.APIs)
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !manifest.IsYAML(path) {
			return err
		}
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return nil // Links to directories are not followed.
		}
		data, err := p.ReadFile(path)
		if err != nil {
			return err
		}
		sum.Write(data)
		files = append(files, yamlFile{path, data})
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, "", fmt.Errorf("reading the directory %q: %w", dir, fsx.Cause(err))
	}
	return files, hex.EncodeToString(sum.Sum(nil)), nil
}

func documents(files []yamlFile) ([]manifest.Document, error) {
	var all []manifest.Document
	for _, f := range files {
		docs, err := manifest.Split(f.path, f.data)
		if err != nil {
			return nil, err
		}
		all = append(all, docs...)
	}
	return all, nil
}

func define(files []yamlFile) (models.Definitions, error) {
	docs, err := documents(files)
	if err != nil {
		return nil, err
	}
	var objects []map[string]any
	for _, doc := range docs {
		value, err := doc.Value()
		if err != nil {
			return nil, err
		}
		if obj, ok := value.(map[string]any); ok {
			objects = append(objects, obj)
		}
	}
	return models.Define(objects)
}

// CleanSchemas removes the generated schemas of a project.
func CleanSchemas(p *project.Project) error {
	dir := Target(p).Dir
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("removing the directory %q: %w", dir, err)
	}
	return nil
}
