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

// stopGrace is how many seconds a function may take to end after the request to.
const stopGrace = 2

// shortPause is the time between checks for what another process is doing.
const shortPause = 20 * time.Millisecond

// sweep cleans up the containers of killed processes.
func (d *Docker) sweep(ctx context.Context, engine *dockerengine.Engine) error {
	return d.leases.endExpired(func(id string, record lease) (bool, error) {
		if record.Host != engine.Endpoint().Host {
			return false, nil
		}
		found, err := engine.ContainerInspect(ctx, record.Container, client.ContainerInspectOptions{})
		if errdefs.IsNotFound(err) {
			return true, nil
		}
		if err != nil {
			return false, engine.Explain(ctx, err)
		}
		if !record.Adopted && found.Container.Config.Labels[labelRender] != id {
			return true, nil // another container has this name now
		}
		record.Container = found.Container.ID
		return d.end(ctx, engine, record)
	})
}

// end cleans up the container of a lease. It returns false if other processes
// use the container.
func (d *Docker) end(ctx context.Context, engine *dockerengine.Engine, record lease) (ended bool, err error) {
	if record.Container == "" || record.Cleanup == orphan {
		return true, nil
	}
	if record.Name == "" {
		return true, end(ctx, engine, record)
	}
	return d.leases.endUnshared(record.Host, record.Name, func() error { return end(ctx, engine, record) })
}

func end(ctx context.Context, engine *dockerengine.Engine, record lease) error {
	if record.Cleanup == stop {
		grace := stopGrace
		_, err := engine.ContainerStop(ctx, record.Container, client.ContainerStopOptions{Timeout: &grace})
		if err != nil && !errdefs.IsNotFound(err) {
			return fmt.Errorf("stopping container %q: %w", record.Container, engine.Explain(ctx, err))
		}
		return nil
	}
	_, err := engine.ContainerRemove(ctx, record.Container, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	if errdefs.IsConflict(err) {
		err = waitRemoved(ctx, engine, record.Container)
	}
	if err != nil && !errdefs.IsNotFound(err) {
		return fmt.Errorf("removing container %q: %w", record.Container, engine.Explain(ctx, err))
	}
	return nil
}

// waitRemoved waits until the engine does not find a container that another
// client removes, and returns that error.
func waitRemoved(ctx context.Context, engine *dockerengine.Engine, id string) error {
	for {
		if _, err := engine.ContainerInspect(ctx, id, client.ContainerInspectOptions{}); err != nil {
			return err
		}
		if err := proc.Sleep(ctx, shortPause); err != nil {
			return err
		}
	}
}
