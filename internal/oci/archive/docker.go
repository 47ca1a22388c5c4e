package archive

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/zstd"

	"github.com/xfn-dev/xfn/internal/oci"
)

const manifestFile = "manifest.json"

// A dockerImage is an entry of a Docker archive's manifest.json.
type dockerImage struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// docker returns the one image of a Docker archive. Layers stay as they are
// stored, compressed or not.
func (t *tarball) docker(ctx context.Context) (v1.Image, error) {
	if _, ok := t.find(manifestFile); !ok {
		return nil, fmt.Errorf("it is no image: it has neither %s nor %s", layoutFile, manifestFile)
	}
	raw, err := t.metadata(manifestFile)
	if err != nil {
		return nil, err
	}
	var images []dockerImage
	if err := json.Unmarshal(raw, &images); err != nil {
		return nil, fmt.Errorf("its %s is not valid JSON", manifestFile)
	}
	if n := len(images); n != 1 {
		return nil, fmt.Errorf("its %s lists %d images, and must list one", manifestFile, n)
	}
	config, err := t.metadata(images[0].Config)
	if err != nil {
		return nil, err
	}
	c, err := oci.ParseConfig(config, len(images[0].Layers))
	if err != nil {
		return nil, err
	}
	layers := make([]v1.Layer, 0, len(images[0].Layers))
	for i, name := range images[0].Layers {
		stored, err := t.unhashedLayer(ctx, name, c.RootFS.DiffIDs[i])
		if err != nil {
			return nil, fmt.Errorf("its layer %d (%s): %w", i+1, name, err)
		}
		l, err := partial.CompressedToLayer(stored)
		if err != nil {
			return nil, err
		}
		layers = append(layers, l)
	}
	return newUnhashed(config, layers)
}

// layerType tells from the first bytes of a layer how it is compressed, and
// makes sure that there is a tar inside.
func layerType(r io.Reader) (types.MediaType, error) {
	br := bufio.NewReader(r)
	magic, err := br.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	mediaType, inner := types.OCIUncompressedLayer, io.Reader(br)
	switch {
	case oci.IsGzip(magic):
		zr, err := gzip.NewReader(br)
		if err != nil {
			return "", errors.New("it is not valid gzip")
		}
		mediaType, inner = types.OCILayer, zr
	case oci.IsZstd(magic):
		zr, err := zstd.NewReader(br, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(64<<20))
		if err != nil {
			return "", errors.New("it is not valid zstd")
		}
		defer zr.Close()
		mediaType, inner = types.OCILayerZStd, zr
	}
	if _, err := tar.NewReader(inner).Next(); err != nil && !errors.Is(err, io.EOF) {
		return "", errors.New("it is not a tar file, compressed or not")
	}
	return mediaType, nil
}
