package xpkg_test

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/xpkg"
)

// tree makes files in a new directory, in the order given. A path that ends in
// "/" is a folder, and "path -> target" a link.
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
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// entries lists a layer's tar: mode, name and content.
func entries(t *testing.T, l v1.Layer) []string {
	t.Helper()
	rc, err := l.Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer rc.Close()
	var all []string
	for tr := tar.NewReader(rc); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		if h.Uid != 0 || h.Gid != 0 || h.Uname != "" || h.Gname != "" || h.ModTime.Unix() != 0 {
			t.Errorf("%s: got %+v", h.Name, h)
		}
		all = append(all, fmt.Sprintf("%o %s %s", h.Mode, h.Name, data))
	}
}

func TestRead(t *testing.T) {
	long := "docs/" + strings.Repeat("long-", 40) + "ż"
	dir := tree(t, "readme/readme.md", "icons/icon.svg", "icons/dark/icon.svg", "icons/empty/", long, "sboms/latest -> ../readme/readme.md")
	layers, err := xpkg.ReadExtensions(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	var order []string
	for _, l := range layers {
		order = append(order, l.Name)
		got[l.Name] = entries(t, l)
	}
	if diff := cmp.Diff([]string{"docs", "icons", "readme", "sboms"}, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	want := map[string][]string{
		"docs":   {"755 docs/ ", "644 " + long + " content of " + long},
		"icons":  {"755 icons/ ", "755 icons/dark/ ", "644 icons/dark/icon.svg content of icons/dark/icon.svg", "755 icons/empty/ ", "644 icons/icon.svg content of icons/icon.svg"},
		"readme": {"755 readme/ ", "644 readme/readme.md content of readme/readme.md"},
		"sboms":  {"755 sboms/ ", "644 sboms/latest content of readme/readme.md"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("content (-want +got):\n%s", diff)
	}
}

// Nothing but names and contents counts.
func TestReadIsRepeatable(t *testing.T) {
	files := []string{"b/y", "b/x", "a/z"}
	var first []v1.Hash
	for i := range 2 {
		dir := tree(t, files...)
		if i == 1 {
			if err := errors.Join(os.Chmod(filepath.Join(dir, "b", "x"), 0o700), os.Chmod(filepath.Join(dir, "b"), 0o700)); err != nil {
				t.Fatal(err)
			}
		}
		slices.Reverse(files)
		layers, err := xpkg.ReadExtensions(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		var digests []v1.Hash
		for _, l := range layers {
			d, err := l.Digest()
			if err != nil {
				t.Fatal(err)
			}
			digests = append(digests, d)
		}
		if i == 0 {
			first = digests
		}
		if diff := cmp.Diff(first, digests); diff != "" {
			t.Errorf("made in another order, with other modes (-first +second):\n%s", diff)
		}
	}
}

func TestExtensionReadRefuses(t *testing.T) {
	outside := filepath.Join(tree(t, "secret"), "secret")
	cases := map[string]struct {
		reason string
		paths  []string
		want   string
	}{
		"Empty":         {"a directory without folders is a mistake", nil, "it has 0 folders"},
		"Many":          {"engines stack so many layers", many(33), "it has 33 folders"},
		"File":          {"a file beside the folders would get lost", []string{"a/b", "readme.md"}, `readme.md" is not a folder`},
		"Base":          {"the control plane would read it", []string{"base/x"}, `"base" is the mark`},
		"Upbound":       {"others would take it for the examples", []string{"upbound/x"}, `"upbound" is the mark`},
		"Hidden":        {"the package's own folder begins so, and .git does", []string{".up/examples.yaml"}, "cannot mark a layer"},
		"Space":         {"a mark is one word", []string{"my docs/x"}, "cannot mark a layer"},
		"LongName":      {"a mark is short", []string{strings.Repeat("a", 64) + "/x"}, "cannot mark a layer"},
		"Metadata":      {"which package.yaml counts must be plain", []string{"docs/a/package.yaml"}, "would be taken for the package's own"},
		"Whiteout":      {"it deletes a file", []string{"docs/.wh.x"}, "would delete a file"},
		"WhiteoutDir":   {"whatever it is", []string{"docs/.wh..wh..opq/"}, "would delete a file"},
		"LinkOut":       {"a link could give away any file", []string{"docs/x -> " + outside}, `docs/x" is a link that does not lead to a file in`},
		"LinkUp":        {"by any path", []string{"docs/x -> ../../../../../../../../../etc/passwd"}, "is a link that does not lead to a file in"},
		"LinkDangling":  {"its content would be missing", []string{"docs/x -> y"}, "is a link that does not lead to a file in"},
		"LinkLoop":      {"so it would", []string{"docs/x -> x"}, "is a link that does not lead to a file in"},
		"LinkDir":       {"a folder's content would be missing", []string{"docs/x -> ../icons", "icons/y"}, "is a link that does not lead to a file in"},
		"LinkFolder":    {"as would that of a layer", []string{"docs -> icons", "icons/y"}, `docs" is not a folder`},
		"LinkUnderLink": {"a link may lie below one", []string{"a/y -> ../docs/z/passwd", "docs/z -> /etc"}, `a/y" is a link that does not lead to a file in`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if runtime.GOOS == "windows" && strings.Contains(strings.Join(tc.paths, ""), "->") {
				t.Skip("links need a privilege there")
			}
			dir := tree(t, tc.paths...)
			_, err := xpkg.ReadExtensions(t.Context(), dir)
			if err == nil || !strings.Contains(filepath.ToSlash(err.Error()), tc.want) || !strings.Contains(err.Error(), dir) {
				t.Errorf("%s: got %v, want %q and %q in it", tc.reason, err, tc.want, dir)
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
	// A sparse file takes no room.
	if err := os.Truncate(filepath.Join(dir, "docs", "b"), 64<<20); err != nil {
		t.Fatal(err)
	}
	if _, err := xpkg.ReadExtensions(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "more than 64 MiB") {
		t.Errorf("got %v, want an error", err)
	}
	dir = tree(t, "docs/a")
	for i := range 10_000 {
		if err := os.WriteFile(filepath.Join(dir, "docs", fmt.Sprint(i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := xpkg.ReadExtensions(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "more than 10000 files") {
		t.Errorf("got %v, want an error", err)
	}
}

func TestExtensionReadStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := xpkg.ReadExtensions(ctx, tree(t, "docs/a")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	if _, err := xpkg.ReadExtensions(t.Context(), filepath.Join(t.TempDir(), "gone")); err == nil || !strings.Contains(err.Error(), "gone") {
		t.Errorf("got %v, want an error that names the directory", err)
	}
}
