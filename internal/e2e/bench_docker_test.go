package e2e_test

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/function/grpc"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/benchtest"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/remote/dockerengine/dockerenginetest"
)

// BenchmarkRenderDocker renders with the template's function in a new container, compared
// with docker run until the first response.
func BenchmarkRenderDocker(b *testing.B) {
	docker, err := exec.LookPath("docker")
	if err != nil {
		b.Skip(err)
	}
	engine := dockerenginetest.Open(b)
	b.Setenv("DOCKER_HOST", engine.Endpoint().Host)
	dir := scaffolded(b)
	benchtest.Run(b, dir, e2e.Binary(b), "xpkg", "build", "-f", "package", "--embed-runtime-source", ".", "-o", "fn.xpkg")
	const img = "xfn.test/bench:v1"
	file := e2e.Must(image.OpenLocal(b.Context(), filepath.Join(dir, "fn.xpkg"), v1.Platform{}))(b)
	defer file.Close()
	e2e.NoError(b, engine.Load(b.Context(), name.MustParseReference(img).(name.Tag), file.Image))
	dockerenginetest.Forget(b, engine, img)
	text := "apiVersion: pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: function-hello}\nspec: {package: \"" + img + "\"}\n"
	e2e.WriteFile(b, filepath.Join(dir, "docker.yaml"), text)
	args := []string{"render", "example/xr.yaml", "example/composition.yaml", "docker.yaml"}
	ours := append(args[:len(args):len(args)], "--runtime", "docker", "--cache-dir", b.TempDir())
	benchtest.Run(b, dir, e2e.Binary(b), ours...)
	run := func() benchtest.Cost { return benchtest.Timed(func() { bareRun(b, docker, img) }) }
	remove := func() { benchtest.Run(b, dir, docker, "rm", "-f", "xfn-bare") }
	benchtest.Measure(b, "RenderDocker", benchtest.Jobs{
		XFN: func(xfn string) benchtest.Cost { return benchtest.Run(b, dir, xfn, ours...) },
		Limit: func() benchtest.Cost {
			defer remove()
			return run()
		},
		Floor: func() benchtest.Cost { return after(run(), remove) },
		CLI:   func(cli string) benchtest.Cost { return benchtest.Try(b, dir, cli, args...) },
	})
}

// bareRun starts an image with docker run, and waits for the function's first response.
func bareRun(b *testing.B, docker, img string) {
	b.Helper()
	benchtest.Run(b, ".", docker, "run", "-d", "--name", "xfn-bare", "-p", "127.0.0.1::9443", img, "--insecure")
	port := e2e.Must(exec.CommandContext(b.Context(), docker, "port", "xfn-bare", "9443/tcp").Output())(b)
	client := e2e.Must(grpc.Dial(strings.TrimSpace(string(port)), grpc.Options{}))(b)
	defer client.Close()
	ctx, cancel := context.WithTimeoutCause(b.Context(), time.Minute, fmt.Errorf("no response"))
	defer cancel()
	e2e.NoError(b, client.WaitReady(ctx))
	// The request has no XR, so the function returns a fatal result, which is not an
	// error of the call.
	e2e.NoError(b, e2e.Err(client.RunFunction(ctx, "function-hello", &fnv1.RunFunctionRequest{})))
}
