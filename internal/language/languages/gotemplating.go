package languages

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xfn-dev/xfn/internal/builtin/gotemplating"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/language"
)

// goTemplatingBase is the base image of the crossplane CLI v2.5.
const goTemplatingBase = "xpkg.crossplane.io/crossplane-contrib/function-go-templating:v0.12.0"

// templateEndings are the extensions of templates.
var templateEndings = []string{".gotmpl", ".tmpl"}

// GoTemplating describes functions in go-templating. Links in their source are an error.
func GoTemplating() language.Language {
	return language.Language{
		Name:  "go-templating",
		Marks: "only .gotmpl and .tmpl files",
		Base:  goTemplatingBase,
		Detect: func(dir string) (bool, error) {
			found, other, err := templates(dir)
			return found && other == "", err
		},
		Check: func(ctx context.Context, src language.Source) error { return gotemplating.CheckFolder(ctx, src.Dir) },
		Lacks: others,
		Build: interpreted{
			endings: templateEndings, env: []string{"FUNCTION_GO_TEMPLATING_DEFAULT_SOURCE=" + sourcePath},
		}.build,
		Watch: func(dir string) ([]string, error) { return []string{dir}, nil },
	}
}

// templates reports whether a folder has templates, in it or below it. other is the path of the first
// file that is not a template, apart from temporary files of editors, at which the search ends.
func templates(dir string) (found bool, other string, err error) {
	err = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir(), fsx.IsEditorFile(d.Name()):
			return nil
		case isTemplate(d):
			found = true
			return nil
		}
		other = name
		return fs.SkipAll
	})
	return found, other, fsx.Cause(err)
}

func isTemplate(d fs.DirEntry) bool {
	return d.Type().IsRegular() && slices.Contains(templateEndings, filepath.Ext(d.Name()))
}

// others returns an error that names the first other file of a folder that has a template itself.
func others(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil || !slices.ContainsFunc(entries, isTemplate) {
		return nil
	}
	_, other, err := templates(dir)
	if err != nil || other == "" {
		return nil
	}
	err = fmt.Errorf("%s is not a template: a function in go-templating has only %s files", other, strings.Join(templateEndings, " and "))
	if slices.Contains(templateEndings, filepath.Ext(other)) {
		err = fmt.Errorf("%s is a link or a special file, expected a template", other)
	}
	return hint.Wrap(err, "move "+other+" out of the folder of templates")
}
