package languages

import (
	"io/fs"
	"path/filepath"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/language"
)

// goTemplatingBase is the base image of the crossplane CLI v2.5.
const goTemplatingBase = "xpkg.crossplane.io/crossplane-contrib/function-go-templating:v0.12.0"

// GoTemplating describes functions in go-templating. Links in their source are an error.
func GoTemplating() language.Language {
	return language.Language{
		Name:   "go-templating",
		Marks:  "only .gotmpl and .tmpl files",
		Base:   goTemplatingBase,
		Detect: hasTemplates,
		Build: interpreted{
			endings: []string{".gotmpl", ".tmpl"}, env: []string{"FUNCTION_GO_TEMPLATING_DEFAULT_SOURCE=" + sourcePath},
		}.build,
		Watch: func(dir string) ([]string, error) { return []string{dir}, nil },
	}
}

// hasTemplates reports whether all files below dir are regular files with templates, apart from
// temporary files of editors.
func hasTemplates(dir string) (bool, error) {
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
