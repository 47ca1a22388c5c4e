package generate

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/module"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/project"
	"github.com/xfn-dev/xfn/internal/project/models"
)

// functionFiles has the files of a function in each language. Names end in .txt, so that no
// tool reads them as source code of this module.
//
//go:embed all:files
var functionFiles embed.FS

// Languages are the languages of functions that Function writes.
var Languages = []string{"go-templating", models.Go, models.KCL, models.Python}

// FunctionOptions are the options of Function.
type FunctionOptions struct {
	Name     string
	Language string
	// Pipeline is the path of a Composition or an operation that gets a step for the
	// function, or "". It is relative to the working directory or to the project.
	Pipeline string
}

// Function writes the source of a new function, and the models of the project's APIs. It adds
// a step to a pipeline. It returns the directory of the function, and whether the pipeline
// was changed: it may already have the step. If it fails, it removes the directory.
func Function(ctx context.Context, p *project.Project, o FunctionOptions) (dir string, changed bool, err error) {
	if problems := validation.IsDNS1035Label(o.Name); len(problems) > 0 {
		return "", false, hint.Wrap(fmt.Errorf("%q cannot name a function", o.Name),
			"use at most 63 lower-case letters, digits and dashes, beginning with a letter, such as compose-app")
	}
	if err := allowed(p, o.Language); err != nil {
		return "", false, err
	}
	dir = p.FunctionDir(project.Function{Name: o.Name})
	if _, err := p.Existing(path.Join(p.Paths.Functions, o.Name)); err != nil {
		return "", false, fmt.Errorf("generating function %q: %w", o.Name, err)
	}
	if err := empty(dir); err != nil {
		return "", false, fmt.Errorf("generating function %q: %w", o.Name, err)
	}
	// The pipeline is read first, so that no file is written if it cannot be changed.
	pipeline := locate(p, o.Pipeline)
	addStep := func() (*Edit, error) { return AddStep(ctx, pipeline, o.Name, p.FunctionRef(o.Name)) }
	if o.Pipeline != "" {
		if _, err := addStep(); err != nil {
			return "", false, err
		}
	}
	if err := writeModels(ctx, p, APIs(p)); err != nil {
		return "", false, err
	}
	err = writeFunction(p, o, dir)
	if err == nil && o.Pipeline != "" {
		changed, err = update(ctx, pipeline, addStep)
	}
	if err != nil {
		err = errors.Join(err, removeAll([]string{dir})) // The directory was empty.
		return "", false, fmt.Errorf("writing function %q: %w", o.Name, err)
	}
	return dir, changed, nil
}

// allowed returns an error if the project has no models for a language.
func allowed(p *project.Project, language string) error {
	if !slices.Contains(Languages, language) {
		return fmt.Errorf("unknown language %q, expected one of %s", language, strings.Join(Languages, ", "))
	}
	schemas := language
	if language == "go-templating" {
		schemas = models.JSON
	}
	if slices.Contains(p.Languages, schemas) {
		return nil
	}
	return hint.Wrap(p.At("spec.schemas.languages", fmt.Errorf("a function in %s needs schemas for %s, but the project has schemas for %s", language, schemas, cmp.Or(strings.Join(p.Languages, ", "), "no language"))),
		"add "+schemas+" to spec.schemas.languages, or choose another language")
}

// writeFunction writes the files of the template for o.Language to dir, with the name of the function.
func writeFunction(p *project.Project, o FunctionOptions, dir string) error {
	w := writer{project: p, name: o.Name, dir: dir, target: Target(p)}
	edit := map[string]func(map[string]string){
		"go-templating": w.templates, models.Go: w.golang, models.KCL: w.kcl, models.Python: w.python,
	}[o.Language]
	files := map[string]string{}
	root := "files/" + o.Language
	err := fs.WalkDir(functionFiles, root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := functionFiles.ReadFile(path)
		files[strings.TrimSuffix(strings.TrimPrefix(path, root+"/"), ".txt")] = string(data)
		return err
	})
	if err != nil {
		return err
	}
	edit(files)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := fsx.WriteInDir(filepath.Join(dir, filepath.FromSlash(name)), 0o644, []byte(files[name])); err != nil {
			return err
		}
	}
	if o.Language != models.KCL {
		return nil
	}
	link := filepath.Join(dir, "model")
	if err := os.Symlink(filepath.FromSlash(w.models(models.KCL)), link); err != nil {
		return fmt.Errorf("creating the link %q: %w", link, fsx.Cause(err))
	}
	return nil
}

// A writer adapts the files of a function to its project.
type writer struct {
	project   *project.Project
	name, dir string
	target    models.Target
}

func (w writer) models(language string) string {
	path, _ := filepath.Rel(w.dir, w.target.Folder(language)) // Both are below the root of the project.
	return filepath.ToSlash(path)
}

// generated reports whether the project has the models of a language, by a file in their folder.
func (w writer) generated(language, file string) bool {
	return fileExists(filepath.Join(w.target.Folder(language), file))
}

func (w writer) templates(files map[string]string) {
	const compose = "01-compose.yaml.gotmpl"
	if w.generated(models.JSON, models.IndexFile) {
		files[compose] = "# code: language=yaml\n# yaml-language-server: $schema=" + w.models(models.JSON) + "/" + models.IndexFile + "\n" + files[compose]
	}
}

func (w writer) golang(files map[string]string) {
	mod := files["go.mod"]
	if !w.generated(models.Go, "go.mod") {
		var kept []string
		for line := range strings.Lines(mod) {
			if !strings.Contains(line, "MODELS") {
				kept = append(kept, line)
			}
		}
		mod = strings.TrimRight(strings.Join(kept, ""), "\n") + "\n"
	}
	files["go.mod"] = strings.NewReplacer("MODULE", w.modulePath(), "MODELS", w.target.GoModule(), "SCHEMAS", w.models(models.Go)).Replace(mod)
}

// modulePath returns the path of a function's Go module: the first valid path among the paths
// that the crossplane CLI tries. A repository is not valid if its registry has a port.
func (w writer) modulePath() string {
	source := strings.TrimPrefix(w.project.Source, "https://")
	if p := path.Join(source, "functions", w.name); source != "" && module.CheckPath(p) == nil {
		return p
	}
	if p := w.project.Repository + "/" + w.name; module.CheckPath(p) == nil {
		return p
	}
	return "project.example.com/functions/" + w.name
}

func (w writer) kcl(files map[string]string) {
	files["kcl.mod"] = strings.Replace(files["kcl.mod"], "NAME", w.name, 1)
	if !w.generated(models.KCL, "kcl.mod") {
		return
	}
	files["kcl.mod"] += "\n[dependencies]\nmodels = { path = \"./model\" }\n"
	imports, err := models.KCLImports(w.target)
	if err == nil && len(imports) > 0 {
		files["main.k"] = strings.Join(imports, "\n") + "\n\n" + files["main.k"]
	}
}

func (w writer) python(files map[string]string) {
	files["README.md"] = strings.Replace(files["README.md"], "NAME", w.name, 1)
	if !w.generated(models.Python, "pyproject.toml") {
		return
	}
	files["pyproject.toml"] = strings.Replace(files["pyproject.toml"], "  \"grpcio", "  \"crossplane-models @ file:./"+w.models(models.Python)+"\",\n  \"grpcio", 1)
}

// ErrNoPipeline is the error for a file without a pipeline that Function can change.
var ErrNoPipeline = errors.New("expected a Composition, Operation, CronOperation or WatchOperation")
