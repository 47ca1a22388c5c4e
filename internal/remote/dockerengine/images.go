package dockerengine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/containerd/errdefs"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/moby/moby/api/pkg/authconfig"
	"github.com/moby/moby/api/types/jsonstream"
	"github.com/moby/moby/api/types/registry"
	"github.com/moby/moby/client"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/progress"
)

// loadedAs is the repository name in the tags of TagFor. Its host cannot exist: RFC 6761
// reserves the domain "invalid".
const loadedAs = "xfn.invalid/package"

// TagFor returns a tag that identifies an image by its content: it contains the digest of
// the image's config, which lists the layers.
func TagFor(img v1.Image) (name.Tag, error) {
	config, err := img.ConfigName()
	if err != nil {
		return name.Tag{}, err
	}
	return name.NewTag(loadedAs + ":" + config.Algorithm + "-" + config.Hex)
}

// Load loads an image into the engine under the tag as. It streams the layers.
func (e *Engine) Load(ctx context.Context, as name.Tag, img v1.Image) error {
	// Package tarball uses images as map keys. Pass a pointer, because img may not be
	// comparable.
	one := &struct{ v1.Image }{img}
	read, write := io.Pipe()
	go func() { write.CloseWithError(tarball.Write(as, one, write)) }()
	defer read.Close()
	return e.LoadArchive(ctx, read)
}

// Save calls read with the archive of an image of the engine, in the format of docker save. It
// reports the number of bytes to p. read need not read until the end: the engine ends the archive
// only after it has removed its temporary files. If the engine fails, Save returns its error in
// place of the error of read.
func (e *Engine) Save(ctx context.Context, name string, p progress.Func, read func(io.Reader) error) error {
	found, err := e.ImageInspect(ctx, name)
	if errdefs.IsNotFound(err) {
		return hint.Wrap(fmt.Errorf("the engine does not have image %q", name), "build the image in the engine, or pull it with docker pull "+name)
	}
	if err != nil {
		return fmt.Errorf("inspecting image %q: %w", name, e.Explain(ctx, err))
	}
	stream, err := e.ImageSave(ctx, []string{name})
	if err != nil {
		return fmt.Errorf("saving image %q: %w", name, e.Explain(ctx, err))
	}
	defer stream.Close()
	count := &progress.Counter{Text: "reading " + name, Total: found.Size, Report: p}
	archive := &failing{r: io.TeeReader(stream, count)}
	err = read(archive)
	if archive.err != nil {
		return fmt.Errorf("saving image %q: %w", name, e.Explain(ctx, archive.err))
	}
	if err != nil {
		return err
	}
	count.Finish()
	return context.Cause(ctx)
}

// A failing is a reader of r that keeps the error because of which r failed.
type failing struct {
	r   io.Reader
	err error
}

func (f *failing) Read(p []byte) (n int, err error) {
	n, err = f.r.Read(p)
	if err != io.EOF { // The contract of io.Reader demands the value itself.
		f.err = err
	}
	return n, err
}

// LoadArchive loads the images of an archive, in the format of docker save, into the
// engine.
func (e *Engine) LoadArchive(ctx context.Context, archive io.Reader) error {
	answer, err := e.ImageLoad(ctx, archive, client.ImageLoadWithQuiet(true))
	if err != nil {
		return e.Explain(ctx, err)
	}
	defer answer.Close()
	return e.Explain(ctx, failureIn(answer))
}

// failureIn reads an engine's progress messages, and returns the first error among them.
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

// Pull makes the engine pull the image with this name, as docker pull does. It reports
// the number of downloaded bytes to p. Zero credentials mean an anonymous pull.
func (e *Engine) Pull(ctx context.Context, name string, as registry.AuthConfig, p progress.Func) error {
	var options client.ImagePullOptions
	if as != (registry.AuthConfig{}) {
		header, err := authconfig.Encode(as)
		if err != nil {
			return err
		}
		options.RegistryAuth = header
	}
	stream, err := e.ImagePull(ctx, name, options)
	if err != nil {
		return e.Explain(ctx, err)
	}
	text, layers := "pulling "+name, map[string]layer{}
	for message, err := range stream.JSONMessages(ctx) {
		if err != nil {
			return e.Explain(ctx, err)
		}
		if message.Error != nil {
			return errors.New(message.Error.Message)
		}
		if message.Progress == nil || message.Status != "Downloading" {
			continue
		}
		layers[message.ID] = layer{message.Progress.Current, message.Progress.Total}
		if all := sum(layers); all.done < all.total { // the event for all bytes is sent after the loop
			p.Send(progress.Event{Kind: progress.Bytes, Text: text, Done: all.done, Total: all.total})
		}
	}
	if all := sum(layers); all.total > 0 {
		p.Send(progress.Event{Kind: progress.Bytes, Text: text, Done: all.total, Total: all.total})
	}
	// JSONMessages ends without an error if ctx is done.
	return context.Cause(ctx)
}

// A layer is the download progress of an image's layer, in bytes.
type layer struct{ done, total int64 }

func sum(layers map[string]layer) (all layer) {
	for _, l := range layers {
		all.done, all.total = all.done+l.done, all.total+max(l.total, l.done)
	}
	return all
}
