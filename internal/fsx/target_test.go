package fsx_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/fsx"
)

// If path is a symbolic link whose target does not exist, Write creates the target.
func TestDanglingLink(t *testing.T) {
	cases := map[string]struct {
		reason string
		links  map[string]string
	}{
		"Beside":    {"a target is relative to the link", map[string]string{"link": "real/file"}},
		"Chain":     {"links to links are followed", map[string]string{"link": "real/next", "real/next": "file"}},
		"Directory": {".. is resolved after a link to a directory", map[string]string{"link": "away/../file", "away": "real/sub"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			e2e.NoError(t, os.MkdirAll(filepath.Join(dir, "real", "sub"), 0o755))
			for at, to := range tc.links {
				if err := os.Symlink(filepath.FromSlash(to), filepath.Join(dir, at)); err != nil {
					t.Skipf("this system cannot create links: %v", err)
				}
			}
			e2e.NoError(t, fsx.WriteFile(filepath.Join(dir, "link"), 0o644, []byte("new")))
			if info, err := os.Lstat(filepath.Join(dir, "link")); err != nil || info.Mode()&fs.ModeSymlink == 0 {
				t.Errorf("%s: the link was replaced: %v, %v", tc.reason, info, err)
			}
			e2e.Equal(t, tc.reason, "new", get(t, filepath.Join(dir, "real", "file")))
		})
	}
}

func TestLinkLoop(t *testing.T) {
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink("link", link); err != nil {
		t.Skipf("this system cannot create links: %v", err)
	}
	e2e.ErrorHas(t, "the error names the link", fsx.WriteFile(link, 0o644, nil), link)
}

// Write supports a file name of the maximum length: the temporary name does not contain it.
func TestLongName(t *testing.T) {
	for _, name := range []string{strings.Repeat("x", 250), strings.Repeat("ü", 120)} {
		path := filepath.Join(t.TempDir(), name)
		e2e.NoError(t, fsx.WriteFile(path, 0o644, []byte("new")))
		e2e.Equal(t, "the file has the new content", "new", get(t, path))
	}
}

// Errors contain the final path, not the name of the temporary file.
func TestErrorsNameTheTarget(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "file"), "")
	cases := map[string]struct{ reason, path string }{
		"NoDirectory": {"the directory must exist", filepath.Join(dir, "absent", "a.xpkg")},
		"File":        {"a file is not a directory", filepath.Join(dir, "file", "a.xpkg")},
		"Directory":   {"a directory is not replaced", dir},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := fsx.WriteFile(tc.path, 0o644, nil)
			if err == nil || !strings.Contains(err.Error(), tc.path) || strings.Contains(err.Error(), ".tmp") {
				t.Errorf("%s: got %v, want the path and no other", tc.reason, err)
			}
		})
	}
}
