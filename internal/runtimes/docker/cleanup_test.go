package docker_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	api "github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
)

func TestCleanup(t *testing.T) {
	p := open(t)
	image := p.image(t, functiontest.Serves)
	for name, tc := range map[string]struct {
		reason, cleanup, want string
	}{
		"Remove": {"the cleanup Remove removes the container", "Remove", ""},
		"Stop":   {"the cleanup Stop stops the container", "Stop", "exited"},
		"Orphan": {"the cleanup Orphan leaves the container running", "Orphan", "running"},
	} {
		t.Run(name, func(t *testing.T) {
			instance := start(t, p.render(), fn(image, "cleanup", tc.cleanup))
			assertAnswers(t, instance)
			end(t, instance)
			e2e.Equal(t, tc.reason, tc.want, p.ours(t))
		})
	}
	// A container whose function never answered is removed, whatever the cleanup
	// annotation says.
	crash := p.image(t, functiontest.Crashes)
	for _, cleanup := range []string{"Remove", "Stop", "Orphan"} {
		e2e.Error(t, "a function that crashes does not start", e2e.Err(p.render().Start(t.Context(), fn(crash, "cleanup", cleanup))))
	}
	e2e.Equal(t, "a container whose function never answered is removed", "", p.ours(t))
}

// kill starts functions in another process, and kills the process before it can clean up.
func (p place) kill(t *testing.T, functions ...string) {
	t.Helper()
	self := e2e.Must(os.Executable())(t)
	var args []string
	for i, f := range functions {
		if i > 0 {
			args = append(args, "--")
		}
		args = append(args, strings.Fields(f)...)
	}
	user := exec.CommandContext(e2e.Context(t), self, append([]string{beUser, p.env.Host, p.dir}, args...)...)
	e2e.NoError(t, e2e.Err(user.StdinPipe()))
	out := e2e.Must(user.StdoutPipe())(t)
	e2e.NoError(t, user.Start())
	if said, err := bufio.NewReader(out).ReadString('\n'); said != "ready\n" {
		t.Errorf("the killed process wrote %q, %v", said, err)
	}
	e2e.NoError(t, user.Process.Kill())
	_ = e2e.Await(t, user.Wait)
}

// TestKilled checks that the next process that connects to the engine cleans up the
// containers of a killed process.
func TestKilled(t *testing.T) {
	p := open(t)
	image := p.image(t, functiontest.Serves)
	p.kill(t, image, image+" cleanup Stop", image+" cleanup Orphan", image+" name xfn-test-killed")
	e2e.Equal(t, "the containers still run after their process is killed", "running running running running", p.ours(t))
	// A process with another lease directory, as of another user, must not change the
	// containers.
	other := p
	other.dir = t.TempDir()
	e2e.NoError(t, other.render().Probe(t.Context()))
	e2e.Equal(t, "a process of another user does not change the containers", "running running running running", p.ours(t))
	e2e.NoError(t, p.render().Probe(t.Context()))
	if got := p.ours(t); got != "running exited" && got != "exited running" {
		t.Errorf("after the next run: got %q, want an orphan and a stopped container", got)
	}
}

// TestKilledMaker checks that the container with a requested name stays while other
// processes use it, after the process that created it was killed.
func TestKilledMaker(t *testing.T) {
	p := open(t)
	f := fn(p.image(t, functiontest.Serves), "name", "xfn-test-shared")
	p.kill(t, f.Package+" name xfn-test-shared")
	p.kill(t, f.Package+" name xfn-test-other")
	first := p.render()
	instance := start(t, first, fn(f.Package, "name", "xfn-test-second"))
	end(t, instance)
	e2e.Equal(t, "containers of killed processes are removed", "", p.ours(t))

	p.kill(t, f.Package+" name xfn-test-shared cleanup Orphan")
	user := start(t, p.render(), f)
	e2e.NoError(t, p.render().Probe(t.Context()))
	assertAnswers(t, user)
	end(t, user)
	e2e.Equal(t, "the container is removed when its last user ends", "", p.ours(t))
}

