package docker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"golang.org/x/sync/errgroup"

	"github.com/xfn-dev/xfn/internal/dockerengine"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/runtimes"
	"github.com/xfn-dev/xfn/internal/runtimes/local"
)

// atOnce is how much an engine is asked to do at the same time: pulls, and
// starts of containers. Whatever waits for its turn is the faster for it.
const atOnce = 6

// Config says how functions are started.
type Config struct {
	// Environment says where the engine is.
	Environment dockerengine.Environment
	// UserAgent names this program to the engine.
	UserAgent string
	// Dir is a folder of the user's, in which notes are kept of containers that
	// run, for the next run should this one be killed.
	Dir string
	// Registry is that of images that name none and that the engine does not
	// have. If it is empty, the engine decides.
	Registry string
	// Remote knows the credentials of registries.
	Remote *remote.Client
	// Offline keeps the engine from pulling anything.
	Offline bool
	// Pin, if not nil, says what runs in place of an image of that full name: the
	// digest that a lock has for it. An error of its keeps the function from
	// being started. A container that is there by its name already is the user's
	// own, whatever runs in it.
	Pin func(name.Reference) (name.Reference, error)
	// StartTimeout bounds the time from the start of a function to its first
	// answer. Zero means local.DefaultStartTimeout. Pulling is not bounded.
	StartTimeout time.Duration
	// MaxMessageSize is the largest answer in bytes. Zero means
	// grpc.DefaultMaxMessageSize.
	MaxMessageSize int
	// Progress hears of what takes long, and warnings. It may be nil.
	Progress progress.Func
	// Output gets each line that a function writes to stdout or stderr, without
	// control characters. It may be nil, and must be safe for concurrent use.
	Output func(function, line string)
}

// Docker starts functions in containers of an engine. It connects to that when
// it is first asked to do something.
type Docker struct {
	Config
	connection connection
	images     images
	notes      notes
	// slots has room for what the engine does at the same time.
	slots chan struct{}
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
		connection: connection{gate: make(chan struct{}, 1)},
		images:     images{names: map[string]*known{}},
		notes:      notes{dir: c.Dir},
		slots:      make(chan struct{}, atOnce),
	}
}

// Probe connects to the engine.
func (d *Docker) Probe(ctx context.Context) error {
	_, err := d.connect(ctx)
	return err
}

// Prepare makes the engine have the images of functions, all that are missing at
// once. Those of named containers are looked for when it is known that they are
// needed.
func (d *Docker) Prepare(ctx context.Context, fns ...runtimes.Function) error {
	engine, err := d.connect(ctx)
	if err != nil {
		return err
	}
	errs := make([]error, len(fns))
	var g errgroup.Group
	for i, fn := range fns {
		g.Go(func() error {
			s, err := settingsOf(fn.Annotations)
			if err == nil && s.name == "" {
				_, err = d.image(ctx, engine, fn, s)
			}
			if err != nil {
				errs[i] = fmt.Errorf("starting function %q: %w", fn.Name, err)
			}
			return nil
		})
	}
	_ = g.Wait()
	return errors.Join(errs...)
}

// Start runs the function's image in a container, as its annotations say, with
// the single argument --insecure. It returns once the function answers on port
// 9443.
func (d *Docker) Start(ctx context.Context, fn runtimes.Function) (*runtimes.Instance, error) {
	instance, err := d.start(ctx, fn)
	if err != nil {
		return nil, fmt.Errorf("starting function %q: %w", fn.Name, err)
	}
	return instance, nil
}

func (d *Docker) start(ctx context.Context, fn runtimes.Function) (*runtimes.Instance, error) {
	s, err := settingsOf(fn.Annotations)
	if err != nil {
		return nil, err
	}
	engine, err := d.connect(ctx)
	if err != nil {
		return nil, err
	}
	c := &container{docker: d, engine: engine, fn: fn, settings: s, out: &local.Output{Each: func(line string) {
		if d.Output != nil {
			d.Output(fn.Name, line)
		}
	}}}
	if err := c.run(ctx); err != nil {
		return nil, errors.Join(err, c.abandon(ctx))
	}
	return &runtimes.Instance{
		Runner: c.function, Detail: c.detail(), Identity: c.identity(),
		Stop: c.stop, Done: c.watch.done, Ended: c.watch.ended,
	}, nil
}

// slot waits until the engine has time. The caller calls the returned function
// when it has done.
func (d *Docker) slot(ctx context.Context) (done func(), err error) {
	select {
	case d.slots <- struct{}{}:
		return func() { <-d.slots }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// A connection is made once. An attempt that fails is made again by whoever asks
// next.
type connection struct {
	gate   chan struct{}
	engine *dockerengine.Engine
}

// connect returns the engine, and sees first to what killed processes left
// there.
func (d *Docker) connect(ctx context.Context) (*dockerengine.Engine, error) {
	c := &d.connection
	select {
	case c.gate <- struct{}{}:
		defer func() { <-c.gate }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if c.engine != nil {
		return c.engine, nil
	}
	engine, err := dockerengine.Connect(ctx, d.Environment, d.UserAgent)
	if err != nil {
		return nil, err
	}
	if err := d.sweep(ctx, engine); err != nil {
		d.Progress.Warn(fmt.Sprintf("removing what an earlier run left behind: %v", err))
	}
	c.engine = engine
	return engine, nil
}
