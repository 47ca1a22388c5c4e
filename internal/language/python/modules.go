package python

import (
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/proc"
)

// moduleName matches the file of a module that can be imported.
var moduleName = proc.Regexp(`^[A-Za-z_]\w*\.py$`)

// checkModules returns the first syntax error in the modules of the package top. Files that may be data,
// such as templates, are not checked: those in folders without __init__.py, and in folders of tests.
func checkModules(dir string, files []File, top string) error {
	sources := map[string]bool{}
	for _, f := range files {
		sources[f.Path] = f.Source != ""
	}
	for _, f := range files {
		inside := sources[f.Path] && strings.HasPrefix(f.Path, top+"/") && moduleName().MatchString(path.Base(f.Path))
		for at := path.Dir(f.Path); inside && at != top; at = path.Dir(at) {
			inside = sources[at+"/__init__.py"] && !slices.Contains([]string{"test", "tests"}, path.Base(at))
		}
		if !inside && (!sources[f.Path] || f.Path != top+".py") {
			continue
		}
		text, err := f.read()
		if err != nil {
			return fmt.Errorf("reading %q: %w", f.Source, fsx.Cause(err))
		}
		if err := CheckSyntax(filepath.Join(dir, f.Source), text); err != nil {
			return err
		}
	}
	return nil
}

func (f File) read() (_ string, err error) {
	r, err := f.Open()
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	text, err := io.ReadAll(r)
	return string(text), err
}
