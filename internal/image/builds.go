package image

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"

	"github.com/xfn-dev/xfn/internal/fsx"
)

// BuildsFolder has the images that were built from source: an OCI image layout in a folder for
// each image, by the digest of its manifest. The modification time of a folder is the time of
// its last use.
const BuildsFolder = "builds"

// IsBuild reports whether path is a folder that Save returned for the cache in dir.
func IsBuild(dir, path string) bool { return filepath.Dir(path) == filepath.Join(dir, BuildsFolder) }

// Save stores img as an OCI image layout and returns the folder. It links blobs that the Store
// has, instead of copying them. If the folder exists, Save writes nothing.
func (s *Store) Save(ctx context.Context, img v1.Image) (string, error) {
	digest, err := img.Digest()
	if err != nil {
		return "", err
	}
	at := filepath.Join(s.dir, BuildsFolder, digest.Hex)
	if fsx.Touch(at) == nil {
		return at, nil
	}
	err = os.MkdirAll(filepath.Dir(at), 0o700)
	if err == nil {
		err = s.save(ctx, img, at)
	}
	if err != nil {
		return "", fmt.Errorf("storing the image %s in the cache: %w", digest, fsx.Cause(err))
	}
	return at, nil
}

func (s *Store) save(ctx context.Context, img v1.Image, at string) (err error) {
	temp, err := os.MkdirTemp(filepath.Dir(at), ".xfn-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	layers, err := img.Layers()
	if err != nil {
		return err
	}
	blobs := filepath.Join(temp, "blobs", "sha256")
	if err := os.MkdirAll(blobs, 0o700); err != nil {
		return err
	}
	for _, l := range layers {
		if h, err := l.Digest(); err == nil {
			_ = s.blobs.Link(h, filepath.Join(blobs, h.Hex)) // AppendImage copies a layer that is not linked.
		}
	}
	to, err := layout.Write(temp, empty.Index)
	if err == nil {
		err = to.AppendImage(img)
	}
	if err != nil || ctx.Err() != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	// Save trusts a folder that exists. Without a sync, it could have empty files after a power failure.
	if err := fsx.SyncFiles(temp); err != nil {
		return err
	}
	if err := os.Rename(temp, at); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil // Another process stored the image.
}
