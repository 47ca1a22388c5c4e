package xpkg_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/xpkg"
)

// crd returns a CRD named after the file that contains it.
func crd(name string) string { return strings.ReplaceAll(crdYAML, "inputs.fn.test", name) }

// names returns the names of the objects of a package, in order.
func names(pkg *xpkg.Package) []string {
	all := []string{}
	for _, o := range pkg.Objects {
		all = append(all, o.Name)
	}
	return all
}

// Read sorts directories and files by name, in byte order.
func TestReadOrder(t *testing.T) {
	files := map[string]string{"p/crossplane.yaml": functionYAML}
	want := []string{".hidden.yaml", "10.yaml", "9.yaml", "B.yaml", "a/x.yaml", "a-b.yaml", "a.yaml", "z/deep/er/1.yml", "é.yaml"}
	for _, name := range want {
		files["p/"+name] = crd(name)
	}
	for _, name := range []string{"a.YAML", "a.json", "a.yaml.bak", "yaml", "a.txt"} {
		files["p/"+name] = "not read: ["
	}
	files["p/empty.yaml"] = ""
	e2e.Equal(t, "files are read in the order of their bytes, and other files are not read", want, names(e2e.Must(xpkg.Read(t.Context(), e2e.Memory(t, files), "p", xpkg.ReadOptions{Lint: xpkg.Off}))(t)))
}

func TestReadIgnores(t *testing.T) {
	cases := map[string]struct {
		reason, pattern string
		want            []string
	}{
		"None":      {"an empty pattern ignores no file", "", []string{"a.yaml", "b.yaml", "sub/a.yaml"}},
		"File":      {"a pattern matches the whole path below the root", "a.yaml", []string{"b.yaml", "sub/a.yaml"}},
		"Star":      {"a star does not match a slash", "*/a.yaml", []string{"a.yaml", "b.yaml"}},
		"Class":     {"character classes have Go's syntax", "[ab].yaml", []string{"sub/a.yaml"}},
		"Dot":       {"a pattern may begin with ./", "./sub/*.yaml", []string{"a.yaml", "b.yaml"}},
		"Parent":    {"a pattern may leave the root and return to it", "../p/b.yaml", []string{"a.yaml", "sub/a.yaml"}},
		"Directory": {"a pattern with a final slash ignores the directory", "sub/", []string{"a.yaml", "b.yaml"}},
		"StarOnly":  {"a pattern with a wildcard ignores no directory, as in the crossplane CLI", "s*", []string{"a.yaml", "b.yaml", "sub/a.yaml"}},
		"StarDir":   {"a pattern with a wildcard and a final slash ignores directories", "s*/", []string{"a.yaml", "b.yaml"}},
		"StarBelow": {"a wildcard below two stars ignores no directory", "**/s?b", []string{"a.yaml", "b.yaml", "sub/a.yaml"}},
		"NoMatch":   {"a pattern without a match ignores no file", "x", []string{"a.yaml", "b.yaml", "sub/a.yaml"}},
		"Whole":     {"a pattern for a directory ignores all its files", "sub", []string{"a.yaml", "b.yaml"}},
		"Any":       {"two stars match any number of directories", "**/a.yaml", []string{"b.yaml"}},
		"AnyBelow":  {"two stars at the end match all files below a directory", "sub/**", []string{"a.yaml", "b.yaml"}},
		"AnyTwice":  {"repeated double stars match the same as one", "**/**/a.yaml", []string{"b.yaml"}},
		"AnyInside": {"two stars in the middle also match no directory", "s*/**/a.yaml", []string{"a.yaml", "b.yaml"}},
		"AnyNot":    {"the part after two stars must match", "sub/**/a.yaml/x", []string{"a.yaml", "b.yaml", "sub/a.yaml"}},
		"FromHere":  {"a pattern may begin with the path of the root", "p/a.yaml", []string{"b.yaml", "sub/a.yaml"}},
		"Basename":  {"a pattern is cleaned and does not match base names", "s/../a.yaml", []string{"b.yaml", "sub/a.yaml"}},
		"Elsewhere": {"a path that is not below the root ignores no file", "/a.yaml/b", []string{"a.yaml", "b.yaml", "sub/a.yaml"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"p/m.yml": functionYAML}
			for _, name := range []string{"a.yaml", "b.yaml", "sub/a.yaml"} {
				files["p/"+name] = crd(name)
			}
			pkg := e2e.Must(xpkg.Read(t.Context(), e2e.Memory(t, files), "p", xpkg.ReadOptions{Ignore: []string{tc.pattern}, Lint: xpkg.Off}))(t)
			e2e.Equal(t, tc.reason, tc.want, names(pkg))
		})
	}
}

