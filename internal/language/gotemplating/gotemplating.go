package gotemplating

import (
	"context"
	"io/fs"
	"path/filepath"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/language"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
)

// base is the base image of the crossplane CLI v2.5.
const base = "xpkg.crossplane.io/crossplane-contrib/function-go-templating:v0.12.0"

// Language describes go-templating.
func Language() language.Language {
	return language.Language{
		Name:   "go-templating",
		Marks:  "only .gotmpl and .tmpl files",
		Base:   base,
		Detect: detect,
		Build:  Build,
		Watch:  func(dir string) ([]string, error) { return []string{dir}, nil },
	}
}

// detect reports whether all files below dir are regular files with templates, apart from
// temporary files of editors.
func detect(dir string) (bool, error) {
	found, others := false, false
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		ext := filepath.Ext(name)
		switch {
		case err != nil:
			return err
		case d.IsDir(), fsx.IsEditorFile(d.Name()):
			return nil
		case d.Type().IsRegular() && (ext == ".gotmpl" || ext == ".tmpl"):
			found = true
			return nil
		}
		others = true
		return fs.SkipAll
	})
	return found && !others, fsx.Cause(err)
}

// Build adds the templates to an image of function-go-templating. Links are an error.
func Build(ctx context.Context, src language.Source, opts runtimeimage.Options) (*language.Result, error) {
	return language.BuildFolder(ctx, src, language.Folder{
		Endings: []string{".gotmpl", ".tmpl"}, Env: []string{"FUNCTION_GO_TEMPLATING_DEFAULT_SOURCE=" + language.SourcePath},
	}, opts)
}
