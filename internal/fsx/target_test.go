package fsx_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/fsx"
)

// A link to nothing, as deployments prepare them: what it leads to is made.
func TestDanglingLink(t *testing.T) {
	cases := map[string]struct {
		reason string
		links  map[string]string
	}{
		"Beside":    {"a name is relative to the link", map[string]string{"link": "real/file"}},
		"Chain":     {"links may lead to links", map[string]string{"link": "real/next", "real/next": "file"}},
		"Directory": {"a link to a directory stands on the way, and .. is seen from behind it", map[string]string{"link": "away/../file", "away": "real/sub"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.MkdirAll(filepath.Join(dir, "real", "sub"), 0o755); err != nil {
				t.Fatal(err)
			}
			for at, to := range tc.links {
				if err := os.Symlink(filepath.FromSlash(to), filepath.Join(dir, at)); err != nil {
					t.Skipf("this system makes no links: %v", err)
				}
			}
			if err := fsx.WriteFile(filepath.Join(dir, "link"), 0o644, []byte("new")); err != nil {
				t.Fatal(err)
			}
			if info, err := os.Lstat(filepath.Join(dir, "link")); err != nil || info.Mode()&fs.ModeSymlink == 0 {
				t.Errorf("%s: the link is one no more: %v, %v", tc.reason, info, err)
			}
			if got := get(t, filepath.Join(dir, "real", "file")); got != "new" {
				t.Errorf("%s: the target holds %q", tc.reason, got)
			}
		})
	}
}

func TestLinkLoop(t *testing.T) {
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink("link", link); err != nil {
		t.Skipf("this system makes no links: %v", err)
	}
	if err := fsx.WriteFile(link, 0o644, nil); err == nil || !strings.Contains(err.Error(), link) {
		t.Errorf("got %v, want an error that names the link", err)
	}
}

// Any name that a file can have will do: its temporary file has one, too.
func TestLongName(t *testing.T) {
	for _, name := range []string{strings.Repeat("x", 250), strings.Repeat("ü", 120)} {
		path := filepath.Join(t.TempDir(), name)
		if err := fsx.WriteFile(path, 0o644, []byte("new")); err != nil {
			t.Fatal(err)
		}
		if got := get(t, path); got != "new" {
			t.Errorf("the file holds %q", got)
		}
	}
}

// Nobody asked for the temporary file: errors are about the one that was.
func TestErrorsNameTheTarget(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "file"), "")
	cases := map[string]struct{ reason, path string }{
		"NoDirectory": {"the directory must exist", filepath.Join(dir, "absent", "a.xpkg")},
		"File":        {"a file is no directory", filepath.Join(dir, "file", "a.xpkg")},
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
