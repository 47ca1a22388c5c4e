package docker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	api "github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"github.com/xfn-dev/xfn/function/grpc"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/remote/dockerengine"
	"github.com/xfn-dev/xfn/internal/runtimes"
)

// The labels of the containers that this package creates.
const (
	// labelFunction is the label with the name of the function.
	labelFunction = "dev.xfn.function"
	// labelRender is the label with the id of the lease that says how to clean up the
	// container.
	labelRender = "dev.xfn.render"
)

// port is the port on which functions listen in a container.
var port = network.MustParsePort("9443/tcp")

// createTimeout limits the request that creates a container. The request must not be
// canceled: the engine could complete it, and no process would remove the container.
const createTimeout = 20 * time.Second

type container struct {
	docker   *Docker
	engine   *dockerengine.Engine
	fn       runtimes.Function
	settings settings
	out      *proc.Output

	image engineImage
	// id and name identify the container. tty is true if it has a terminal, which changes
	// the format of its logs.
	id, name string
	tty      bool
	// created and started are set if this process created or started the container.
	// foreign is set if no xfn process created it.
	created, started, foreign bool
	// leased is the locked file of the container's lease. It is nil if this process must
	// not clean up the container.
	leased *os.File
	// uncertain is set if the engine did not answer whether it created the container.
	uncertain bool
	lock      *os.File // locks the requested container name; nil if none is requested

	watch    *watch
	function *runtimes.LocalFunction
}

// run creates or finds the container, starts it, and waits for its first answer.
func (c *container) run(ctx context.Context) (err error) {
	if c.settings.name != "" {
		if c.lock, err = c.docker.leases.share(ctx, c.host(), c.settings.name); err != nil {
			return err
		}
	}
	if err := c.findOrCreate(ctx); err != nil {
		return err
	}
	if err := c.start(ctx); err != nil {
		return err
	}
	c.follow(ctx)
	to, err := c.address(ctx)
	if err != nil {
		return err
	}
	client, err := grpc.Dial(to.address, grpc.Options{MaxMessageSize: c.docker.MaxMessageSize, Dial: to.dial})
	if err != nil {
		return err
	}
	c.function = &runtimes.LocalFunction{Client: client, Done: c.watch.done, Ended: c.watch.ended}
	if err := c.function.Await(ctx, c.docker.StartTimeout); err != nil {
		return c.explain(ctx, err)
	}
	return nil
}

func (c *container) host() string { return c.engine.Endpoint().Host }

func (c *container) findOrCreate(ctx context.Context) error {
	if c.settings.name == "" {
		c.name = "xfn-" + sanitize(c.fn.Name) + "-" + strings.ToLower(rand.Text()[:10])
		return c.create(ctx)
	}
	c.name = c.settings.name
	for began := time.Now(); ; {
		found, err := c.adopt(ctx)
		if err != nil || found {
			return err
		}
		// Try again after a conflict: an engine reserves the name of a new container
		// before it lists the container.
		err = c.create(ctx)
		if !errdefs.IsConflict(err) || time.Since(began) > createTimeout {
			return err
		}
		if err := proc.Sleep(ctx, shortPause); err != nil {
			return err
		}
	}
}

// sanitize replaces characters that a container's name must not contain by "-".
func sanitize(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '.' {
			return r
		}
		return '-'
	}, name)
}

// adopt looks for a container with the requested name. If there is one, this process uses
// it.
func (c *container) adopt(ctx context.Context) (found bool, err error) {
	info, err := c.engine.ContainerInspect(ctx, c.name, client.ContainerInspectOptions{})
	if errdefs.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("inspecting container %q: %w", c.name, c.engine.Explain(ctx, err))
	}
	it := info.Container
	if it.State.Status == api.StateRemoving {
		if err := waitRemoved(ctx, c.engine, it.ID); !errdefs.IsNotFound(err) {
			return false, fmt.Errorf("waiting for the removal of container %q: %w", c.name, c.engine.Explain(ctx, err))
		}
		return false, nil
	}
	_, ours := it.Config.Labels[labelFunction]
	c.id, c.tty, c.foreign, c.started = it.ID, it.Config.Tty, !ours, !it.State.Running
	c.image = engineImage{name: it.Config.Image, id: it.Image}
	return true, c.lease(lease{Container: c.id, Adopted: true})
}

// lease writes a lease for the container, if this process must clean up the container.
func (c *container) lease(record lease) (err error) {
	record.Host, record.Name, record.Cleanup = c.host(), c.settings.name, c.cleanup()
	if record.Cleanup != orphan {
		c.leased, err = c.docker.leases.write(c.leased, record)
	}
	return err
}

