package docker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	api "github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"github.com/xfn-dev/xfn/function/grpc"
	"github.com/xfn-dev/xfn/internal/dockerengine"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/runtimes"
	"github.com/xfn-dev/xfn/internal/runtimes/local"
)

// The labels of the containers that are made here.
const (
	// labelFunction holds the function's name.
	labelFunction = "dev.xfn.function"
	// labelRender holds the id of the render that sees to the container's end.
	labelRender = "dev.xfn.render"
)

// port is where functions listen.
var port = network.MustParsePort("9443/tcp")

// createTimeout bounds what cannot be broken off without losing sight of a
// container.
const createTimeout = 20 * time.Second

// A container is one function's.
type container struct {
	docker   *Docker
	engine   *dockerengine.Engine
	fn       runtimes.Function
	settings settings
	out      *local.Output

	image engineImage
	// id and name are the engine's. tty tells how it hands out the output.
	id, name string
	tty      bool
	// made and started are what was done here; foreign is a container that
	// nobody made here.
	made, started, foreign bool
	// render is the id under which its end is this process's business, or "".
	render string
	// uncertain tells that the engine may have made it, and did not say so.
	uncertain bool
	hold      hold

	watch    *watch
	client   *grpc.Client
	function *local.Function
}

// run makes or finds the container, starts it, and waits for its answer.
func (c *container) run(ctx context.Context) (err error) {
	if c.settings.name != "" {
		if c.hold, err = c.docker.notes.hold(ctx, c.host(), c.settings.name); err != nil {
			return err
		}
	}
	if err := c.obtain(ctx); err != nil {
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
	if c.client, err = grpc.Dial(to.address, grpc.Options{MaxMessageSize: c.docker.MaxMessageSize, Dial: to.dial}); err != nil {
		return err
	}
	c.function = &local.Function{Client: c.client, Done: c.watch.done, Ended: c.watch.ended}
	if err := c.function.Await(ctx, c.docker.StartTimeout); err != nil {
		return c.explain(ctx, err)
	}
	return nil
}

func (c *container) host() string { return c.engine.Endpoint().Host }

// obtain finds the container of the name that is asked for, or makes one.
func (c *container) obtain(ctx context.Context) error {
	if c.settings.name == "" {
		c.name = "xfn-" + plain(c.fn.Name) + "-" + strings.ToLower(rand.Text()[:10])
		return c.make(ctx)
	}
	c.name = c.settings.name
	for began := time.Now(); ; {
		found, err := c.adopt(ctx)
		if err != nil || found {
			return err
		}
		// A name is taken some time before there is a container to be found.
		err = c.make(ctx)
		if !errdefs.IsConflict(err) || time.Since(began) > createTimeout {
			return err
		}
		if err := proc.Sleep(ctx, shortPause); err != nil {
			return err
		}
	}
}

// plain leaves of a name what containers may have in theirs.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '.' {
			return r
		}
		return '-'
	}, name)
}

// adopt takes a container that is there.
func (c *container) adopt(ctx context.Context) (found bool, err error) {
	info, err := c.engine.ContainerInspect(ctx, c.name, client.ContainerInspectOptions{})
	if errdefs.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("looking for container %q: %w", c.name, c.engine.Explain(ctx, err))
	}
	it := info.Container
	if it.State.Status == api.StateRemoving {
		if err := gone(ctx, c.engine, it.ID); !errdefs.IsNotFound(err) {
			return false, fmt.Errorf("waiting for the end of container %q: %w", c.name, c.engine.Explain(ctx, err))
		}
		return false, nil
	}
	_, ours := it.Config.Labels[labelFunction]
	c.id, c.tty, c.foreign, c.started = it.ID, it.Config.Tty, !ours, !it.State.Running
	c.image = engineImage{name: it.Config.Image, id: it.Image}
	return true, c.account(note{Container: c.id, Adopted: true})
}