// Read leaves out what .xpkgignore lists, and objects of xfn.
func TestReadLeavesOut(t *testing.T) {
	pkg := e2e.Must(xpkg.Read(t.Context(), e2e.Memory(t, map[string]string{
		"p/crossplane.yaml": functionYAML, "p/a.yaml": crd("a.yaml"), "p/tests/b.yaml": "not read: [", "p/sub/c.yaml": crd("c.yaml"),
		"p/.xpkgignore": "tests/\n/c.yaml\n",
		"p/suite.yaml":  "apiVersion: xfn.dev/v1alpha1\nkind: TestSuite\n---\n" + crd("d.yaml"),
	}), "p", xpkg.ReadOptions{Lint: xpkg.Off}))(t)
	e2e.Equal(t, "ignored files and objects of xfn are left out", []string{"a.yaml", "c.yaml", "d.yaml"}, names(pkg))
}

func TestReadExamplesRoot(t *testing.T) {
	one := "kind: A\n\n...\n\n---\n"
	cases := map[string]struct {
		reason, root, want string
		none               bool
	}{
		"None":      {"without a root there are no examples", "", "", true},
		"Missing":   {"a default root that does not exist gives no examples", "examples", "", true},
		"Empty":     {"an empty directory gives an empty layer, as with the crossplane CLI", "p/none", "", false},
		"Directory": {"the files of a directory are joined", "p/ex", one + one, false},
		"File":      {"the root may be a file", "p/ex/a.yaml", one, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			fsys := e2e.Memory(t, map[string]string{"p/crossplane.yaml": functionYAML, "p/ex/a.yaml": "kind: A\n", "p/ex/sub/b.yaml": "kind: A\n"})
			e2e.NoError(t, fsys.Mkdir("p/none", 0o755))
			pkg := e2e.Must(xpkg.Read(t.Context(), fsys, "p", xpkg.ReadOptions{ExamplesRoot: tc.root, ExamplesOptional: true, Ignore: []string{"ex"}}))(t)
			e2e.Equal(t, tc.reason, tc.want, string(pkg.Examples))
			e2e.Equal(t, tc.reason, tc.none, pkg.Examples == nil)
		})
	}
}

func TestReadRefusesRoots(t *testing.T) {
	fsys := e2e.Memory(t, map[string]string{"file.yaml": functionYAML})
	for root, want := range map[string]string{"gone": "file does not exist", "file.yaml": "not a directory"} {
		if _, err := xpkg.Read(t.Context(), fsys, root, xpkg.ReadOptions{}); err == nil || !strings.Contains(err.Error(), `"`+root+`"`) || !strings.Contains(err.Error(), want) {
			t.Errorf("root %q: got %v, want it to contain %q", root, err, want)
		}
	}
}

// locked is a file system that refuses to open files with this name.
type locked struct {
	afero.Fs
	name string
}

func (l locked) Open(path string) (afero.File, error) {
	if filepath.Base(path) == l.name {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrPermission}
	}
	return l.Fs.Open(path)
}

