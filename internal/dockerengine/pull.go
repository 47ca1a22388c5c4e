package dockerengine

import (
	"context"
	"errors"

	"github.com/moby/moby/api/pkg/authconfig"
	"github.com/moby/moby/api/types/registry"
	"github.com/moby/moby/client"

	"github.com/xfn-dev/xfn/internal/progress"
)

// Pull makes the engine pull an image by its name in the docker command, and
// reports the bytes to p. Zero credentials mean an anonymous pull.
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
		if all := sum(layers); all.done < all.total { // the last event follows at the end
			p.Send(progress.Event{Kind: progress.Bytes, Text: text, Done: all.done, Total: all.total})
		}
	}
	if all := sum(layers); all.total > 0 {
		p.Send(progress.Event{Kind: progress.Bytes, Text: text, Done: all.total, Total: all.total})
	}
	// The stream has no error if the context ends.
	return context.Cause(ctx)
}

// A layer is the progress of a layer in bytes.
type layer struct{ done, total int64 }

func sum(layers map[string]layer) (all layer) {
	for _, l := range layers {
		all.done, all.total = all.done+l.done, all.total+max(l.total, l.done)
	}
	return all
}
