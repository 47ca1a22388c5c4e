package languages

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/BurntSushi/toml"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
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
		Check: func(_ context.Context, src language.Source) error {
			if err := kcl.check(src); err != nil {
				return err
			}
			return checkKCL(src.Dir)
		},
		Build: kcl.build,
		Watch: linked,
	}
}

// checkKCL returns the errors in the files of a package that need no compiler of KCL.
func checkKCL(dir string) error {
	const module, main, limit = "kcl.mod", "main.k", 1 << 20
	text, err := fsx.ReadFile(filepath.Join(dir, module), limit)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // A user can name the language of other folders.
		return fmt.Errorf("reading %q: %w", module, err)
	}
	var wrong toml.ParseError
	if err := toml.Unmarshal(text, new(map[string]any)); errors.As(err, &wrong) {
		return hint.Wrap(fmt.Errorf("%s:%d: %s", module, wrong.Position.Line, wrong.Message), "write TOML, such as a table [package] with name and version")
	}
	info, err := os.Stat(filepath.Join(dir, main))
	if err == nil && info.Mode().IsRegular() && info.Size() == 0 {
		return hint.Wrap(fmt.Errorf("%s: the file is empty", main), "write the composed resources, as in items = [{apiVersion = \"v1\", kind = \"ConfigMap\"}]")
	}
	return nil
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
