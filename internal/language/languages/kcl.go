package languages

import (
	"io/fs"
	"os"
	"path/filepath"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/language"
)

const (
	// kclBase is the base image of the crossplane CLI v2.5.
	kclBase = "xpkg.crossplane.io/crossplane-contrib/function-kcl:v0.12.1"
	// kclOwner is the user of function-kcl, which owns the source in the image.
	kclOwner = 2000
)

// KCL describes functions in KCL. Links in their source are followed, such as the link to the
// generated models of a project.
func KCL() language.Language {
	kcl := interpreted{
		owner: kclOwner, followLinks: true, endings: []string{".k"},
		env: []string{"FUNCTION_KCL_DEFAULT_SOURCE=" + sourcePath, "KCL_PKG_PATH=" + sourcePath},
	}
	return language.Language{
		Name:   "kcl",
		Marks:  "kcl.mod",
		Base:   kclBase,
		Detect: func(dir string) (bool, error) { return language.Has(dir, "kcl.mod") },
		Check:  kcl.check,
		Build:  kcl.build,
		Watch:  linked,
	}
}

// linked returns a folder and the targets of its links.
func linked(dir string) ([]string, error) {
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
