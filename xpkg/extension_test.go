package xpkg_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/xpkg"
)

// tree writes files to a new directory, in the order of paths. A path that ends
// in "/" is a folder, and "path -> target" a link.
func tree(t *testing.T, paths ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, p := range paths {
		p, target, link := strings.Cut(p, " -> ")
		at := filepath.Join(dir, filepath.FromSlash(p))
		err := os.MkdirAll(filepath.Dir(at), 0o755)
		switch {
		case link:
			err = errors.Join(err, os.Symlink(target, at))
		case strings.HasSuffix(p, "/"):
			err = errors.Join(err, os.MkdirAll(at, 0o755))
		default:
			err = errors.Join(err, os.WriteFile(at, []byte("content of "+p), 0o644))
		}
		e2e.NoError(t, err)
	}
	return dir
}

// entries returns the mode, name and content of each entry in a layer's tar.
func entries(t *testing.T, l v1.Layer) []string {
	t.Helper()
	var all []string
	for h, data := range e2e.Tar(t, e2e.Must(l.Uncompressed())(t)) {
		if h.Uid != 0 || h.Gid != 0 || h.Uname != "" || h.Gname != "" || h.ModTime.Unix() != 0 {
			t.Errorf("%s: got %+v", h.Name, h)
		}
		all = append(all, fmt.Sprintf("%o %s %s", h.Mode, h.Name, data))
	}
	return all
}

func TestRead(t *testing.T) {
	long := "docs/" + strings.Repeat("long-", 40) + "ż"
	dir := tree(t, "readme/readme.md", "icons/icon.svg", "icons/dark/icon.svg", "icons/empty/", long, "sboms/latest -> ../readme/readme.md")
	layers := e2e.Must(xpkg.ReadExtensions(t.Context(), dir))(t)
	got := map[string][]string{}
	var order []string
	for _, l := range layers {
		order = append(order, l.Name)
		got[l.Name] = entries(t, l)
	}
	e2e.Equal(t, "extensions are sorted by name", []string{"docs", "icons", "readme", "sboms"}, order)
	want := map[string][]string{
		"docs":   {"755 docs/ ", "644 " + long + " content of " + long},
		"icons":  {"755 icons/ ", "755 icons/dark/ ", "644 icons/dark/icon.svg content of icons/dark/icon.svg", "755 icons/empty/ ", "644 icons/icon.svg content of icons/icon.svg"},
		"readme": {"755 readme/ ", "644 readme/readme.md content of readme/readme.md"},
		"sboms":  {"755 sboms/ ", "644 sboms/latest content of readme/readme.md"},
	}
	e2e.Equal(t, "each folder is a layer with normalized modes and no links", want, got)
}

// The digests of layers depend only on the names and contents of files.
func TestReadIsRepeatable(t *testing.T) {
	files := []string{"b/y", "b/x", "a/z"}
	var first []v1.Hash
	for i := range 2 {
		dir := tree(t, files...)
		if i == 1 {
			e2e.NoError(t, errors.Join(os.Chmod(filepath.Join(dir, "b", "x"), 0o700), os.Chmod(filepath.Join(dir, "b"), 0o700)))
		}
		slices.Reverse(files)
		layers := e2e.Must(xpkg.ReadExtensions(t.Context(), dir))(t)
		var digests []v1.Hash
		for _, l := range layers {
			digests = append(digests, e2e.Must(l.Digest())(t))
		}
		if i == 0 {
			first = digests
		}
		e2e.Equal(t, "made in another order, with other modes", first, digests)
	}
}

