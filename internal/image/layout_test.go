package image_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/xpkg"
)

func local(t testing.TB, path, platform string) (v1.Image, error) {
	t.Helper()
	l, err := image.OpenLocal(t.Context(), path, parsePlatform(t, platform))
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { e2e.NoError(t, l.Close()) })
	return l.Image, nil
}

// A folder, a package file and docker save return the same image.
func TestOpenLocal(t *testing.T) {
	idx := indexFor(t, "linux/amd64", "linux/arm64")
	m := e2e.Must(idx.IndexManifest())(t)
	arm := e2e.Must(idx.Image(m.Manifests[1].Digest))(t)
	file := filepath.Join(t.TempDir(), "index.xpkg")
	e2e.NoError(t, xpkg.WriteFile(t.Context(), file, idx, nil))
	saved := filepath.Join(t.TempDir(), "saved.tar")
	e2e.NoError(t, tarball.WriteToFile(saved, nil, arm))
	for what, path := range map[string]string{
		"a folder of an index":  remotetest.Layout(t, idx),
		"a folder of one image": remotetest.Layout(t, arm),
		"a file":                file,
		"docker save":           saved,
	} {
		img, err := local(t, path, "linux/arm64")
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if what != "docker save" { // A Docker archive contains no manifest.
			same(t, img, arm)
		}
		got := e2e.Must(img.ConfigName())(t)
		if want, err := arm.ConfigName(); err != nil || got != want {
			t.Errorf("%s: got config %s, want %s", what, got, want)
		}
		_, err = local(t, path, "linux/s390x")
		if err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("opening %q: there is no image for linux/s390x, only for linux/", path)) {
			t.Errorf("%s: another platform: got %v", what, err)
		}
	}
	_, err := local(t, "testdata/golden/multi-verbose/in/a.xpkg", "linux/"+runtime.GOARCH)
	if err != nil && !strings.Contains(err.Error(), "only for") {
		t.Errorf("a package: got %v", err)
	}
}

func TestOpenLocalErrors(t *testing.T) {
	img := imageFor(t, "linux/amd64")
	layers := e2e.Must(img.Layers())(t)
	spoil := func(change func(dir string)) string {
		dir := remotetest.Layout(t, img)
		change(dir)
		return dir
	}
	layer := digestOf(t, layers[0])
	cases := map[string]struct{ reason, path, err string }{
		"Absent":    {"a missing path is an error", filepath.Join(t.TempDir(), "absent"), "no such file"},
		"NoLayout":  {"a folder without oci-layout is an error", t.TempDir(), "it has no oci-layout"},
		"NoIndex":   {"a layout without an index is an error", spoil(func(dir string) { e2e.NoError(t, os.Remove(filepath.Join(dir, "index.json"))) }), "index.json"},
		"BadIndex":  {"an invalid index is an error", spoil(func(dir string) { e2e.NoError(t, os.WriteFile(filepath.Join(dir, "index.json"), []byte("{"), 0o600)) }), "not valid"},
		"HugeIndex": {"the size of an index is limited", spoil(func(dir string) { e2e.NoError(t, os.Truncate(filepath.Join(dir, "index.json"), 1<<30)) }), "larger than"},
		"Several":   {"a layout of several images is an error", remotetest.Layout(t, img, imageFor(t, "linux/amd64")), "lists 2 images"},
		"None":      {"an empty layout is an error", remotetest.Layout(t), "lists no image"},
		"NoBlob":    {"a missing layer is an error", spoil(func(dir string) { e2e.NoError(t, os.Remove(blobFile(dir, layer))) }), "blob " + layer.String()},
		"Short":     {"a truncated layer is an error", spoil(func(dir string) { e2e.NoError(t, os.Truncate(blobFile(dir, layer), 10)) }), "blob " + layer.String()},
		"Manifest":  {"a manifest with a wrong digest is an error", spoil(func(dir string) { e2e.NoError(t, os.Truncate(blobFile(dir, digestOf(t, img)), 10)) }), "has 10 bytes, and should have"},
		"Link": {"a link out of the folder is an error", spoil(func(dir string) {
			outside := filepath.Join(t.TempDir(), "x")
			e2e.NoError(t, os.Rename(blobFile(dir, layer), outside))
			e2e.NoError(t, os.Symlink(outside, blobFile(dir, layer)))
		}), "escapes"},
		"NoFile": {"a file without an image is an error", "layout_test.go", "not a tar file"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := local(t, tc.path, "linux/amd64"); err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("opening %q: ", tc.path)) || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s: got %v, want %q", tc.reason, err, tc.err)
			}
		})
	}
}

