package fsx_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/fsx"
)

// tempDirVar is the variable that contains the directory in which the child
// process calls MakeTempDir.
const tempDirVar = "XFN_TEST_HOLD_DIR"

// holdTempDir creates a temporary directory, prints its name, and waits until
// its stdin is closed.
func holdTempDir(parent string) {
	root, err := os.OpenRoot(parent)
	if err == nil {
		var d *fsx.TempDir
		if d, err = fsx.MakeTempDir(root); err == nil {
			err = os.WriteFile(filepath.Join(parent, d.Name, "file"), nil, 0o600)
			fmt.Println(d.Name)
		}
	}
	if err != nil {
		fmt.Println(err)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func in(t *testing.T, parent string) *fsx.TempDir {
	t.Helper()
	root := e2e.Must(os.OpenRoot(parent))(t)
	return e2e.Must(fsx.MakeTempDir(root))(t)
}

func names(t *testing.T, dir string) string {
	t.Helper()
	return strings.Join(e2e.Names(t, dir), " ")
}

func TestIn(t *testing.T) {
	parent := t.TempDir()
	first, second := in(t, parent), in(t, parent)
	for _, d := range []*fsx.TempDir{first, second} {
		info, err := os.Stat(filepath.Join(parent, d.Name))
		if err != nil {
			t.Fatalf("a directory was removed while it was in use: %v", err)
		}
		if runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
			t.Errorf("other users can enter the directory: %v", info.Mode())
		}
		e2e.NoError(t, os.WriteFile(filepath.Join(parent, d.Name, "file"), nil, 0o400))
	}
	e2e.NoError(t, errors.Join(first.Close(), second.Close()))
	e2e.Equal(t, "closing the directories removes them", "", names(t, parent))
}

// MakeTempDir removes the directories that killed processes left, and no others.
func TestInAfterKill(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("directories cannot be locked here")
	}
	parent := t.TempDir()
	const notOurs = "xfn-project"
	link := "xfn-" + strings.Repeat("a", 26)
	e2e.NoError(t, errors.Join(os.Mkdir(filepath.Join(parent, notOurs), 0o755), os.Symlink(notOurs, filepath.Join(parent, link))))
	holder, theirs := e2e.Start(t, tempDirVar+"="+parent)
	e2e.NoError(t, in(t, parent).Close())
	if _, err := os.Stat(filepath.Join(parent, theirs, "file")); err != nil {
		t.Fatalf("a directory of a running process was removed: %v", err)
	}
	holder.Kill(t)
	e2e.NoError(t, in(t, parent).Close())
	e2e.Equal(t, "only the directory of the killed process is removed", link+" "+notOurs, names(t, parent))
}

func TestInFails(t *testing.T) {
	root := e2e.Must(os.OpenRoot(t.TempDir()))(t)
	e2e.NoError(t, root.Close())
	if d, err := fsx.MakeTempDir(root); err == nil || !strings.HasPrefix(err.Error(), "making a private directory in \"") {
		t.Errorf("in a closed folder: got %v, %v", d, err)
	}
}

func TestAll(t *testing.T) {
	cases := map[string]struct {
		reason string
		make   func(dir, outside string) error // creates a file named "it" in dir
	}{
		"Nothing": {"a missing file is not an error", func(string, string) error { return nil }},
		"File":    {"a file is removed", func(dir, _ string) error { return os.WriteFile(filepath.Join(dir, "it"), nil, 0o400) }},
		"Link":    {"a link is removed, and its target is kept", func(dir, outside string) error { return os.Symlink(outside, filepath.Join(dir, "it")) }},
		"Tree": {"a directory is removed with its content", func(dir, outside string) error {
			return errors.Join(os.MkdirAll(filepath.Join(dir, "it/a/b"), 0o700), os.Symlink(outside, filepath.Join(dir, "it/a/link")),
				os.WriteFile(filepath.Join(dir, "it/a/b/file"), nil, 0o400))
		}},
		"Closed": {"a directory without permissions is removed", func(dir, _ string) error {
			return errors.Join(os.MkdirAll(filepath.Join(dir, "it/closed/inner"), 0o700), os.Chmod(filepath.Join(dir, "it/closed"), 0),
				os.Chmod(filepath.Join(dir, "it"), 0o300))
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir, outside := t.TempDir(), t.TempDir()
			if err := errors.Join(os.WriteFile(filepath.Join(outside, "kept"), nil, 0o600), tc.make(dir, outside)); err != nil {
				t.Skip(err) // the system does not support such links or modes
			}
			root := e2e.Must(os.OpenRoot(dir))(t)
			defer root.Close()
			e2e.WantError(t, tc.reason, fsx.RemoveAll(root, "it"), "")
			if names, err := fsx.ReadNames(root); err != nil || len(names) > 0 {
				t.Errorf("%s: left %q, %v", tc.reason, names, err)
			}
			e2e.WantError(t, tc.reason, e2e.Err(os.Stat(filepath.Join(outside, "kept"))), "")
		})
	}
}
