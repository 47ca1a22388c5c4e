package oci

import (
	"archive/tar"
	"bytes"
	"errors"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// TarLayer returns a layer of the tar that write fills, compressed. The layer is
// held in memory. The same headers and bytes give the same layer.
func TarLayer(write func(*tar.Writer) error) (v1.Layer, error) {
	var stored bytes.Buffer
	zw, err := NewCompressor(&stored)
	if err != nil {
		return nil, err
	}
	tw := tar.NewWriter(zw)
	err = write(tw)
	if err == nil {
		err = tw.Close()
	}
	if err := errors.Join(err, zw.Close()); err != nil {
		return nil, err
	}
	return Layer(bytes.NewReader(stored.Bytes()), zw.Blob())
}
