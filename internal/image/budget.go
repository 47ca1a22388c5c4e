package image

import (
	"errors"
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

const (
	// maxMetadata bounds the bytes of all manifests and configs together. An
	// .xpkg file may have 64 MiB, and adds an index of its own.
	maxMetadata = 63 << 20
	// maxBlobs bounds how many manifests, configs and layers there are.
	maxBlobs = 10_000
)

// A budget is what may still be fetched of an artifact's metadata.
type budget struct{ bytes, blobs int64 }

func newBudget() *budget { return &budget{maxMetadata, maxBlobs} }

// take asks for a manifest or config of so many bytes.
func (b *budget) take(size int64) error {
	if size < 0 {
		return errors.New("the size of a manifest or config is negative")
	}
	if b.bytes -= size; b.bytes < 0 {
		return fmt.Errorf("its manifests and configs are larger than %d MiB", maxMetadata>>20)
	}
	return b.count(1)
}

func (b *budget) count(blobs int) error {
	if b.blobs -= int64(blobs); b.blobs < 0 {
		return fmt.Errorf("it has more than %d manifests, configs and layers", maxBlobs)
	}
	return nil
}

// layers counts an image's layers and makes sure that they may be fetched.
func (b *budget) layers(descs []v1.Descriptor) error {
	var sum int64
	for _, d := range descs {
		if d.Size < 0 || d.Size > maxLayers {
			return fmt.Errorf("its layer %s has an impossible size of %d bytes", d.Digest, d.Size)
		}
		if sum += d.Size; sum > maxLayers {
			return fmt.Errorf("its layers are larger than %d GiB", maxLayers>>30)
		}
	}
	return b.count(len(descs))
}