// cleanup returns what happens to the container after a render. A container that xfn did
// not create is left as it was, unless an annotation says otherwise.
func (c *container) cleanup() cleanup {
	switch {
	case c.settings.cleanup != "":
		return c.settings.cleanup
	case !c.foreign:
		return remove
	case c.started:
		return stop
	default:
		return orphan
	}
}

// create creates a container. The request does not end with ctx: the engine could
// complete a canceled request, and no process would remove the container.
func (c *container) create(ctx context.Context) (err error) {
	if c.image, err = c.docker.image(ctx, c.engine, c.fn, c.settings); err != nil {
		return err
	}
	leave, err := c.docker.slots.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	c.foreign, c.started = false, false
	if err := c.lease(lease{Container: c.name}); err != nil {
		return err
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), createTimeout)
	defer cancel()
	created, err := c.engine.ContainerCreate(within, c.options())
	if err != nil {
		err = c.engine.Explain(within, err)
		c.uncertain = within.Err() != nil || errors.As(err, new(*dockerengine.ConnectionError))
		return fmt.Errorf("creating a container of image %q: %w", c.image.name, err)
	}
	c.id, c.created = created.ID, true
	return context.Cause(ctx)
}

func (c *container) options() client.ContainerCreateOptions {
	s := c.settings
	config := &api.Config{
		Image: c.image.id, Cmd: []string{runtimes.InsecureArgument()}, Env: s.env,
		Labels: map[string]string{labelFunction: c.fn.Name},
	}
	if c.leased != nil {
		config.Labels[labelRender] = filepath.Base(c.leased.Name())
	}
	host := &api.HostConfig{}
	if s.network != "" {
		host.NetworkMode = api.NetworkMode(s.network)
	} else {
		config.ExposedPorts = network.PortSet{port: {}}
		host.PortBindings = network.PortMap{port: {{HostIP: s.publish}}}
	}
	return client.ContainerCreateOptions{Name: c.name, Config: config, HostConfig: host}
}

func (c *container) start(ctx context.Context) error {
	if !c.created && !c.started {
		return nil
	}
	leave, err := c.docker.slots.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if _, err := c.engine.ContainerStart(ctx, c.id, client.ContainerStartOptions{}); err != nil {
		return c.explainPlatform(ctx, fmt.Errorf("starting container %q: %w", c.name, c.engine.Explain(ctx, err)))
	}
	c.started = true
	return nil
}

func (c *container) detail() string {
	if !c.created {
		return fmt.Sprintf("existing container %s of image %s", c.name, c.image.name)
	}
	return fmt.Sprintf("%s in container %s", c.image.name, c.name)
}

// identity returns the image's id. It returns "" for an existing container and for a
// container with additional environment variables, because both may change the answers.
func (c *container) identity() string {
	if !c.created || len(c.settings.env) > 0 {
		return ""
	}
	return c.image.id
}

// stop cleans up the container after a render. It implements Stop of the Instance.
func (c *container) stop(ctx context.Context) error {
	return c.release(ctx, c.cleanup())
}

// abandonTimeout limits the cleanup of a container that did not start.
const abandonTimeout = 10 * time.Second

// abandon cleans up after a failed start. If this process created the container, abandon
// removes it.
func (c *container) abandon(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abandonTimeout)
	defer cancel()
	if c.created {
		return c.release(ctx, remove)
	}
	return c.release(ctx, c.cleanup())
}

// release closes the connections to the container, and then cleans it up as after says.
func (c *container) release(ctx context.Context, after cleanup) error {
	var errs []error
	if c.function != nil {
		errs = append(errs, c.function.Client.Close())
	}
	if c.watch != nil {
		c.watch.stop()
	}
	if c.lock != nil {
		errs = append(errs, fsx.Unlock(c.lock))
	}
	ended, err := c.docker.end(ctx, c.engine, lease{Host: c.host(), Container: c.reference(), Name: c.settings.name, Cleanup: after})
	errs = append(errs, err)
	if c.leased != nil {
		errs = append(errs, c.docker.leases.end(c.leased, ended && err == nil && !c.uncertain))
	}
	return errors.Join(errs...)
}

// reference returns the id or the name by which the engine can find the container, or ""
// if there is no container.
func (c *container) reference() string {
	if c.uncertain && c.settings.name == "" {
		return c.name
	}
	return c.id
}
