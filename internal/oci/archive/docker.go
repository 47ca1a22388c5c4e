package archive

import (
	"archive/tar"
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/xfn-dev/xfn/internal/oci"
)

const manifestFile = "manifest.json"

// ErrSeveral means that a Docker archive does not have exactly one image. The file of a project has
// several.
var ErrSeveral = errors.New("expected one")

// A dockerImage is an entry of manifest.json in a Docker archive.
type dockerImage struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// docker returns the image of a Docker archive. An archive of more than one image is an
// error.
func (t *tarball) docker(ctx context.Context) (v1.Image, error) {
	images, err := t.dockerImages()
	if err != nil {
		return nil, err
	}
	if n := len(images); n != 1 {
		return nil, fmt.Errorf("%s lists %d images, %w", manifestFile, n, ErrSeveral)
	}
	return t.dockerImage(ctx, images[0])
}

func (t *tarball) dockerImages() (images []dockerImage, err error) {
	if _, ok := t.find(manifestFile); !ok {
		return nil, fmt.Errorf("the archive is not an image: it has neither %s nor %s", layoutFile, manifestFile)
	}
	raw, err := t.metadata(manifestFile)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, &images); err != nil {
		return nil, fmt.Errorf("%s is not valid JSON", manifestFile)
	}
	return images, nil
}

func (t *tarball) dockerImage(ctx context.Context, image dockerImage) (v1.Image, error) {
	config, err := t.metadata(image.Config)
	if err != nil {
		return nil, err
	}
	c, err := oci.ParseConfig(config, len(image.Layers))
	if err != nil {
		return nil, err
	}
	u := &unhashed{config: config}
	for i, name := range image.Layers {
		stored, err := t.unhashedLayer(ctx, name, c.RootFS.DiffIDs[i])
		if err != nil {
			return nil, fmt.Errorf("layer %d (%s): %w", i+1, name, err)
		}
		l, err := partial.CompressedToLayer(stored)
		if err != nil {
			return nil, err
		}
		u.layers = append(u.layers, l)
	}
	u.hashed = sync.OnceValues(u.assemble)
	img, err := partial.CompressedToImage(u)
	return unhashedImage{img, u.layers}, err
}

// An unhashed image is the image of a Docker archive. The archive names the diff IDs of the
// layers, but not the digests of the layers as they are stored. The manifest is created when
// it is first needed: then all layers are read to compute their digests.
type unhashed struct {
	config []byte
	layers []v1.Layer
	hashed func() (v1.Image, error) // returns the result of assemble, which runs once
}

func (u *unhashed) assemble() (v1.Image, error) {
	descs := make([]v1.Descriptor, len(u.layers))
	for i, l := range u.layers {
		var err error
		if descs[i], err = oci.Describe(l); err != nil {
			return nil, err
		}
	}
	return oci.Assemble(u.config, descs, u.layers...)
}

func (u *unhashed) MediaType() (types.MediaType, error) { return types.OCIManifestSchema1, nil }
func (u *unhashed) RawConfigFile() ([]byte, error)      { return u.config, nil }

func (u *unhashed) RawManifest() ([]byte, error) {
	img, err := u.hashed()
	if err != nil {
		return nil, err
	}
	return img.RawManifest()
}

func (u *unhashed) LayerByDigest(h v1.Hash) (partial.CompressedLayer, error) {
	img, err := u.hashed()
	if err != nil {
		return nil, err
	}
	return img.LayerByDigest(h)
}

// An unhashedImage lists its layers without creating its manifest.
type unhashedImage struct {
	v1.Image
	layers []v1.Layer
}

func (i unhashedImage) Layers() ([]v1.Layer, error) { return i.layers, nil }

// An unhashedLayer computes its digest when Digest is first called.
type unhashedLayer struct {
	ctx       context.Context // the context of Open or Read
	name      string          // the layer's file, for error messages
	stored    content
	diffID    v1.Hash
	mediaType types.MediaType

	mu     sync.Mutex
	hashed v1.Layer // the layer with its digest, or nil until the digest is known
}

func (t *tarball) unhashedLayer(ctx context.Context, name string, diffID v1.Hash) (*unhashedLayer, error) {
	e, ok := t.find(name)
	if !ok {
		return nil, errors.New("the file is missing")
	}
	mediaType, err := layerType(e.content)
	if err != nil {
		return nil, err
	}
	l := &unhashedLayer{ctx: ctx, name: name, stored: e.content, diffID: diffID, mediaType: mediaType}
	if e.digest != (v1.Hash{}) {
		err = l.setDigest(e.digest)
	}
	return l, err
}

// layerType returns the media type of a layer, which it detects from the first bytes. A file
// that is not a tar, compressed or not, is an error.
func layerType(c content) (_ types.MediaType, err error) {
	rc, err := c.open()
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, rc.Close()) }()
	r := bufio.NewReader(rc)
	magic, err := r.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	compression := oci.Compression(magic)
	plain, err := oci.Decompress(r)
	if err != nil {
		return "", fmt.Errorf("the layer is not valid %s", compression)
	}
	defer plain.Close()
	if _, err := tar.NewReader(plain).Next(); err != nil && !errors.Is(err, io.EOF) {
		return "", errors.New("the layer is not a tar file, compressed or not")
	}
	switch compression {
	case oci.Gzip:
		return types.OCILayer, nil
	case oci.Zstd:
		return types.OCILayerZStd, nil
	default:
		return types.OCIUncompressedLayer, nil
	}
}

func (l *unhashedLayer) setDigest(digest v1.Hash) (err error) {
	if l.mediaType == types.OCIUncompressedLayer && digest != l.diffID {
		return fmt.Errorf("the digest is %s, but the config says %s", digest, l.diffID)
	}
	l.hashed, err = oci.Stored(l.stored.open, oci.Blob{Digest: digest, Size: l.stored.size, DiffID: l.diffID, MediaType: l.mediaType})
	return err
}

func (l *unhashedLayer) DiffID() (v1.Hash, error)            { return l.diffID, nil }
func (l *unhashedLayer) Size() (int64, error)                { return l.stored.size, nil }
func (l *unhashedLayer) MediaType() (types.MediaType, error) { return l.mediaType, nil }

func (l *unhashedLayer) Digest() (v1.Hash, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.hashed == nil {
		if err := l.hash(); err != nil {
			return v1.Hash{}, fmt.Errorf("layer %s: %w", l.name, err)
		}
	}
	return l.hashed.Digest()
}

// Compressed returns the layer's bytes as they are stored. Reading them verifies the digest
// if it is known.
func (l *unhashedLayer) Compressed() (io.ReadCloser, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.hashed != nil {
		return l.hashed.Compressed()
	}
	return l.stored.open()
}

func (l *unhashedLayer) hash() (err error) {
	rc, err := l.stored.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rc.Close()) }()
	digest, _, err := v1.SHA256(oci.Reader(l.ctx, rc))
	if err != nil {
		return err
	}
	return l.setDigest(digest)
}
