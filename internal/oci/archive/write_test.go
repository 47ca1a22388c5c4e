package archive_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/oci/archive"
	"github.com/xfn-dev/xfn/internal/progress"
)

func TestWriteReportsBytes(t *testing.T) {
	img := image(t, "linux", "amd64")
	var b bytes.Buffer
	var last progress.Event
	e2e.NoError(t, archive.Write(t.Context(), &b, img, "writing it", func(e progress.Event) {
		if e.Kind != progress.Bytes || e.Text != "writing it" || e.Done < last.Done {
			t.Errorf("got %v after %v", e, last)
		}
		last = e
	}))
	if last.Done == 0 || last.Done != last.Total {
		t.Errorf("the last event is %v", last)
	}
}

func TestWriteStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e2e.ErrorIs(t, "Write returns the cause of its context", archive.Write(ctx, io.Discard, image(t, "linux", "amd64"), "", nil), context.Canceled)
}

// A layer with a wrong digest is not written.
func TestWriteChecksLayers(t *testing.T) {
	good := image(t, "linux", "amd64")
	layers := e2e.Must(good.Layers())(t)
	for i, l := range layers {
		layers[i] = flippedLayer{l}
	}
	img := e2e.Must(oci.Image(e2e.Must(good.RawManifest())(t), e2e.Must(good.RawConfigFile())(t), layers...))(t)
	e2e.ErrorHas(t, "a layer with a wrong digest is an error", archive.Write(t.Context(), io.Discard, img, "", nil), "other content")
}

// A flippedLayer is a layer with one wrong bit.
type flippedLayer struct{ v1.Layer }

func (l flippedLayer) Compressed() (io.ReadCloser, error) {
	rc, err := l.Layer.Compressed()
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(rc)
	if err != nil {
		return nil, err
	}
	data[len(data)/2] ^= 1
	return io.NopCloser(bytes.NewReader(data)), rc.Close()
}

// A full disk is an error, and leaves no partial file.
func TestWriteFullDisk(t *testing.T) {
	full := errors.New("no space left on device")
	img := image(t, "linux", "amd64")
	whole := len(write(t, img))
	for left := 0; left < whole; left += 512 {
		e2e.ErrorIs(t, fmt.Sprintf("a full disk after %d bytes is an error", left), archive.Write(t.Context(), &disk{left, full}, img, "", nil), full)
	}
}

type disk struct {
	left int
	err  error
}

func (d *disk) Write(p []byte) (int, error) {
	if len(p) > d.left {
		n := d.left
		d.left = 0
		return n, d.err
	}
	d.left -= len(p)
	return len(p), nil
}
