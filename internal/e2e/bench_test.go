package e2e_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/benchtest"
)

// scaffolded returns a folder with the function of the bundled template.
func scaffolded(b *testing.B) string {
	b.Helper()
	dir := filepath.Join(b.TempDir(), "function-hello")
	benchtest.Run(b, ".", e2e.Binary(b), "xpkg", "init", "function-hello", "go", "-d", dir)
	return dir
}

// BenchmarkRenderSource renders the template's example by its source: again without a change,
// compared with a function that is already running; and after a change of one line.
func BenchmarkRenderSource(b *testing.B) {
	dir, other := scaffolded(b), scaffolded(b)
	goBuilds(b, other, runtime.GOARCH)
	running := development(b, dir, start(b, filepath.Join(other, "fn-"+runtime.GOARCH)))
	render := func(xfn string, args ...string) benchtest.Cost {
		return benchtest.Run(b, dir, xfn, append([]string{"render", "example/xr.yaml", "example/composition.yaml"}, args...)...)
	}
	fromSource := func(xfn string) benchtest.Cost {
		return render(xfn, "example/functions.yaml", "--package", "function-hello=.")
	}
	fromSource(e2e.Binary(b))
	benchtest.Measure(b, "RenderSource", benchtest.Jobs{
		XFN:   fromSource,
		Limit: func() benchtest.Cost { return render(e2e.Binary(b), running) },
	})
	benchtest.Measure(b, "RenderSourceChanged", benchtest.Jobs{
		XFN:   func(xfn string) benchtest.Cost { change(b, dir); return fromSource(xfn) },
		Limit: func() benchtest.Cost { change(b, other); return goBuilds(b, other, runtime.GOARCH) },
	})
}

// development writes functions.yaml for a function that runs at an address, and returns
// the path.
func development(b *testing.B, dir, address string) string {
	b.Helper()
	functions := filepath.Join(dir, "running.yaml")
	text := fmt.Sprintf(`apiVersion: pkg.crossplane.io/v1
kind: Function
metadata:
  name: function-hello
  annotations:
    render.crossplane.io/runtime: Development
    render.crossplane.io/runtime-development-target: %s
`, address)
	e2e.WriteFile(b, functions, text)
	return functions
}

// start starts a function on a loopback port until the benchmark ends, and
// returns its address once it accepts connections.
func start(b *testing.B, program string) string {
	b.Helper()
	address := freeAddress(b)
	ctx, cancel := context.WithCancel(context.WithoutCancel(b.Context()))
	cmd := exec.CommandContext(ctx, program, "--insecure", "--address", address)
	e2e.NoError(b, cmd.Start())
	b.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // Wait returns an error, because cancel killed the function.
	})
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		if c, err := (&net.Dialer{}).DialContext(b.Context(), "tcp", address); err == nil {
			_ = c.Close()
			return address
		}
	}
	b.Fatalf("%s does not listen on %s", program, address)
	return ""
}

// BenchmarkPackage builds packages after a change of one line, compared with go build for
// the same platforms at once.
func BenchmarkPackage(b *testing.B) {
	dir := scaffolded(b)
	for row, archs := range map[string][]string{"PackageOne": {"amd64"}, "PackageTwo": {"amd64", "arm64"}} {
		platforms := "linux/" + strings.Join(archs, ",linux/")
		build := func(xfn string) benchtest.Cost {
			change(b, dir)
			return benchtest.Run(b, dir, xfn, "xpkg", "build", "-f", "package", "--embed-runtime-source", ".", "--platform", platforms, "-o", "fn.xpkg")
		}
		build(e2e.Binary(b))
		benchtest.Measure(b, row, benchtest.Jobs{
			XFN:   build,
			Limit: func() benchtest.Cost { change(b, dir); return goBuilds(b, dir, archs...) },
			Floor: func() benchtest.Cost { change(b, dir); return goBuildsAndZips(b, dir, archs...) },
		})
	}
}

// after returns the cost of a job and then f.
func after(job benchtest.Cost, f func()) benchtest.Cost {
	return benchtest.Cost{Took: job.Took + benchtest.Timed(f).Took}
}

// change changes one line of a function. Each call writes another line, or go build finds
// its result in the cache.
func change(b *testing.B, dir string) {
	b.Helper()
	text := fmt.Sprintf("package main\n\nfunc init() { version = %d }\n\nvar version int\n", time.Now().UnixNano())
	e2e.WriteFile(b, filepath.Join(dir, "change.go"), text)
}

// goBuilds builds a function for Linux architectures in parallel, as packages do.
func goBuilds(b *testing.B, dir string, archs ...string) benchtest.Cost {
	b.Helper()
	return benchtest.Timed(func() {
		g, ctx := errgroup.WithContext(b.Context())
		for _, arch := range archs {
			g.Go(func() error {
				cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", "fn-"+arch, ".")
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch, "GOWORK=off")
				return cmd.Run()
			})
		}
		e2e.NoError(b, g.Wait())
	})
}

// goBuildsAndZips builds a function as goBuilds does. Then it hashes and compresses the programs,
// which no package can do before they are linked.
func goBuildsAndZips(b *testing.B, dir string, archs ...string) benchtest.Cost {
	b.Helper()
	built := goBuilds(b, dir, archs...)
	var files []benchLayer
	for _, arch := range archs {
		files = append(files, benchLayer{path: filepath.Join(dir, "fn-"+arch)})
	}
	return after(built, func() { zipLayers(b, files) })
}