// TestNameShared checks that two renders share the container with a requested name, and
// that the last render removes it.
func TestNameShared(t *testing.T) {
	p := open(t)
	f := fn(p.image(t, functiontest.Serves), "name", "xfn-test-shared")
	one, two := start(t, p.render(), f), start(t, p.render(), f)
	if !strings.HasSuffix(one.Detail, " in container xfn-test-shared") || !strings.HasPrefix(two.Detail, "existing container xfn-test-shared") {
		t.Errorf("got %q and %q", one.Detail, two.Detail)
	}
	if one.Identity == "" || two.Identity != "" {
		t.Errorf("only a new container has an identity: got %q and %q", one.Identity, two.Identity)
	}
	end(t, one)
	assertAnswers(t, two)
	end(t, two)
	e2e.Equal(t, "the last render removes the container", "", p.ours(t))
	e2e.NoError(t, p.render().Probe(t.Context()))
}

// TestNameRaces checks that several renders can start and stop concurrently with one
// requested container name.
func TestNameRaces(t *testing.T) {
	p := open(t)
	f := fn(p.image(t, functiontest.Serves), "name", "xfn-test-race")
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 2 {
				if err := renderOnce(t.Context(), p.render(), f); err != nil {
					t.Error(err)
				}
			}
		})
	}
	e2e.Wait(t, &all)
	e2e.Equal(t, "the last render removes the container", "", p.ours(t))
	// Only the last render removes the container. Each other render leaves a lease, which
	// Probe removes.
	e2e.NoError(t, p.render().Probe(t.Context()))
}

// TestNameKept checks that a container with a requested name and the cleanup Stop is
// kept, and that the next render starts it again.
func TestNameKept(t *testing.T) {
	p := open(t)
	image := p.image(t, functiontest.Serves)
	for _, cleanup := range []string{"Orphan", "Orphan", "Stop", "Stop", "Remove"} {
		instance := start(t, p.render(), fn(image, "name", "xfn-test-kept", "cleanup", cleanup))
		assertAnswers(t, instance)
		end(t, instance)
		want := map[string]string{"Orphan": "running", "Stop": "exited"}[cleanup]
		e2e.Equal(t, "after "+cleanup, want, strings.Join(p.containers(t, "name", "xfn-test-kept"), " "))
	}
}

// TestForeign checks that a render leaves a container of the user as it was, unless the
// cleanup annotation says otherwise.
func TestForeign(t *testing.T) {
	p := open(t)
	image := p.image(t, functiontest.Serves)
	const name = "xfn-test-mine"
	created, err := p.engine.ContainerCreate(t.Context(), client.ContainerCreateOptions{
		Name: name, Config: &api.Config{Image: image, Cmd: []string{"--insecure"}}, HostConfig: &api.HostConfig{PublishAllPorts: true},
	})
	e2e.NoError(t, err)
	t.Cleanup(func() { p.remove(t, created.ID) })
	_, err = p.render().Start(t.Context(), fn(image, "name", name))
	e2e.ErrorHas(t, "a container without the port is an error", err, `container "xfn-test-mine" publishes no port 9443/tcp`)
	e2e.Equal(t, "the container is stopped, and not removed", "exited", strings.Join(p.containers(t, "name", name), " "))
	p.remove(t, created.ID)
	p.makeMine(t, image, name)
	for _, tc := range []struct{ cleanup, want string }{{"", "exited"}, {"Orphan", "running"}, {"", "running"}, {"Remove", ""}} {
		f := fn(image, "name", name)
		if tc.cleanup != "" {
			f.Annotations[prefix+"cleanup"] = tc.cleanup
		}
		instance := start(t, p.render(), f)
		assertAnswers(t, instance)
		end(t, instance)
		e2e.Equal(t, fmt.Sprintf("after the cleanup %q", tc.cleanup), tc.want, strings.Join(p.containers(t, "name", name), " "))
	}
}

// makeMine creates a container as a user would: docker create -p 127.0.0.1::9443.
func (p place) makeMine(t *testing.T, image, name string) {
	t.Helper()
	created, err := p.engine.ContainerCreate(context.WithoutCancel(t.Context()), client.ContainerCreateOptions{
		Name: name, Config: &api.Config{Image: image, Cmd: []string{"--insecure"}, ExposedPorts: exposed}, HostConfig: &api.HostConfig{PortBindings: bound},
	})
	e2e.NoError(t, err)
	t.Cleanup(func() { p.remove(t, created.ID) })
}
