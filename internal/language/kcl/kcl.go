package kcl

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/language"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
)

const (
	// base is the base image of the crossplane CLI v2.5.
	base = "xpkg.crossplane.io/crossplane-contrib/function-kcl:v0.12.1"
	// owner is the user of function-kcl, which owns the source in the image.
	owner = 2000
)

// Language describes KCL.
func Language() language.Language {
	return language.Language{
		Name:   "kcl",
		Marks:  "kcl.mod",
		Base:   base,
		Detect: func(dir string) (bool, error) { return language.Has(dir, "kcl.mod") },
		Build:  Build,
		Watch:  watch,
	}
}

// Build adds the source to an image of function-kcl. It follows links, such as the link to
// the generated models of a project.
func Build(ctx context.Context, src language.Source, opts runtimeimage.Options) (*language.Result, error) {
	return language.BuildFolder(ctx, src, language.Folder{
		Owner: owner, FollowLinks: true, Endings: []string{".k"},
		Env: []string{"FUNCTION_KCL_DEFAULT_SOURCE=" + language.SourcePath, "KCL_PKG_PATH=" + language.SourcePath},
	}, opts)
}

// watch returns the folder and the targets of its links.
func watch(dir string) ([]string, error) {
	all := []string{dir}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.Type() != fs.ModeSymlink {
			return err
		}
		target, err := filepath.EvalSymlinks(name)
		if os.IsNotExist(err) {
			return nil
		}
		all = append(all, target)
		return err
	})
	return all, fsx.Cause(err)
}
