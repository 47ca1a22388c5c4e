package docker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/remote/dockerengine"
	"github.com/xfn-dev/xfn/internal/runtimes"
)

// atOnce limits concurrent pulls, creations and starts of containers. An engine completes
// many such operations faster if only a few run at a time.
const atOnce = 6

// Config configures a Docker.
type Config struct {
	// Environment selects the engine.
	Environment dockerengine.Environment
	// UserAgent is the HTTP user agent of requests to the engine.
	UserAgent string
	// Dir is a directory of the user for leases: files that list running containers, so
	// that the next run removes them if this process is killed.
	Dir string
	// Registry is the default registry from which an image name without a registry is
	// pulled, if the engine does not have the image. If Registry is empty, the engine
	// chooses.
	Registry string
	// Remote has the credentials for registries.
	Remote *remote.Client
	// Offline means that the engine must not pull images.
	Offline bool
	// Pin, if not nil, returns the reference to an image with the digest from a lock file.
	// The image with that digest runs instead. If Pin returns an error, the function is not
	// started. Pin is not called for an existing container with a requested name.
	Pin func(name.Reference) (name.Reference, error)
	// Rewrite, if not nil, returns the reference from which the engine pulls an image.
	Rewrite func(string) string
	// Options.TempDir has no effect: containers use no directory of this machine.
	runtimes.LocalOptions
}

// Docker starts functions in containers of an engine. It connects to the engine when it
// is first used.
type Docker struct {
	Config
	connecting gate
	engine     *dockerengine.Engine // nil before the first connection
	images     sync.Map             // maps pull policy and image name to *imageEntry
	leases     leases
	slots      gate // limits concurrent pulls, creations and starts
}

var (
	_ runtimes.Runtime  = (*Docker)(nil)
	_ runtimes.Preparer = (*Docker)(nil)
	_ runtimes.Prober   = (*Docker)(nil)
)

// New returns a Docker for c.
func New(c Config) *Docker {
	return &Docker{
		Config:     c,
		connecting: make(gate, 1),
		leases:     leases{dir: c.Dir},
		slots:      make(gate, atOnce),
	}
}

// Probe connects to the engine. It returns an error if no engine can be reached.
func (d *Docker) Probe(ctx context.Context) error {
	_, err := d.connect(ctx)
	return err
}

// Prepare concurrently loads or pulls all images of functions that the engine does not
// have. It omits functions with a requested container name: their image is needed only if
// the container does not exist.
func (d *Docker) Prepare(ctx context.Context, fns ...runtimes.Function) error {
	engine, err := d.connect(ctx)
	if err != nil {
		return err
	}
	errs := make([]error, len(fns))
	proc.Each(len(fns), len(fns), func(i int) {
		s, err := parseSettings(fns[i].Annotations)
		if err == nil && s.name == "" {
			_, err = d.image(ctx, engine, fns[i], s)
		}
		if err != nil {
			errs[i] = fmt.Errorf("starting function %q: %w", fns[i].Name, err)
		}
	})
	return errors.Join(errs...)
}

// Start runs the function's image in a container with the settings of its annotations,
// and with the argument --insecure. It returns once the function answers on port 9443.
func (d *Docker) Start(ctx context.Context, fn runtimes.Function) (*runtimes.Instance, error) {
	instance, err := d.start(ctx, fn)
	if err != nil {
		return nil, fmt.Errorf("starting function %q: %w", fn.Name, err)
	}
	return instance, nil
}

func (d *Docker) start(ctx context.Context, fn runtimes.Function) (*runtimes.Instance, error) {
	s, err := parseSettings(fn.Annotations)
	if err != nil {
		return nil, err
	}
	engine, err := d.connect(ctx)
	if err != nil {
		return nil, err
	}
	c := &container{docker: d, engine: engine, fn: fn, settings: s, out: d.NewOutput(fn.Name)}
	if err := c.run(ctx); err != nil {
		return nil, errors.Join(err, c.abandon(ctx))
	}
	return &runtimes.Instance{
		Runner: c.function, Detail: c.detail(), Identity: c.identity(),
		Stop: c.stop, Grace: 10 * time.Second, Done: c.watch.done, Ended: c.watch.ended,
	}, nil
}

// A gate limits the number of concurrent callers of enter to its capacity.
type gate chan struct{}

// enter waits until fewer callers than the gate's capacity have entered. The caller must
// call leave afterwards.
func (g gate) enter(ctx context.Context) (leave func(), err error) {
	select {
	case g <- struct{}{}:
		return func() { <-g }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// connect returns the engine. The first call connects to it, and cleans up the containers
// of killed processes. After an error the next call connects again.
func (d *Docker) connect(ctx context.Context) (*dockerengine.Engine, error) {
	leave, err := d.connecting.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	if d.engine != nil {
		return d.engine, nil
	}
	if err := image.CheckDir(d.leases.dir); err != nil {
		return nil, err
	}
	engine, err := dockerengine.Connect(ctx, d.Environment, d.UserAgent)
	if err != nil {
		return nil, err
	}
	if err := d.sweep(ctx, engine); err != nil {
		d.Progress.Warn(fmt.Sprintf("cleaning up after an earlier run: %v", err))
	}
	d.engine = engine
	return engine, nil
}