func TestExtensionReadRefuses(t *testing.T) {
	outside := filepath.Join(tree(t, "secret"), "secret")
	cases := map[string]struct {
		reason string
		paths  []string
		want   string
	}{
		"Empty":         {"a directory without folders is refused", nil, "it has 0 folders"},
		"Many":          {"more layers than container runtimes support are refused", many(33), "it has 33 folders"},
		"File":          {"a file that is not in a folder is refused", []string{"a/b", "readme.md"}, `readme.md" is not a folder`},
		"Base":          {"the mark of the base layer is refused", []string{"base/x"}, `"base" is reserved`},
		"Upbound":       {"the mark of the layer of examples is refused", []string{"upbound/x"}, `"upbound" is reserved`},
		"Hidden":        {"a folder name that begins with a dot is refused", []string{".up/examples.yaml"}, "is not a valid name of an extension folder"},
		"Space":         {"a folder name with a space is refused", []string{"my docs/x"}, "is not a valid name of an extension folder"},
		"LongName":      {"a folder name of more than 63 characters is refused", []string{strings.Repeat("a", 64) + "/x"}, "is not a valid name of an extension folder"},
		"Metadata":      {"a file named package.yaml is refused at any depth", []string{"docs/a/package.yaml"}, "would be read as the package's own package.yaml"},
		"Whiteout":      {"a whiteout file is refused", []string{"docs/.wh.x"}, "would delete a file"},
		"WhiteoutDir":   {"an opaque whiteout directory is refused", []string{"docs/.wh..wh..opq/"}, "would delete a file"},
		"LinkOut":       {"an absolute link out of the directory is refused", []string{"docs/x -> " + outside}, `docs/x" is a link that does not lead to a file in`},
		"LinkUp":        {"a relative link out of the directory is refused", []string{"docs/x -> ../../../../../../../../../etc/passwd"}, "is a link that does not lead to a file in"},
		"LinkDangling":  {"a link to a missing file is refused", []string{"docs/x -> y"}, "is a link that does not lead to a file in"},
		"LinkLoop":      {"a link to itself is refused", []string{"docs/x -> x"}, "is a link that does not lead to a file in"},
		"LinkDir":       {"a link to a folder is refused", []string{"docs/x -> ../icons", "icons/y"}, "is a link that does not lead to a file in"},
		"LinkFolder":    {"a link in place of a layer's folder is refused", []string{"docs -> icons", "icons/y"}, `docs" is not a folder`},
		"LinkUnderLink": {"a link through another link out of the directory is refused", []string{"a/y -> ../docs/z/passwd", "docs/z -> /etc"}, `a/y" is a link that does not lead to a file in`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if runtime.GOOS == "windows" && strings.Contains(strings.Join(tc.paths, ""), "->") {
				t.Skip("Windows requires a privilege to create links")
			}
			dir := tree(t, tc.paths...)
			_, err := xpkg.ReadExtensions(t.Context(), dir)
			if err == nil || !strings.Contains(filepath.ToSlash(err.Error()), tc.want) || !strings.Contains(err.Error(), dir) {
				t.Errorf("%s: got %v, want it to contain %q and %q", tc.reason, err, tc.want, dir)
			}
		})
	}
}

func many(n int) []string {
	var paths []string
	for i := range n {
		paths = append(paths, fmt.Sprintf("d%d/x", i))
	}
	return paths
}

func TestExtensionReadBounds(t *testing.T) {
	dir := tree(t, "docs/a", "docs/b")
	// A sparse file uses no disk space.
	e2e.NoError(t, os.Truncate(filepath.Join(dir, "docs", "b"), 64<<20))
	e2e.ErrorHas(t, "the size of an extension is limited", e2e.Err(xpkg.ReadExtensions(t.Context(), dir)), "more than 64 MiB")
	dir = tree(t, "docs/a")
	first := ""
	for i := range 10_000 {
		file := filepath.Join(dir, "docs", fmt.Sprint(i))
		if i%1000 != 0 { // A link is created faster, but NTFS has at most 1024 of them for a file.
			e2e.NoError(t, os.Link(first, file))
			continue
		}
		first = file
		e2e.WriteFile(t, file, "")
	}
	e2e.ErrorHas(t, "the number of files of an extension is limited", e2e.Err(xpkg.ReadExtensions(t.Context(), dir)), "more than 10000 files")
}

func TestExtensionReadStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e2e.ErrorIs(t, "ReadExtensions returns the cause of its context", e2e.Err(xpkg.ReadExtensions(ctx, tree(t, "docs/a"))), context.Canceled)
	e2e.ErrorHas(t, "a missing directory is an error with its path", e2e.Err(xpkg.ReadExtensions(t.Context(), filepath.Join(t.TempDir(), "gone"))), "gone")
}
