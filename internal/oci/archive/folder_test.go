package archive_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/oci/archive"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

func TestOpenFolder(t *testing.T) {
	amd64, arm64 := image(t, "linux", "amd64"), image(t, "linux", "arm64")
	both := remotetest.Index(amd64, arm64)
	cases := map[string]struct {
		reason, dir string
		want        oci.Artifact
	}{
		"Image":  {"one image is opened", remotetest.Layout(t, amd64), amd64},
		"Twice":  {"two names of one image are one image", remotetest.Layout(t, amd64, amd64), amd64},
		"Index":  {"an index is opened", remotetest.Layout(t, both), both},
		"Nested": {"a nested index is opened", remotetest.Layout(t, remotetest.Index(amd64), arm64), nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := e2e.Must(e2e.Open(archive.OpenFolder(tc.dir))(t).Artifact(t.Context()))(t)
			if tc.want != nil && digest(t, a) != digest(t, tc.want) {
				t.Errorf("%s: got %s, want %s", tc.reason, digest(t, a), digest(t, tc.want))
			}
			switch a := a.(type) {
			case v1.Image:
				e2e.NoError(t, validate.Image(a))
			case v1.ImageIndex:
				e2e.NoError(t, validate.Index(a))
			}
		})
	}
}

// A folder with several images, as buildx writes it, is read as an index.
func TestOpenFolderOfSeveral(t *testing.T) {
	images := []v1.Image{image(t, "linux", "amd64"), image(t, "linux", "arm64")}
	idx, ok := e2e.Must(e2e.Open(archive.OpenFolder(remotetest.Layout(t, images[0], images[1], images[0])))(t).Artifact(t.Context()))(t).(v1.ImageIndex)
	if !ok {
		t.Fatal("it is not an index")
	}
	m := e2e.Must(idx.IndexManifest())(t)
	if len(m.Manifests) != 2 {
		t.Fatalf("got %d images, want 2", len(m.Manifests))
	}
	for i, want := range images {
		e2e.Equal(t, fmt.Sprintf("image %d has its place in the index", i), digest(t, want), m.Manifests[i].Digest)
	}
}

func TestOpenFolderRefuses(t *testing.T) {
	img := image(t, "linux", "amd64")
	m := e2e.Must(img.Manifest())(t)
	layer, manifest := "blobs/sha256/"+m.Layers[0].Digest.Hex, "blobs/sha256/"+digest(t, img).Hex
	cases := map[string]struct {
		reason string
		spoil  func(dir string) error
		want   string
	}{
		"NoMarker":  {"a folder without oci-layout is an error", func(dir string) error { return os.Remove(filepath.Join(dir, "oci-layout")) }, "it has no oci-layout"},
		"NoIndex":   {"a layout without an index is an error", func(dir string) error { return os.Remove(filepath.Join(dir, "index.json")) }, "index.json is missing"},
		"HugeIndex": {"the size of an index is limited", func(dir string) error { return os.Truncate(filepath.Join(dir, "index.json"), 1<<40) }, "larger than"},
		"NoBlob":    {"a missing blob is named", func(dir string) error { return os.Remove(filepath.Join(dir, layer)) }, m.Layers[0].Digest.String() + " is missing"},
		"Short":     {"a truncated blob is an error", func(dir string) error { return os.Truncate(filepath.Join(dir, layer), 10) }, "has 10 bytes, and should have"},
		"Digest": {"a manifest with a wrong digest is an error", func(dir string) error {
			data, err := os.ReadFile(filepath.Join(dir, manifest))
			if err != nil {
				return err
			}
			data[len(data)-1] = ' '
			return os.WriteFile(filepath.Join(dir, manifest), data, 0o600)
		}, "has the digest"},
		"Folder": {"a folder in place of a blob is an error", func(dir string) error {
			if err := os.Remove(filepath.Join(dir, layer)); err != nil {
				return err
			}
			return os.Mkdir(filepath.Join(dir, layer), 0o700)
		}, "not a regular file"},
		"Link": {"a link out of the folder is not followed", func(dir string) error {
			outside := filepath.Join(t.TempDir(), "blob")
			if err := os.Rename(filepath.Join(dir, layer), outside); err != nil {
				return err
			}
			return os.Symlink(outside, filepath.Join(dir, layer))
		}, "escapes"},
		"LinkedFolder": {"a linked folder outside is not read", func(dir string) error {
			outside := filepath.Join(t.TempDir(), "blobs")
			if err := os.Rename(filepath.Join(dir, "blobs"), outside); err != nil {
				return err
			}
			return os.Symlink(outside, filepath.Join(dir, "blobs"))
		}, "escapes"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := remotetest.Layout(t, img)
			e2e.NoError(t, tc.spoil(dir))
			f, err := archive.OpenFolder(dir)
			if err == nil {
				_, err = f.Artifact(t.Context())
				_ = f.Close()
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), dir) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: want one sentence with %q and the directory, got %v", tc.reason, tc.want, err)
			}
		})
	}
}

// A blob that changes after it was opened is an error when it is read.
func TestOpenFolderReadsLate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open directory cannot be changed there")
	}
	img := image(t, "linux", "amd64")
	dir := remotetest.Layout(t, img)
	f := e2e.Open(archive.OpenFolder(dir))(t)
	a := e2e.Must(f.Artifact(t.Context()))(t)
	m := e2e.Must(img.Manifest())(t)
	e2e.NoError(t, os.WriteFile(filepath.Join(dir, "blobs/sha256", m.Layers[0].Digest.Hex), make([]byte, m.Layers[0].Size), 0o600))
	opened, ok := a.(v1.Image)
	if !ok {
		t.Fatal("it is not an image")
	}
	rc := e2e.Must(e2e.Must(opened.Layers())(t)[0].Compressed())(t)
	defer rc.Close()
	e2e.ErrorHas(t, "a blob that changed after it was opened is an error", e2e.Err(io.Copy(io.Discard, rc)), "other content")
}

func TestOpenFolderOfFile(t *testing.T) {
	path := file(t, []byte("hello"))
	e2e.ErrorHas(t, "a file instead of a directory is an error", e2e.Err(archive.OpenFolder(path)), "expected a directory, got a file")
	gone := filepath.Join(t.TempDir(), "gone")
	e2e.ErrorHas(t, "a missing directory is an error with its path", e2e.Err(archive.OpenFolder(gone)), gone, "no such file")
}
