package deps_test

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

// Check reads the Go files of the module whose root is fsys, and returns what
// breaks the rules of the house, each as "file:line: what", by folder:
//
//   - Each folder lies in a room.
//   - A file imports only its own room and rooms of lower floors.
//   - Below the top floor nothing prints, exits, reads flags or the environment,
//     or makes its own context.
//   - Below the top floor no string names a command-line flag: hints name options
//     by the constants of internal/hint.
//   - Tests are free of these three, but import no command line. A package whose
//     name ends in "test" is for tests, and only tests import it.
//   - No package is named after nothing, like util.
//   - Each package has a doc.go with a package comment.
//   - What public packages export uses no type of an internal package, and is at
//     most 150 identifiers in all.
//
// Folders that the go command passes over are passed over here: testdata, other
// modules, names that begin with "." or "_". It returns an error where it
// cannot read or parse a file.
func Check(fsys fs.FS, rooms []Room) ([]string, error) {
	gomod, err := fs.ReadFile(fsys, "go.mod")
	if err != nil {
		return nil, fmt.Errorf("reading the module's go.mod: %w", err)
	}
	c := &checker{fsys: fsys, rooms: rooms, module: modfile.ModulePath(gomod), fset: token.NewFileSet()}
	err = fs.WalkDir(fsys, ".", func(folder string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !d.IsDir():
			return nil
		case passedOver(fsys, folder):
			return fs.SkipDir
		}
		return c.folder(folder)
	})
	if c.exported > maxExported {
		c.faults = append(c.faults, fmt.Sprintf("public packages export %d identifiers, and may export %d", c.exported, maxExported))
	}
	return c.faults, err
}

func passedOver(fsys fs.FS, folder string) bool {
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

// forTests reports whether a package exists for tests: its name ends in "test",
// as that of httptest, or it is e2e. A package called test is a command.
func forTests(folder string) bool {
	name := path.Base(folder)
	return strings.HasSuffix(name, "test") && name != "test" || name == "e2e"
}

type checker struct {
	fsys   fs.FS
	rooms  []Room
	module string
	fset   *token.FileSet
	faults []string
	// exported counts the exported identifiers of public packages.
	exported int
}

// fault notes what is wrong at a position.
func (c *checker) fault(pos token.Pos, format string, args ...any) {
	p := c.fset.Position(pos)
	c.faults = append(c.faults, fmt.Sprintf("%s:%d: ", p.Filename, p.Line)+fmt.Sprintf(format, args...))
}

// folder checks the Go files that lie directly in one folder.
func (c *checker) folder(folder string) error {
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

	room, ok := roomOf(folder, c.rooms)
	if !ok {
		c.fault(files[names[0]].Package, "folder %s lies in no room: add it to internal/e2e/deps/rooms_test.go", folder)
		return nil
	}
	for _, name := range names {
		if public(folder) && !strings.HasSuffix(name, "_test.go") {
			c.api(files[name])
		}
		c.file(room, files[name], strings.HasSuffix(name, "_test.go") || forTests(folder))
	}
	c.doc(folder, names, files)
	return nil
}

// doc checks that a package is named after something, and says what it is for.
func (c *checker) doc(folder string, names []string, files map[string]*ast.File) {
	i := slices.IndexFunc(names, func(name string) bool { return !strings.HasSuffix(name, "_test.go") })
	if i < 0 {
		return
	}
	first := files[names[i]]
	switch first.Name.Name {
	case "util", "utils", "common", "helpers", "misc":
		c.fault(first.Name.Pos(), "package %s is named after nothing: say what it is", first.Name.Name)
	}
	doc, ok := files[path.Join(folder, "doc.go")]
	switch {
	case !ok:
		c.fault(first.Package, "package %s has no doc.go", first.Name.Name)
	case doc.Doc.Text() == "":
		c.fault(doc.Package, "doc.go has no package comment")
	}
}
