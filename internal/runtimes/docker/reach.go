package docker

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"
	"time"

	api "github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/runtimes"
)

// An address is the address at which this machine reaches a function. dial is nil if the
// address needs no special connection, such as over ssh.
type address struct {
	address string
	dial    func(ctx context.Context, address string) (net.Conn, error)
}

// address returns the address of the function. It waits until the engine has published
// the function's port.
func (c *container) address(ctx context.Context) (address, error) {
	if c.settings.network != "" {
		return address{address: net.JoinHostPort(cmp.Or(c.settings.target, c.name), port.Port())}, nil
	}
	published, err := c.published(ctx)
	if err != nil {
		return address{}, err
	}
	host, err := c.publishedHost(published)
	if err != nil {
		return address{}, err
	}
	to := address{address: net.JoinHostPort(host, published.HostPort)}
	if c.engine.Forwards() {
		to.dial = c.engine.Forward
	}
	return to, nil
}

// The first and the longest pause between two requests for the published port.
const (
	firstPause = 5 * time.Millisecond
	lastPause  = 100 * time.Millisecond
)

// published returns the published port of the container. It waits, because an engine may
// report that a container runs before it reports the port.
func (c *container) published(ctx context.Context) (network.PortBinding, error) {
	limit := cmp.Or(c.docker.StartTimeout, runtimes.DefaultStartTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the engine did not publish the port of the function within %s", limit))
	defer cancel()
	for wait := firstPause; ; wait = min(2*wait, lastPause) {
		found, err := c.engine.ContainerInspect(ctx, c.id, client.ContainerInspectOptions{})
		if err != nil {
			return network.PortBinding{}, fmt.Errorf("inspecting the port of container %q: %w", c.name, c.engine.Explain(ctx, err))
		}
		if b, ok := bindingOf(found.Container, c.settings.publish); ok {
			return b, nil
		}
		if !publishes(found.Container) {
			return network.PortBinding{}, hint.Wrap(fmt.Errorf("container %q publishes no port %s", c.name, port),
				"remove the container, or name its network with the annotation "+AnnotationNetwork)
		}
		select {
		case <-time.After(wait):
		case <-c.watch.done:
			return network.PortBinding{}, c.explainPlatform(ctx, c.watch.ended())
		case <-ctx.Done():
			return network.PortBinding{}, context.Cause(ctx)
		}
	}
}

func publishes(it api.InspectResponse) bool {
	_, exposed := it.Config.ExposedPorts[port]
	return it.HostConfig.PublishAllPorts && exposed || len(it.HostConfig.PortBindings[port]) > 0
}

// bindingOf returns the binding of the published port. It prefers a binding of the
// address wanted.
func bindingOf(it api.InspectResponse, wanted netip.Addr) (b network.PortBinding, ok bool) {
	if it.NetworkSettings == nil {
		return b, false
	}
	for _, binding := range it.NetworkSettings.Ports[port] {
		if binding.HostPort == "" || binding.HostPort == "0" {
			continue
		}
		if !ok || binding.HostIP == wanted {
			b, ok = binding, true
		}
	}
	return b, ok
}

func (c *container) publishedHost(b network.PortBinding) (string, error) {
	machine := c.engine.Machine()
	switch {
	case c.settings.target != "":
		return c.settings.target, nil
	case machine != "" && b.HostIP.IsLoopback():
		return "", hint.Wrap(fmt.Errorf("the port of the function is published on %s of %s, which this machine cannot reach", b.HostIP, machine),
			fmt.Sprintf("publish the port on all addresses with the annotation %s: 0.0.0.0, or set the host to connect to with the annotation %s", AnnotationPublishAddress, AnnotationTarget))
	case machine != "" && (!b.HostIP.IsValid() || b.HostIP.IsUnspecified()):
		return machine, nil
	case !b.HostIP.IsValid() || b.HostIP == netip.IPv4Unspecified():
		return "127.0.0.1", nil
	case b.HostIP.IsUnspecified():
		return "::1", nil
	default:
		return b.HostIP.String(), nil
	}
}

// advise adds a hint to the error of a function that runs but does not answer.
func (c *container) advise(err error) error {
	if c.settings.network != "" {
		return hint.Wrap(err, fmt.Sprintf("only containers of a network can resolve the names of its other containers: run xfn in a container of network %q, or set the host to connect to with the annotation %s", c.settings.network, AnnotationTarget))
	}
	return hint.Wrap(err, "if xfn runs in a container, name a network that both containers can join with the annotation "+AnnotationNetwork)
}

// explainPlatform adds to err that the image and the engine have different platforms, if
// they do.
func (c *container) explainPlatform(ctx context.Context, err error) error {
	if !c.created || ctx.Err() != nil {
		return err
	}
	engine, platformErr := c.engine.Platform(ctx)
	if platformErr != nil || c.image.platform == engine.OS+"/"+engine.Architecture {
		return err
	}
	return hint.Wrap(fmt.Errorf("the image is for %s, but the engine runs on %s/%s: %w", c.image.platform, engine.OS, engine.Architecture, err),
		fmt.Sprintf("build the image for %s/%s, too", engine.OS, engine.Architecture))
}
