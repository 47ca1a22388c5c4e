package docker_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/moby/moby/client"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/remote/dockerengine/dockerenginetest"
	"github.com/xfn-dev/xfn/internal/runtimes/docker"
)

func TestStartAndStop(t *testing.T) {
	p := open(t)
	img := dockerenginetest.Function(t, functiontest.Serves, func(f *v1.ConfigFile) { f.Config.Volumes = map[string]struct{}{"/data": {}} })
	dockerenginetest.Load(t, p.engine, named+"volume", img)
	r := p.render()
	e2e.NoError(t, r.Prepare(t.Context(), fn(named+"volume")))
	instance := start(t, r, fn(named+"volume"))
	assertAnswers(t, instance)
	if want := `^xfn\.test/function:volume in container xfn-f-[a-z0-9]{10}$`; !regexp.MustCompile(want).MatchString(instance.Detail) {
		t.Errorf("detail: got %q, want %s", instance.Detail, want)
	}
	e2e.Equal(t, "the identity of a container is the image", e2e.Must(img.ConfigName())(t).String(), instance.Identity)
	e2e.Equal(t, "the container runs until Stop", "running", p.ours(t))
	end(t, instance)
	e2e.Equal(t, "Stop removes the container", "", p.ours(t))
}

// TestPackageFile checks that a package file is loaded into the engine once. Later starts
// find the image there by its digest.
func TestPackageFile(t *testing.T) {
	p := open(t)
	path := t.TempDir() + "/fn.xpkg"
	writeTarball(t, path, dockerenginetest.Function(t, functiontest.Serves, nil))
	for range 2 {
		instance := start(t, p.render(), fn(path))
		assertAnswers(t, instance)
		if !strings.HasPrefix(instance.Detail, path+" in container ") {
			t.Errorf("got %q", instance.Detail)
		}
		dockerenginetest.Forget(t, p.engine, instance.Identity)
		end(t, instance)
		e2e.Equal(t, "the package is loaded once", 1, len(p.steps("loading "+path)))
	}
	for pkg, want := range map[string]string{
		"./nothing.xpkg": `opening "./nothing.xpkg": no such file or directory`,
		t.TempDir():      "is a folder without an OCI image layout",
	} {
		e2e.ErrorHas(t, pkg+" is not a package", e2e.Err(p.render().Start(t.Context(), fn(pkg))), want)
	}
}

func TestFailingStart(t *testing.T) {
	p := open(t)
	cases := map[string]struct {
		reason   string
		behavior functiontest.Behavior
		limit    time.Duration
		want     string
	}{
		"Crashes": {"the error quotes the last output", functiontest.Crashes, 0, "^starting function \"f\": the function ended unexpectedly \\(exit code 3\\); its last output:\n  line 12\n(  .*\n)+  a simulated crash$"},
		"Hangs":   {"a function must answer within the timeout", functiontest.Hangs, 500 * time.Millisecond, `no answer within 500ms: .*; it wrote no output$`},
		"Babbles": {"an answer that is not gRPC is an error", functiontest.Babbles, 0, `it answered "HTTP/1.1 404 Not Found" where gRPC was expected`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			config := p.config()
			config.StartTimeout = tc.limit
			_, err := docker.New(config).Start(t.Context(), fn(p.image(t, tc.behavior)))
			if err == nil || !regexp.MustCompile(tc.want).MatchString(err.Error()) {
				t.Errorf("%s: got %v, want %s", tc.reason, err, tc.want)
			}
			e2e.Equal(t, tc.reason+": the container is removed", "", p.ours(t))
		})
	}
}

func TestCancelledStart(t *testing.T) {
	p := open(t)
	image := p.image(t, functiontest.Hangs)
	for name, cause := range map[string]error{"Interrupted": context.Canceled, "TimeOut": errors.New("it took too long")} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			failed := make(chan error, 1)
			go func() {
				_, err := p.render().Start(ctx, fn(image))
				failed <- err
			}()
			e2e.Until(t, func() bool { return p.ours(t) == "running" })
			cancel(cause)
			e2e.ErrorIs(t, "a canceled start returns the cause of its context", e2e.Receive(t, failed), cause)
			e2e.Equal(t, "a canceled start removes its container", "", p.ours(t))
		})
	}
	// A start that is canceled at any moment leaves no containers.
	for n := range 6 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(n)*40*time.Millisecond)
		instance, err := p.render().Start(ctx, fn(image))
		cancel()
		if err == nil {
			end(t, instance)
			t.Errorf("starting a function that hangs: got no error")
		}
	}
	e2e.Equal(t, "a canceled start removes its container", "", p.ours(t))
}

func TestDiesInCall(t *testing.T) {
	p := open(t)
	dockerenginetest.Load(t, p.engine, named+"says", dockerenginetest.Function(t, functiontest.HangsInCall, func(f *v1.ConfigFile) { f.Config.Env = []string{"SAY=a simulated crash in a call"} }))
	heard := make(chan string, 9)
	config := p.config()
	config.Output = func(function, line string) { heard <- function + ": " + line }
	instance := start(t, docker.New(config), fn(named+"says"))
	defer end(t, instance)
	e2e.Equal(t, "the output of the function is passed on", "f: a simulated crash in a call", e2e.Receive(t, heard))
	failed := make(chan error, 1)
	go func() { failed <- answers(t.Context(), instance) }()
	_, name, _ := strings.Cut(instance.Detail, " in container ")
	e2e.NoError(t, e2e.Err(p.engine.ContainerKill(t.Context(), name, client.ContainerKillOptions{})))
	want := `calling function "f": the function ended unexpectedly (exit code 137); its last output:` + "\n  a simulated crash in a call"
	e2e.Equal(t, "the error of a call says how the function ended", want, fmt.Sprint(e2e.Receive(t, failed)))
}

func TestOtherPlatform(t *testing.T) {
	p := open(t)
	dockerenginetest.Load(t, p.engine, named+"foreign", dockerenginetest.Image(t, foreignProgram(), func(f *v1.ConfigFile) { f.Architecture = "m68k" }))
	_, err := p.render().Start(t.Context(), fn(named+"foreign"))
	e2e.ErrorHas(t, "the error names both platforms", err, `starting function "f": the image is for linux/m68k, but the engine runs on linux/`)
	if got := string(hint.Of(err)); !strings.HasPrefix(got, "build the image for linux/") {
		t.Errorf("got hint %q", got)
	}
}

func TestWrongAnnotation(t *testing.T) {
	r := docker.New(docker.Config{})
	for _, err := range []error{
		e2e.Err(r.Start(t.Context(), fn("x", "cleanup", "Keep"))),
		e2e.Err(r.Start(t.Context(), fn("x", "pull-policy", "Sometimes"))),
	} {
		if err == nil || !strings.HasPrefix(err.Error(), `starting function "f": annotation render.crossplane.io/runtime-docker-`) {
			t.Errorf("got %v", err)
		}
	}
}
