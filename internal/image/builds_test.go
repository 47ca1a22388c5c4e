package image_test

import (
	"os"
	"path/filepath"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

// Save stores an image once, in a folder that OpenLocal reads.
func TestSave(t *testing.T) {
	layer := e2e.Must(random.Layer(1000, "application/vnd.oci.image.layer.v1.tar+gzip"))(t)
	img := remotetest.Image(t, v1.Config{Entrypoint: []string{"/fn"}}, layer)
	s := openStore(t, t.TempDir())
	var folders []string
	for range 2 {
		folders = append(folders, e2e.Must(s.Save(t.Context(), img))(t))
	}
	if folders[0] != folders[1] {
		t.Errorf("got the folders %v for one image", folders)
	}
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
	e2e.WriteFile(t, blob, "what the cache has")
	folder := e2e.Must(s.Save(t.Context(), remotetest.Image(t, v1.Config{}, layer)))(t)
	one := e2e.Must(os.Stat(blob))(t)
	other, err := os.Stat(filepath.Join(folder, "blobs", "sha256", digest.Hex))
	if err != nil || !os.SameFile(one, other) {
		t.Errorf("the blob was copied: %v", err)
	}
}