// account keeps note of the container, if anything is to become of it.
func (c *container) account(about note) (err error) {
	about.Host, about.Name, about.Cleanup = c.host(), c.settings.name, c.after()
	if about.Cleanup == orphan {
		return nil
	}
	if c.render == "" {
		if c.render, err = c.docker.notes.render(); err != nil {
			return err
		}
	}
	return c.docker.notes.add(about)
}

// after is what becomes of the container after a render. What nobody made here
// is left as it was, unless an annotation says otherwise.
func (c *container) after() cleanup {
	switch {
	case !c.foreign || c.settings.explicit:
		return c.settings.cleanup
	case c.started:
		return stop
	default:
		return orphan
	}
}

// make creates a container. That is not broken off with ctx: of what the engine
// makes of a request that nobody waits for nobody would know.
func (c *container) make(ctx context.Context) (err error) {
	if c.image, err = c.docker.image(ctx, c.engine, c.fn, c.settings); err != nil {
		return err
	}
	done, err := c.docker.slot(ctx)
	if err != nil {
		return err
	}
	defer done()
	c.foreign, c.started = false, false
	if err := c.account(note{Container: c.name}); err != nil {
		return err
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), createTimeout)
	defer cancel()
	created, err := c.engine.ContainerCreate(within, c.options())
	if err != nil {
		err = c.engine.Explain(within, err)
		c.uncertain = within.Err() != nil || errors.As(err, new(*dockerengine.ConnectionError))
		return fmt.Errorf("making a container of image %q: %w", c.image.name, err)
	}
	c.id, c.made = created.ID, true
	return context.Cause(ctx)
}

func (c *container) options() client.ContainerCreateOptions {
	s := c.settings
	config := &api.Config{
		Image: c.image.id, Cmd: []string{local.Insecure()}, Env: s.env,
		Labels: map[string]string{labelFunction: c.fn.Name},
	}
	if c.render != "" {
		config.Labels[labelRender] = c.render
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
	if !c.made && !c.started {
		return nil
	}
	done, err := c.docker.slot(ctx)
	if err != nil {
		return err
	}
	defer done()
	if _, err := c.engine.ContainerStart(ctx, c.id, client.ContainerStartOptions{}); err != nil {
		return c.mismatch(ctx, fmt.Errorf("starting container %q: %w", c.name, c.engine.Explain(ctx, err)))
	}
	c.started = true
	return nil
}

// detail says what runs, for people.
func (c *container) detail() string {
	if !c.made {
		return fmt.Sprintf("container %s, which was there, of %s", c.name, c.image.name)
	}
	return fmt.Sprintf("%s in container %s", c.image.name, c.name)
}

// identity is the image's, where that says it all.
func (c *container) identity() string {
	if !c.made || len(c.settings.env) > 0 {
		return ""
	}
	return c.image.id
}

// stop does to the container what is to be done after a render.
func (c *container) stop(ctx context.Context) error {
	return c.release(ctx, c.after())
}

// abandonTimeout bounds the removal of what did not start.
const abandonTimeout = 10 * time.Second

// abandon removes what was made for a start that failed.
func (c *container) abandon(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abandonTimeout)
	defer cancel()
	if c.made {
		return c.release(ctx, remove)
	}
	return c.release(ctx, c.after())
}

// release gives up all that the container holds, and sees to its end.
func (c *container) release(ctx context.Context, after cleanup) error {
	var errs []error
	if c.client != nil {
		errs = append(errs, c.client.Close())
	}
	if c.watch != nil {
		c.watch.stop()
	}
	errs = append(errs, c.hold.Close())
	ended, err := c.docker.end(ctx, c.engine, note{Host: c.host(), Container: c.reference(), Name: c.settings.name, Cleanup: after})
	errs = append(errs, err)
	if c.render != "" {
		errs = append(errs, c.docker.notes.done(ended && err == nil && !c.uncertain))
	}
	return errors.Join(errs...)
}

// reference is what the engine knows the container by, or "" if there is none.
func (c *container) reference() string {
	if c.uncertain && c.settings.name == "" {
		return c.name
	}
	return c.id
}
