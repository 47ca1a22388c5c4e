package docker

import (
	"context"
	"fmt"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"github.com/xfn-dev/xfn/internal/dockerengine"
	"github.com/xfn-dev/xfn/internal/proc"
)

// stopGrace is how many seconds a function may take to end by itself.
const stopGrace = 2

// shortPause is how long to wait for what somebody else is doing, before looking
// again.
const shortPause = 20 * time.Millisecond

// sweep ends what killed processes left on the engine.
func (d *Docker) sweep(ctx context.Context, engine *dockerengine.Engine) error {
	return d.notes.ofDead(func(render string, about note) (bool, error) {
		if about.Host != engine.Endpoint().Host {
			return false, nil
		}
		found, err := engine.ContainerInspect(ctx, about.Container, client.ContainerInspectOptions{})
		if errdefs.IsNotFound(err) {
			return true, nil
		}
		if err != nil {
			return false, engine.Explain(ctx, err)
		}
		if !about.Adopted && found.Container.Config.Labels[labelRender] != render {
			return true, nil // another one has that name now
		}
		about.Container = found.Container.ID
		return d.end(ctx, engine, about)
	})
}

// end does to a container what is noted. One that others use is left to them: it
// has not ended then.
func (d *Docker) end(ctx context.Context, engine *dockerengine.Engine, about note) (ended bool, err error) {
	if about.Container == "" || about.Cleanup == orphan {
		return true, nil
	}
	if about.Name == "" {
		return true, end(ctx, engine, about)
	}
	return d.notes.last(about.Host, about.Name, func() error { return end(ctx, engine, about) })
}

func end(ctx context.Context, engine *dockerengine.Engine, about note) error {
	if about.Cleanup == stop {
		grace := stopGrace
		_, err := engine.ContainerStop(ctx, about.Container, client.ContainerStopOptions{Timeout: &grace})
		if err != nil && !errdefs.IsNotFound(err) {
			return fmt.Errorf("stopping container %q: %w", about.Container, engine.Explain(ctx, err))
		}
		return nil
	}
	_, err := engine.ContainerRemove(ctx, about.Container, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	if errdefs.IsConflict(err) {
		err = gone(ctx, engine, about.Container)
	}
	if err != nil && !errdefs.IsNotFound(err) {
		return fmt.Errorf("removing container %q: %w", about.Container, engine.Explain(ctx, err))
	}
	return nil
}

// gone waits until a container is not there any more, which somebody else
// removes. What it ends with is that it is not found.
func gone(ctx context.Context, engine *dockerengine.Engine, id string) error {
	for {
		if _, err := engine.ContainerInspect(ctx, id, client.ContainerInspectOptions{}); err != nil {
			return err
		}
		if err := proc.Sleep(ctx, shortPause); err != nil {
			return err
		}
	}
}
