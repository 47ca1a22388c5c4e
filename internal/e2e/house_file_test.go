package e2e_test

import (
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// reserved returns the packages, and the names in packages, that only the top
// layer may use. A package without names is reserved as a whole.
func reserved() map[string][]string {
	return map[string][]string{
		"context": {"Background", "TODO"},
		"flag":    nil,
		"fmt":     {"Print", "Printf", "Println"},
		"log":     {"Default", "Fatal", "Fatalf", "Fatalln", "Panic", "Panicf", "Panicln", "Print", "Printf", "Println", "SetOutput"},
		"os":      {"Args", "Environ", "Exit", "ExpandEnv", "Getenv", "LookupEnv", "Stderr", "Stdin", "Stdout"},
	}
}

// file checks what one file of an area imports and uses.
func (c *houseChecker) file(area houseArea, file *ast.File, test bool) {
	bound := area.Layer < topLayer && !test
	watched := map[string]string{} // local name of an import → its path
	for _, spec := range file.Imports {
		target, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // Never: the parser accepts only import paths that Unquote accepts.
		}
		if folder, ok := strings.CutPrefix(target, c.module+"/"); ok {
			c.imports(area, folder, spec, test)
		}
		names, ok := reserved()[target]
		switch {
		case !bound || !ok:
		case len(names) == 0:
			c.fault(spec.Pos(), "imports %s: that is for the command line", target)
		case spec.Name == nil:
			watched[path.Base(target)] = target
		case spec.Name.Name == ".":
			c.fault(spec.Pos(), "imports the names of %s: call them by their package", target)
		default:
			watched[spec.Name.Name] = target
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			c.uses(n, watched)
		case *ast.BasicLit:
			if bound && flagName.MatchString(n.Value) {
				c.fault(n.Pos(), "names a flag in %s: only the command line may name flags", n.Value)
			}
		}
		return true
	})
}

// flagName matches a literal that names a flag, such as --offline.
var flagName = regexp.MustCompile("(^|[ `'\"(])--[a-z][a-z-]+")

// imports checks one import of this module.
func (c *houseChecker) imports(from houseArea, folder string, spec *ast.ImportSpec, test bool) {
	to, ok := areaOf(folder, c.areas)
	switch {
	case !ok:
		c.fault(spec.Pos(), "imports %s, which belongs to no area", folder)
	case !test && forTests(folder):
		c.fault(spec.Pos(), "imports %s: that is for tests", folder)
	case to == from:
	case to.Layer == topLayer:
		c.fault(spec.Pos(), "imports %s: nothing imports the command line", folder)
	case !test && to.Layer >= from.Layer:
		c.fault(spec.Pos(), "imports %s of layer %d: %s is on layer %d, and imports only lower ones",
			folder, to.Layer, from.Folder, from.Layer)
	}
}

// uses checks one pkg.Name, given the local names of the packages to watch.
func (c *houseChecker) uses(sel *ast.SelectorExpr, watched map[string]string) {
	// If the parser has set Obj, the file itself declares this name, so the name does
	// not refer to the imported package.
	id, ok := sel.X.(*ast.Ident)
	if !ok || id.Obj != nil {
		return
	}
	target, ok := watched[id.Name]
	if ok && slices.Contains(reserved()[target], sel.Sel.Name) {
		c.fault(sel.Pos(), "uses %s.%s: that is for the command line", target, sel.Sel.Name)
	}
}
