package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/cmd/xfn/docs"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/render"
)

// root is the directory of the module.
const root = "../../.."

// libraries are the environment variables that package net/http reads, and not xfn itself.
var libraries = map[string]bool{"HTTPS_PROXY": true, "HTTP_PROXY": true, "NO_PROXY": true}

// TestEnvironment compares the table of environment variables with the source: the
// tags of flags, and string literals that look like names of variables.
func TestEnvironment(t *testing.T) {
	listed := map[string]bool{}
	for _, v := range docs.Environment() {
		if listed[v.Name] {
			t.Errorf("%s is listed twice", v.Name)
		}
		listed[v.Name] = true
	}
	looks := regexp.MustCompile(`^[A-Z][A-Z0-9]*(_[A-Z0-9]+)+$`)
	used := map[string]bool{}
	inSource(t, func(name string) {
		used[name] = true
		if looks.MatchString(name) && !listed[name] {
			t.Errorf("%s is not in the table of environment variables", name)
			listed[name] = true
		}
	})
	for name := range listed {
		if !used[name] && !libraries[name] {
			t.Errorf("%s is in the table, and the source does not use it", name)
		}
	}
}

// skipped are directories without source that reads the user's environment. The
// command xfn test ends with "/test", packages for tests with another "test".
var skipped = regexp.MustCompile(`/(testdata|_go|bin|docs|[a-z]+test|e2e|gobuild|examples|tools|\.[a-z]+)$`)

// inSource calls found with each string literal and each name in an env tag of
// the source files that read the environment. It skips tests, generated files,
// error codes of registries, and settings of the go command.
func inSource(t *testing.T, found func(string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		slash := filepath.ToSlash(path)
		switch {
		case err != nil:
			return err
		case e.IsDir() && (skipped.MatchString(slash) || slash == root+"/internal/registry"):
			return filepath.SkipDir
		case !strings.HasSuffix(slash, ".go"), strings.HasSuffix(slash, "_test.go"), strings.HasSuffix(slash, ".pb.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			text := e2e.Must(strconv.Unquote(lit.Value))(t)
			found(text)
			for name := range strings.SplitSeq(reflect.StructTag(text).Get("env"), ",") {
				found(name)
			}
			return true
		})
		return nil
	})
	e2e.NoError(t, err)
}

func TestProfiles(t *testing.T) {
	for _, p := range docs.Profiles() {
		if got, err := render.ForCrossplane(p.Example); err != nil || string(got) != p.Name {
			t.Errorf("Crossplane %s: got profile %q, want %q: %v", p.Example, got, p.Name, err)
		}
	}
}
