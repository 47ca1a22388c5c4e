package docker_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
	"github.com/xfn-dev/xfn/internal/remote/dockerengine"
	"github.com/xfn-dev/xfn/internal/runtimes"
	"github.com/xfn-dev/xfn/internal/runtimes/docker"
)

// renderOnce starts, calls and stops a function.
func renderOnce(ctx context.Context, d *docker.Docker, f runtimes.Function) error {
	instance, err := d.Start(ctx, f)
	if err != nil {
		return err
	}
	return errors.Join(answers(ctx, instance), instance.Stop(ctx))
}

// TestTwentyAtOnce checks that the engine can serve twenty concurrent renders.
func TestTwentyAtOnce(t *testing.T) {
	p := open(t)
	image := p.image(t, functiontest.Serves)
	var g errgroup.Group
	for range 20 {
		g.Go(func() error { return renderOnce(t.Context(), p.render(), fn(image)) })
	}
	e2e.NoError(t, e2e.Await(t, g.Wait))
}

// TestTenFunctions checks that the engine can serve ten functions of one render.
func TestTenFunctions(t *testing.T) {
	p := open(t)
	image := p.image(t, functiontest.Serves)
	one := p.render()
	var g errgroup.Group
	for range 10 {
		g.Go(func() error { return renderOnce(t.Context(), one, fn(image)) })
	}
	e2e.NoError(t, e2e.Await(t, g.Wait))
}

// TestManyInARow checks that no render of a long series fails. The environment variable
// XFN_SOAK is the number of renders; the default is ten.
func TestManyInARow(t *testing.T) {
	p := open(t)
	image := p.image(t, functiontest.Serves)
	many, err := strconv.Atoi(os.Getenv("XFN_SOAK"))
	if err != nil {
		many = 10
	}
	failed := 0
	for n := range many {
		if err := renderOnce(t.Context(), p.render(), fn(image)); err != nil {
			t.Errorf("render %d of %d: %v", n+1, many, err)
			if failed++; failed == 5 {
				break
			}
		}
	}
}

// A severable is a proxy in front of the engine. A test can cut its connections.
type severable struct {
	listener net.Listener
	mu       sync.Mutex
	conns    []net.Conn
}

// severable starts a proxy in front of the engine, and returns the environment that
// connects to the proxy.
func (p place) severable(t *testing.T) (*severable, dockerengine.Environment) {
	t.Helper()
	dir := e2e.ShortDir(t)
	socket := filepath.Join(dir, "s")
	m := p.carry(t, e2e.Must(net.Listen("unix", socket))(t))
	return m, dockerengine.Environment{Host: "unix://" + socket}
}

func (m *severable) die() {
	_ = m.listener.Close()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.conns {
		_ = c.Close()
	}
}

// TestEngineDies checks that the leases of containers stay after the engine becomes
// unreachable, and that the next run that reaches the engine removes the containers.
func TestEngineDies(t *testing.T) {
	p := open(t)
	running := func() string { return p.ours(t) }
	t.Run("WhileAFunctionStarts", func(t *testing.T) {
		m, env := p.severable(t)
		config := p.config()
		config.Environment = env
		failed := make(chan error, 1)
		image := p.image(t, functiontest.Hangs)
		go func() {
			_, err := docker.New(config).Start(t.Context(), fn(image))
			failed <- err
		}()
		e2e.Until(t, func() bool { return running() == "running" })
		m.die()
		if err := e2e.Receive(t, failed); err == nil || !strings.Contains(err.Error(), `starting function "f": the connection to the container engine at `+env.Host+" (DOCKER_HOST) broke: ") && !strings.Contains(err.Error(), "the socket does not exist") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("BeforeTheEnd", func(t *testing.T) {
		m, env := p.severable(t)
		config := p.config()
		config.Environment = env
		instance := start(t, docker.New(config), fn(p.image(t, functiontest.Serves)))
		m.die()
		err := instance.Stop(t.Context())
		e2e.ErrorHas(t, "the error names the container that could not be removed", err, "removing container ")
		e2e.ErrorHas(t, "the error names the engine that is unreachable", err, "the container engine at "+env.Host)
	})
	e2e.Equal(t, "containers stay while the engine is unreachable", "running running", p.ours(t))
	p.move(t)
	e2e.NoError(t, p.render().Probe(t.Context()))
	e2e.Equal(t, "the next run removes the containers", "", p.ours(t))
}

// move rewrites the leases of p, so that they name the engine of p instead of a proxy.
func (p place) move(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(p.dir, "docker/renders/*"))
	if err != nil || len(files) != 2 {
		t.Fatalf("leases: %q, %v", files, err)
	}
	for _, file := range files {
		text := e2e.Must(os.ReadFile(file))(t)
		_, rest, _ := strings.Cut(string(text), `","container"`)
		e2e.WriteFile(t, file, fmt.Sprintf(`{"host":%q,"container"%s`, p.env.Host, rest))
	}
}
