package e2e_test

import (
	"go/ast"
	"slices"
	"strconv"
	"strings"
)

// maxExported is how many identifiers the public packages may export in all:
// functions, types, methods of exported types, constants and variables.
const maxExported = 150

// public reports whether importers of the module can use the package in a folder.
func public(folder string) bool {
	elements := strings.Split(folder, "/")
	return elements[0] != "cmd" && !slices.Contains(elements, "internal")
}

// api counts the identifiers that a file of a public package exports, and
// checks that they use no type of an internal package.
func (c *houseChecker) api(file *ast.File) {
	internal := map[string]bool{} // local names of internal packages
	for _, spec := range file.Imports {
		target, err := strconv.Unquote(spec.Path.Value)
		if err != nil || !strings.HasPrefix(target, c.module+"/") || public(strings.TrimPrefix(target, c.module+"/")) {
			continue
		}
		name := target[strings.LastIndex(target, "/")+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		internal[name] = true
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && (d.Recv == nil || ast.IsExported(receiver(d.Recv.List[0].Type))) {
				c.exported++
				c.leaks(d.Name.Name, d.Type, internal)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				c.apiSpec(spec, internal)
			}
		}
	}
}

func (c *houseChecker) apiSpec(spec ast.Spec, internal map[string]bool) {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		if spec.Name.IsExported() {
			c.exported++
			c.leaks(spec.Name.Name, spec.Type, internal)
		}
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			if name.IsExported() {
				c.exported++
				if spec.Type != nil {
					c.leaks(name.Name, spec.Type, internal)
				}
			}
		}
	}
}

// leaks reports the types of internal packages that an exported name uses.
// Fields that are not exported may use them.
func (c *houseChecker) leaks(name string, of ast.Expr, internal map[string]bool) {
	ast.Inspect(of, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.StructType:
			for _, f := range n.Fields.List {
				if len(f.Names) == 0 || slices.ContainsFunc(f.Names, (*ast.Ident).IsExported) {
					c.leaks(name, f.Type, internal)
				}
			}
			return false
		case *ast.SelectorExpr:
			if id, ok := n.X.(*ast.Ident); ok && internal[id.Name] {
				c.fault(n.Pos(), "%s is exported and uses %s.%s, which importers cannot use", name, id.Name, n.Sel.Name)
			}
		}
		return true
	})
}

// receiver returns the name of a receiver's type.
func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.IndexListExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}
