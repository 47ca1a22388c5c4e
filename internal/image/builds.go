package image

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/oci"
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
	if err := s.save(ctx, img, at); err != nil {
		return "", fmt.Errorf("storing the image %s in the cache: %w", digest, fsx.Cause(err))
	}
	return at, nil
}

func (s *Store) save(ctx context.Context, img v1.Image, at string) (err error) {
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(filepath.Dir(at), ".xfn-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	desc, err := oci.Describe(img)
	if err != nil {
		return err
	}
	p, err := oci.PartsOf(img)
	if err != nil {
		return err
	}
	manifest, err := img.RawManifest()
	if err != nil {
		return err
	}
	config, err := img.ConfigName()
	if err != nil {
		return err
	}
	index, err := json.Marshal(v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: []v1.Descriptor{desc}})
	if err != nil {
		return err
	}
	blobs := filepath.Join(temp, "blobs", "sha256")
	if err := os.MkdirAll(blobs, 0o700); err != nil {
		return err
	}
	for path, data := range map[string][]byte{
		filepath.Join(temp, "oci-layout"):     []byte(`{"imageLayoutVersion":"1.0.0"}`),
		filepath.Join(temp, "index.json"):     index,
		filepath.Join(blobs, desc.Digest.Hex): manifest,
		filepath.Join(blobs, config.Hex):      p.Config,
	} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			return err
		}
	}
	for i, l := range p.Layers {
		if err := s.link(ctx, l, p.Descriptors[i], filepath.Join(blobs, p.Descriptors[i].Digest.Hex)); err != nil {
			return err
		}
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

// link links the blob of a layer to a path, or copies it if the Store does not have it.
func (s *Store) link(ctx context.Context, l v1.Layer, d v1.Descriptor, path string) (err error) {
	if s.blobs.Link(d.Digest, path) == nil {
		return nil
	}
	rc, err := l.Compressed()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rc.Close()) }()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, oci.Reader(ctx, rc))
	return errors.Join(err, f.Close())
}
