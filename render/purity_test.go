package render_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
)

// TestPure fails if the engine uses files, the network, random numbers or the
// clock, which would make a render unrepeatable.
func TestPure(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, fault := range impurities(file) {
			t.Errorf("%s: %s", path, fault)
		}
		return nil
	})
	e2e.NoError(t, err)
}

func impurities(file *ast.File) []string {
	var faults []string
	forbidden := []string{"os", "io/fs", "net", "math/rand", "math/rand/v2", "crypto/rand", "github.com/spf13/afero", "google.golang.org/grpc"}
	for _, imp := range file.Imports {
		path, err := strconv.Unquote(imp.Path.Value)
		if err != nil {
			return []string{err.Error()}
		}
		for _, f := range forbidden {
			if path == f || strings.HasPrefix(path, f+"/") {
				faults = append(faults, "imports "+path)
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		pkg, ok := sel.X.(*ast.Ident)
		if ok && pkg.Name == "time" && slices.Contains([]string{"Now", "Since", "After", "Sleep"}, sel.Sel.Name) {
			faults = append(faults, "calls time."+sel.Sel.Name)
		}
		return true
	})
	return faults
}

// TestImpuritiesAreSeen checks that TestPure can fail.
func TestImpuritiesAreSeen(t *testing.T) {
	const src = `package p
import ("os/exec"; "net"; "time")
var _ = exec.Command
var _ net.Conn
func f() { time.Sleep(0); _ = time.Now() }`
	file := e2e.Must(parser.ParseFile(token.NewFileSet(), "p.go", src, parser.SkipObjectResolution))(t)
	want := []string{"imports os/exec", "imports net", "calls time.Sleep", "calls time.Now"}
	e2e.Equal(t, "each impure import and call is found", want, impurities(file))
}