// OpenLocal returns for any folder, and all layers of an image that it returns exist.
func FuzzLayout(f *testing.F) {
	f.Add([]byte(imageOf(2, 1, "").text), []byte("{}"))
	f.Add([]byte(indexOf(small(), 1).text), []byte(small().text))
	f.Add([]byte(`{"manifests":[{}]}`), []byte(`{"layers":[{}]}`))
	f.Fuzz(func(t *testing.T, top, other []byte) {
		dir := t.TempDir()
		e2e.NoError(t, os.MkdirAll(filepath.Join(dir, "blobs", "sha256"), 0o700))
		e2e.NoError(t, os.WriteFile(filepath.Join(dir, "oci-layout"), []byte("{}"), 0o600))
		for _, blob := range [][]byte{top, other} {
			e2e.NoError(t, os.WriteFile(filepath.Join(dir, "blobs", raw{text: string(blob)}.file()), blob, 0o600))
		}
		index := indexOf(raw{string(top), types.OCIManifestSchema1}, 1)
		e2e.NoError(t, os.WriteFile(filepath.Join(dir, "index.json"), []byte(index.text), 0o600))
		img, err := local(t, dir, "linux/amd64")
		if err != nil {
			return
		}
		for _, l := range e2e.Must(img.Layers())(t) {
			e2e.NoError(t, e2e.Must(l.Compressed())(t).Close())
		}
	})
}

// Save stores an image once, in a folder that OpenLocal reads.
func TestSave(t *testing.T) {
	layer := e2e.Must(random.Layer(1000, "application/vnd.oci.image.layer.v1.tar+gzip"))(t)
	img := remotetest.Image(t, v1.Config{Entrypoint: []string{"/fn"}}, layer)
	s := openStore(t, t.TempDir())
	var folders []string
	for range 2 {
		folders = append(folders, e2e.Must(s.Save(t.Context(), img))(t))
	}
	e2e.Equal(t, "one image has one folder", folders[1], folders[0])
	local := e2e.Must(image.OpenLocal(t.Context(), folders[0], v1.Platform{}))(t)
	e2e.NoError(t, validate.Image(local.Image))
	e2e.NoError(t, local.Close())
}

// Save links the blobs that the cache has, so that a base image is stored once.
func TestSaveLinks(t *testing.T) {
	layer := e2e.Must(random.Layer(1000, "application/vnd.oci.image.layer.v1.tar+gzip"))(t)
	digest := e2e.Must(layer.Digest())(t)
	dir := t.TempDir()
	s := openStore(t, dir)
	blob := filepath.Join(dir, "blobs", "sha256", digest.Hex)
	content := e2e.Must(io.ReadAll(e2e.Must(layer.Compressed())(t)))(t)
	e2e.WriteFile(t, blob, string(content))
	folder := e2e.Must(s.Save(t.Context(), remotetest.Image(t, v1.Config{}, layer)))(t)
	one := e2e.Must(os.Stat(blob))(t)
	other, err := os.Stat(filepath.Join(folder, "blobs", "sha256", digest.Hex))
	if err != nil || !os.SameFile(one, other) {
		t.Errorf("the blob was copied: %v", err)
	}
}
