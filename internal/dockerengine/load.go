package dockerengine

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/moby/moby/api/types/jsonstream"
	"github.com/moby/moby/client"
)

// loadedAs is the repository of images that are loaded by their digest. No
// registry has the host's name (RFC 6761, "invalid").
const loadedAs = "xfn.invalid/package"

// TagFor returns the name by which an engine knows an image that it was given
// for its content alone: the digest of its config, which names its layers.
func TagFor(img v1.Image) (name.Tag, error) {
	config, err := img.ConfigName()
	if err != nil {
		return name.Tag{}, err
	}
	return name.NewTag(loadedAs + ":" + config.Algorithm + "-" + config.Hex)
}

// Load gives the engine an image under a name. Layers are read once, as they are
// sent.
func (e *Engine) Load(ctx context.Context, as name.Tag, img v1.Image) error {
	// The library has images as keys of a map, which not every image can be.
	one := &struct{ v1.Image }{img}
	read, write := io.Pipe()
	go func() { write.CloseWithError(tarball.Write(as, one, write)) }()
	defer read.Close()
	return e.LoadArchive(ctx, read)
}

// LoadArchive gives the engine the images of a file as docker save writes it.
func (e *Engine) LoadArchive(ctx context.Context, archive io.Reader) error {
	answer, err := e.ImageLoad(ctx, archive, client.ImageLoadWithQuiet(true))
	if err != nil {
		return e.Explain(ctx, err)
	}
	defer answer.Close()
	return e.Explain(ctx, failureIn(answer))
}

// failureIn reads an engine's account of what it does, and returns the error
// that it tells of.
func failureIn(account io.Reader) error {
	for decoder := json.NewDecoder(account); ; {
		var message jsonstream.Message
		err := decoder.Decode(&message)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case message.Error != nil:
			return message.Error
		}
	}
}
