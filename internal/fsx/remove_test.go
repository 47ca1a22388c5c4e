package fsx_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/fsx"
)

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
