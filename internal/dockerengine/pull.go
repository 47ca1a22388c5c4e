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
	m := meter{text: "pulling " + name, progress: p, layers: map[string]layer{}}
	for message, err := range stream.JSONMessages(ctx) {
		if err != nil {
			return e.Explain(ctx, err)
		}
		if message.Error != nil {
			return errors.New(message.Error.Message)
		}
		if message.Progress != nil && message.Status == "Downloading" {
			m.add(message.ID, layer{message.Progress.Current, message.Progress.Total})
		}
	}
	m.finish()
	// The stream has no error if the context ends.
	return context.Cause(ctx)
}

// A meter adds up the progress of an engine's layers.
type meter struct {
	text     string
	progress progress.Func
	layers   map[string]layer
}

type layer struct{ done, total int64 }

func (m meter) add(id string, l layer) {
	m.layers[id] = l
	var sum layer
	for _, l := range m.layers {
		sum.done, sum.total = sum.done+l.done, sum.total+max(l.total, l.done)
	}
	// finish reports the end.
	if sum.done < sum.total {
		m.progress.Send(progress.Event{Kind: progress.Bytes, Text: m.text, Done: sum.done, Total: sum.total})
	}
}

func (m meter) finish() {
	var total int64
	for _, l := range m.layers {
		total += max(l.total, l.done)
	}
	if total > 0 {
		m.progress.Send(progress.Event{Kind: progress.Bytes, Text: m.text, Done: total, Total: total})
	}
}
