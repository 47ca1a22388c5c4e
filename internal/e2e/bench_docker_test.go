package e2e_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/function/grpc"
	"github.com/xfn-dev/xfn/internal/dockerengine/dockerenginetest"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/image"
)

// BenchmarkRenderDocker measures xfn render with the template's function in Docker,
// with a new container and with one that is kept. It compares the new container with
// docker run until the first response, and docker rm -f. The ratio of the medians
// should be below 1.3, and a render with the kept container below 60 ms.
func BenchmarkRenderDocker(b *testing.B) {
	xfn := e2e.Binary(b)
	docker, err := exec.LookPath("docker")
	if err != nil {
		b.Skip(err)
	}
	engine := dockerenginetest.Open(b)
	b.Setenv("DOCKER_HOST", engine.Endpoint().Host)
	dir := scaffolded(b, xfn)
	run1(b, dir, xfn, "xpkg", "build", "-f", "package", "--embed-runtime-source", ".", "-o", "fn.xpkg")
	const img = "xfn.test/bench:v1"
	file, err := image.OpenLocal(b.Context(), filepath.Join(dir, "fn.xpkg"), v1.Platform{})
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	if err := engine.Load(b.Context(), name.MustParseReference(img).(name.Tag), file.Image); err != nil {
		b.Fatal(err)
	}
	dockerenginetest.Forget(b, engine, img)
	text := "apiVersion: pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: function-hello}\nspec: {package: \"" + img + "\"}\n"
	if err := os.WriteFile(filepath.Join(dir, "docker.yaml"), []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	args := []string{"render", "example/xr.yaml", "example/composition.yaml", "docker.yaml", "--runtime", "docker", "--cache-dir", b.TempDir()}
	const annotation = "-arender.crossplane.io/runtime-docker-"
	kept := append(append([]string{}, args...), annotation+"name=xfn-bench", annotation+"cleanup=Orphan")
	defer run1(b, dir, docker, "rm", "-f", "xfn-bench")
	run1(b, dir, xfn, kept...)
	var renders, bare, removed, again []time.Duration
	timed := func(f func()) time.Duration {
		began := time.Now()
		f()
		return time.Since(began)
	}
	for b.Loop() {
		bare = append(bare, timed(func() { bareRun(b, docker, img) }))
		removed = append(removed, timed(func() { run1(b, dir, docker, "rm", "-f", "xfn-bare") }))
		renders = append(renders, timed(func() { run1(b, dir, xfn, args...) }))
		again = append(again, timed(func() { run1(b, dir, xfn, kept...) }))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(median(renders).Milliseconds()), "ms/render")
	b.ReportMetric(float64(median(bare).Milliseconds()), "ms/docker-run")
	b.ReportMetric(float64(median(removed).Milliseconds()), "ms/docker-rm")
	b.ReportMetric(float64(median(again).Milliseconds()), "ms/kept")
	b.ReportMetric(median(renders).Seconds()/median(bare).Seconds(), "render/docker-run")
	b.ReportMetric(median(renders).Seconds()/(median(bare)+median(removed)).Seconds(), "render/docker-run+rm")
}

// bareRun starts an image with docker run, and waits for the function's first response.
func bareRun(b *testing.B, docker, img string) {
	b.Helper()
	run1(b, ".", docker, "run", "-d", "--name", "xfn-bare", "-p", "127.0.0.1::9443", img, "--insecure")
	port, err := exec.CommandContext(b.Context(), docker, "port", "xfn-bare", "9443/tcp").Output()
	if err != nil {
		b.Fatal(err)
	}
	client, err := grpc.Dial(strings.TrimSpace(string(port)), grpc.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeoutCause(b.Context(), time.Minute, fmt.Errorf("no response"))
	defer cancel()
	if err := client.WaitReady(ctx); err != nil {
		b.Fatal(err)
	}
	// The request has no XR, so the function returns a fatal result, which is not an
	// error of the call.
	if _, err := client.RunFunction(ctx, "function-hello", &fnv1.RunFunctionRequest{}); err != nil {
		b.Fatal(err)
	}
}
