package e2e_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// checkHouse reads the Go files of the module whose root is fsys, and returns the
// violations of these rules, each as "file:line: text", by folder:
//
//   - Each folder belongs to an area.
//   - A file imports only its own area and areas of lower layers.
//   - Below the top layer nothing prints, exits, reads flags or the environment,
//     or creates its own context.
//   - Below the top layer no string names a command-line flag: hints name options
//     by the constants of internal/hint.
//   - Tests are exempt from the three rules about layers above, but must not import
//     the command line. A package whose name ends in "test" is for tests, and only
//     tests import it.
//   - Package names describe the content: util is not allowed.
//   - Each package has a doc.go with a package comment.
//   - Public packages export no type of an internal package, and at most 150
//     identifiers in all.
//
// Folders that the go command ignores are ignored: testdata, other modules, names that
// begin with "." or "_". checkHouse returns an error if it cannot read or parse a file.
func checkHouse(fsys fs.FS, areas []houseArea) ([]string, error) {
	gomod, err := fs.ReadFile(fsys, "go.mod")
	if err != nil {
		return nil, fmt.Errorf("reading the module's go.mod: %w", err)
	}
	c := &houseChecker{fsys: fsys, areas: areas, module: modfile.ModulePath(gomod), fset: token.NewFileSet()}
	err = fs.WalkDir(fsys, ".", func(folder string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !d.IsDir():
			return nil
		case isIgnored(fsys, folder):
			return fs.SkipDir
		}
		return c.folder(folder)
	})
	if c.exported > maxExported {
		c.faults = append(c.faults, fmt.Sprintf("public packages export %d identifiers, and may export %d", c.exported, maxExported))
	}
	return c.faults, err
}

func isIgnored(fsys fs.FS, folder string) bool {
	if folder == "." {
		return false
	}
	name := path.Base(folder)
	if name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
		return true
	}
	_, err := fs.Stat(fsys, path.Join(folder, "go.mod"))
	return !errors.Is(err, fs.ErrNotExist)
}

// forTests reports whether a package is for tests: its name ends in "test", such as
// httptest, or is e2e. A package called test is a command.
func forTests(folder string) bool {
	name := path.Base(folder)
	return strings.HasSuffix(name, "test") && name != "test" || name == "e2e"
}

type houseChecker struct {
	fsys   fs.FS
	areas  []houseArea
	module string
	fset   *token.FileSet
	faults []string
	// exported counts the exported identifiers of public packages.
	exported int
}

// fault adds a violation at a position.
func (c *houseChecker) fault(pos token.Pos, format string, args ...any) {
	p := c.fset.Position(pos)
	c.faults = append(c.faults, fmt.Sprintf("%s:%d: ", p.Filename, p.Line)+fmt.Sprintf(format, args...))
}

// folder checks the Go files that lie directly in one folder.
func (c *houseChecker) folder(folder string) error {
	names, err := fs.Glob(c.fsys, path.Join(folder, "*.go"))
	if err != nil || len(names) == 0 {
		return err
	}
	files := make(map[string]*ast.File, len(names))
	for _, name := range names {
		src, err := fs.ReadFile(c.fsys, name)
		if err != nil {
			return fmt.Errorf("reading %q: %w", name, err)
		}
		if files[name], err = parser.ParseFile(c.fset, name, src, parser.ParseComments); err != nil {
			return fmt.Errorf("parsing %q: %w", name, err)
		}
	}

	area, ok := areaOf(folder, c.areas)
	if !ok {
		c.fault(files[names[0]].Package, "folder %s belongs to no area: add it to internal/e2e/house_areas_test.go", folder)
		return nil
	}
	for _, name := range names {
		if public(folder) && !strings.HasSuffix(name, "_test.go") {
			c.api(files[name])
		}
		c.file(area, files[name], strings.HasSuffix(name, "_test.go") || forTests(folder))
	}
	c.doc(folder, names, files)
	return nil
}

// doc checks the name of a package and its package comment.
func (c *houseChecker) doc(folder string, names []string, files map[string]*ast.File) {
	i := slices.IndexFunc(names, func(name string) bool { return !strings.HasSuffix(name, "_test.go") })
	if i < 0 {
		return
	}
	first := files[names[i]]
	switch first.Name.Name {
	case "util", "utils", "common", "helpers", "misc":
		c.fault(first.Name.Pos(), "package name %s does not describe the content", first.Name.Name)
	}
	doc, ok := files[path.Join(folder, "doc.go")]
	switch {
	case !ok:
		c.fault(first.Package, "package %s has no doc.go", first.Name.Name)
	case doc.Doc.Text() == "":
		c.fault(doc.Package, "doc.go has no package comment")
	}
}
