package registry_test

import (
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/registry"
)

func TestUnusableDir(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	e2e.NoError(t, os.WriteFile(file, nil, 0o600))
	e2e.ErrorHas(t, "the error names the file", e2e.Err(registry.Open(file)), file)
}

// TestForeignDir: a directory with other files is not changed.
func TestForeignDir(t *testing.T) {
	for _, theirs := range []string{"uploads/photo", "uploads/" + "00000000-0000-4000-8000-000000000000", "blobs/sha256/x", "note"} {
		dir := t.TempDir()
		e2e.WriteFile(t, filepath.Join(dir, theirs), "")
		_, err := registry.Open(dir)
		if err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "not empty") || hint.Of(err) == "" {
			t.Errorf("%s: got %v (hint: %s), want a refusal of %q", theirs, err, hint.Of(err), dir)
		}
		e2e.Equal(t, theirs+" is not changed", []string{theirs}, files(t, dir))
	}
}

// TestUploadsForgotten: only unfinished uploads are removed from the folder uploads.
func TestUploadsForgotten(t *testing.T) {
	dir := t.TempDir()
	_, stop := start(t, dir)
	stop()
	e2e.WriteFile(t, filepath.Join(dir, "uploads", "00000000-0000-4000-8000-000000000000"), "")
	e2e.WriteFile(t, filepath.Join(dir, "uploads", "11111111-1111-4111-8111-111111111111", "theirs"), "")
	e2e.WriteFile(t, filepath.Join(dir, "uploads", "theirs"), "")
	start(t, dir)
	want := []string{"registry.lock", "uploads/" + "11111111-1111-4111-8111-111111111111" + "/theirs", "uploads/theirs"}
	e2e.Equal(t, "only the unfinished upload is removed", want, files(t, dir))
}

// files lists the files in dir, without folders.
func files(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	e2e.NoError(t, fs.WalkDir(os.DirFS(dir), ".", func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			all = append(all, path)
		}
		return err
	}))
	return all
}

// TestLocked: a second registry cannot open the directory and changes nothing in it.
func TestLocked(t *testing.T) {
	dir := t.TempDir()
	host, stop := start(t, dir)
	resp, err := http.Post("http://"+host+"/v2/r/blobs/uploads/", "", nil)
	e2e.NoError(t, err)
	e2e.NoError(t, resp.Body.Close())
	before := files(t, dir)
	_, err = registry.Open(dir)
	if err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "another registry uses the directory") || hint.Of(err) == "" {
		t.Errorf("got %v (hint: %s), want a refusal", err, hint.Of(err))
	}
	e2e.Equal(t, "the second registry changed the files of the first", before, files(t, dir))
	stop()
	start(t, dir)
}
