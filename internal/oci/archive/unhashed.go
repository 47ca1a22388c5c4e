package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/xfn-dev/xfn/internal/oci"
)

// An unhashed image is one of a Docker archive. That says of a layer what its
// tar is, and not what is stored, as a manifest does: so it has none before
// somebody asks for it, and layers are read for their digests then.
type unhashed struct {
	config []byte
	layers []v1.Layer
	whole  func() (v1.Image, error) // once
}

func newUnhashed(config []byte, layers []v1.Layer) (v1.Image, error) {
	u := unhashed{config: config, layers: layers}
	u.whole = sync.OnceValues(u.assemble)
	img, err := partial.CompressedToImage(u)
	return unhashedImage{img, layers}, err
}

// assemble reads all layers.
func (u unhashed) assemble() (v1.Image, error) {
	descs := make([]v1.Descriptor, 0, len(u.layers))
	for _, l := range u.layers {
		desc, err := oci.Describe(l)
		if err != nil {
			return nil, err
		}
		descs = append(descs, desc)
	}
	return oci.Assemble(u.config, descs, u.layers...)
}

func (u unhashed) MediaType() (types.MediaType, error) { return types.OCIManifestSchema1, nil }
func (u unhashed) RawConfigFile() ([]byte, error)      { return u.config, nil }

func (u unhashed) RawManifest() ([]byte, error) {
	img, err := u.whole()
	if err != nil {
		return nil, err
	}
	return img.RawManifest()
}

func (u unhashed) LayerByDigest(h v1.Hash) (partial.CompressedLayer, error) {
	img, err := u.whole()
	if err != nil {
		return nil, err
	}
	return img.LayerByDigest(h)
}

// An unhashedImage gives its layers without a manifest.
type unhashedImage struct {
	v1.Image
	layers []v1.Layer
}

func (i unhashedImage) Layers() ([]v1.Layer, error) { return i.layers, nil }

// An unhashedLayer is read for its digest when that is first asked for.
type unhashedLayer struct {
	name      string // for errors
	stored    content
	ctx       func(io.Reader) io.Reader // ends with the context of Open
	diffID    v1.Hash
	mediaType types.MediaType

	mu     sync.Mutex
	hashed v1.Layer // once its digest is known
}

func (t *tarball) unhashedLayer(ctx context.Context, name string, diffID v1.Hash) (*unhashedLayer, error) {
	e, ok := t.find(name)
	if !ok {
		return nil, errors.New("the file is missing")
	}
	mediaType, err := layerTypeOf(e.content)
	if err != nil {
		return nil, err
	}
	bound := func(r io.Reader) io.Reader { return oci.Reader(ctx, r) }
	l := &unhashedLayer{name: name, stored: e.content, ctx: bound, diffID: diffID, mediaType: mediaType}
	if e.digest != (v1.Hash{}) {
		l.hashed, err = l.known(e.digest)
	}
	return l, err
}

func layerTypeOf(c content) (_ types.MediaType, err error) {
	rc, err := c.open()
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, rc.Close()) }()
	return layerType(rc)
}

func wrongDigest(is, says v1.Hash) error {
	return fmt.Errorf("its digest is %s, and the config says %s", is, says)
}

// known returns the layer, once its digest is.
func (l *unhashedLayer) known(digest v1.Hash) (v1.Layer, error) {
	if l.mediaType == types.OCIUncompressedLayer && digest != l.diffID {
		return nil, wrongDigest(digest, l.diffID)
	}
	return oci.Stored(l.stored.open, oci.Blob{Digest: digest, Size: l.stored.size, DiffID: l.diffID, MediaType: l.mediaType})
}

func (l *unhashedLayer) DiffID() (v1.Hash, error)            { return l.diffID, nil }
func (l *unhashedLayer) Size() (int64, error)                { return l.stored.size, nil }
func (l *unhashedLayer) MediaType() (types.MediaType, error) { return l.mediaType, nil }

func (l *unhashedLayer) Digest() (v1.Hash, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.hashed != nil {
		return l.hashed.Digest()
	}
	digest, err := l.sum()
	if err == nil {
		l.hashed, err = l.known(digest)
	}
	if err != nil {
		return v1.Hash{}, fmt.Errorf("its layer %s: %w", l.name, err)
	}
	return digest, nil
}

// Compressed returns what is stored: checked, once somebody has been told its
// digest. What it unpacks to is its diff ID's matter.
func (l *unhashedLayer) Compressed() (io.ReadCloser, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.hashed != nil {
		return l.hashed.Compressed()
	}
	return l.stored.open()
}

func (l *unhashedLayer) sum() (_ v1.Hash, err error) {
	rc, err := l.stored.open()
	if err != nil {
		return v1.Hash{}, err
	}
	defer func() { err = errors.Join(err, rc.Close()) }()
	digest, _, err := v1.SHA256(l.ctx(rc))
	return digest, err
}