// An unreadable file is an error, because the package would lack it.
func TestReadRefusesUnreadableFiles(t *testing.T) {
	for _, name := range []string{"crd.yaml", "sub"} {
		fsys := locked{e2e.Memory(t, map[string]string{"p/crossplane.yaml": functionYAML, "p/crd.yaml": crdYAML, "p/sub/x.yaml": crdYAML}), name}
		_, err := xpkg.Read(t.Context(), fsys, "p", xpkg.ReadOptions{})
		e2e.Equal(t, "an unreadable file is an error with its path", filepath.Join("p", name)+`: cannot be read: permission denied`, fmt.Sprint(err))
		// The crossplane CLI skips unreadable files, but not directories.
		pkg, err := xpkg.Read(t.Context(), fsys, "p", xpkg.ReadOptions{Lint: xpkg.Warn})
		if name == "sub" && err == nil || name != "sub" && (err != nil || len(pkg.Warnings) == 0 || len(pkg.Objects) != 1) {
			t.Errorf("%s: at the level Warn got %+v, %v", name, pkg, err)
		}
	}
}

func TestReadBounds(t *testing.T) {
	dir := e2e.Dir(t, map[string]string{"crossplane.yaml": functionYAML})
	f := e2e.Must(os.Create(filepath.Join(dir, "huge.yaml")))(t)
	e2e.NoError(t, f.Truncate(200<<20+1))
	e2e.NoError(t, f.Close())
	e2e.ErrorHas(t, "the size of a file is limited", e2e.Err(readDir(t, dir, xpkg.ReadOptions{})), "huge.yaml", "200 MiB")
	e2e.NoError(t, os.Truncate(filepath.Join(dir, "huge.yaml"), 80<<20+1))
	e2e.ErrorHas(t, "the size of a document is limited", e2e.Err(readDir(t, dir, xpkg.ReadOptions{Lint: xpkg.Off})), "huge.yaml:1: the document has more than 80 MiB")
	deep := dir + strings.Repeat("/d", 102)
	e2e.NoError(t, os.MkdirAll(deep, 0o755))
	e2e.ErrorHas(t, "the depth of folders is limited", e2e.Err(readDir(t, dir, xpkg.ReadOptions{Ignore: []string{"huge.yaml"}})), "nested")
}

// A link may be absolute or relative, and so may the root.
func TestReadFollowsLinksInside(t *testing.T) {
	dir := t.TempDir()
	pkg := filepath.Join(dir, "package")
	e2e.WriteFiles(t, pkg, map[string]string{"crossplane.yaml": functionYAML, "src/crd.yaml": crd("real"), "sub/x.txt": ""})
	t.Chdir(pkg)
	cwd := e2e.Must(os.Getwd())(t)
	for name, target := range map[string]string{
		"absolute.yaml": filepath.Join(cwd, "src", "crd.yaml"),
		"relative.yaml": filepath.Join("src", "crd.yaml"),
		"around.yaml":   filepath.Join("..", "package", "src", "crd.yaml"),
		"twice.yaml":    filepath.Join(cwd, "absolute.yaml"),
	} {
		if err := os.Symlink(target, name); err != nil {
			t.Skipf("this system has no symbolic links: %v", err)
		}
	}
	for _, root := range []string{"", ".", cwd, filepath.Join("..", "package")} {
		got, err := readDir(t, root, xpkg.ReadOptions{Lint: xpkg.Off})
		if err != nil {
			t.Errorf("root %q: %v", root, err)
			continue
		}
		e2e.Equal(t, fmt.Sprintf("all files of root %q are read", root), []string{"real", "real", "real", "real", "real"}, names(got))
	}
	t.Chdir("sub")
	e2e.WantError(t, "the parent directory can be the root", e2e.Err(readDir(t, "..", xpkg.ReadOptions{Lint: xpkg.Off})), "")
}

// Examples and extensions in the package root are not objects of the package.
func TestReadLeavesOutOtherRoots(t *testing.T) {
	files := map[string]string{"p/crossplane.yaml": functionYAML, "p/ex/a.yaml": "kind: A\n", "p/ext/sboms/sbom.yaml": "bom: 1\n", "p/extra.yaml": crdYAML}
	pkg, err := xpkg.Read(t.Context(), e2e.Memory(t, files), "p", xpkg.ReadOptions{ExamplesRoot: "p/ex", ExtensionsRoot: "p/ext"})
	if err != nil || len(pkg.Objects) != 1 || pkg.Objects[0].Path != filepath.Join("p", "extra.yaml") {
		t.Errorf("got %v, %v, want only the object of extra.yaml", pkg, err)
	}
}
