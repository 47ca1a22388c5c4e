package e2e_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/xfn-dev/xfn/internal/e2e"
)

func run1(b *testing.B, dir, name string, args ...string) {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// scaffolded returns a folder with the function of the bundled template.
func scaffolded(b *testing.B, xfn string) string {
	b.Helper()
	dir := filepath.Join(b.TempDir(), "function-hello")
	run1(b, ".", xfn, "xpkg", "init", "function-hello", "go", "-d", dir)
	return dir
}

// BenchmarkHelp measures xfn --help, which is mostly the start of the process.
func BenchmarkHelp(b *testing.B) {
	xfn := e2e.Binary(b)
	info, err := os.Stat(xfn)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		run1(b, ".", xfn, "--help")
	}
	b.ReportMetric(float64(info.Size())/1e6, "MB-binary")
}

// BenchmarkRenderBuiltin renders a pipeline of one builtin.
func BenchmarkRenderBuiltin(b *testing.B) {
	xfn := e2e.Binary(b)
	dir, err := filepath.Abs("../../testdata/golden/render/basic-single")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		run1(b, dir, xfn, "render", "xr.yaml", "composition.yaml", "functions.yaml")
	}
}

// BenchmarkRenderExample renders examples/bucket, which follows the example of
// docs.crossplane.io: one resource by Patch & Transform.
func BenchmarkRenderExample(b *testing.B) {
	xfn := e2e.Binary(b)
	for b.Loop() {
		run1(b, "../../examples/bucket", xfn, "render", "xr.yaml", "composition.yaml", "functions.yaml")
	}
}

// BenchmarkRenderDatabase renders examples/database: a pipeline of nine builtins, which is called
// again with the resources that two of them require.
func BenchmarkRenderDatabase(b *testing.B) {
	xfn := e2e.Binary(b)
	for b.Loop() {
		run1(b, "../../examples/database", xfn, "render", "xr.yaml", "composition.yaml", "functions.yaml", "--required-resources", "required.yaml")
	}
}

// BenchmarkRenderRunning renders the template's example by a function that is
// already running.
func BenchmarkRenderRunning(b *testing.B) {
	xfn := e2e.Binary(b)
	dir := scaffolded(b, xfn)
	run1(b, dir, "go", "build", "-o", "function", ".")
	address := start(b, filepath.Join(dir, "function"))
	functions := filepath.Join(dir, "running.yaml")
	text := fmt.Sprintf(`apiVersion: pkg.crossplane.io/v1
kind: Function
metadata:
  name: function-hello
  annotations:
    render.crossplane.io/runtime: Development
    render.crossplane.io/runtime-development-target: %s
`, address)
	if err := os.WriteFile(functions, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		run1(b, dir, xfn, "render", "example/xr.yaml", "example/composition.yaml", functions)
	}
}

// start starts a function on a loopback port until the benchmark ends, and
// returns its address once it accepts connections.
func start(b *testing.B, program string) string {
	b.Helper()
	l, err := (&net.ListenConfig{}).Listen(b.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(b.Context()))
	cmd := exec.CommandContext(ctx, program, "--insecure", "--address", address)
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
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

// BenchmarkRenderPackage renders the example by the function in its package,
// including unpacking and the start of the function.
func BenchmarkRenderPackage(b *testing.B) {
	xfn := e2e.Binary(b)
	dir := scaffolded(b, xfn)
	run1(b, dir, xfn, "xpkg", "build", "-f", "package", "--embed-runtime-source", ".", "-o", "fn.xpkg")
	for b.Loop() {
		run1(b, dir, xfn, "render", "example/xr.yaml", "example/composition.yaml", "example/functions.yaml", "--package", "function-hello=fn.xpkg")
	}
}

// BenchmarkPackageAfterChange builds a package for two platforms after a change
// of one line. It alternates with go build for both platforms in parallel, and reports
// the ratio of the medians.
func BenchmarkPackageAfterChange(b *testing.B) {
	xfn := e2e.Binary(b)
	dir := scaffolded(b, xfn)
	args := []string{"xpkg", "build", "-f", "package", "--embed-runtime-source", ".", "--platform", "linux/amd64,linux/arm64", "-o", "fn.xpkg"}
	run1(b, dir, xfn, args...)
	var packages, plain []time.Duration
	turn := 0
	for b.Loop() {
		turn += 2
		plain = append(plain, afterChange(b, dir, turn, func() { goBuilds(b, dir, "amd64", "arm64") }))
		packages = append(packages, afterChange(b, dir, turn+1, func() { run1(b, dir, xfn, args...) }))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(packages).Seconds(), "s/package")
	b.ReportMetric(median(plain).Seconds(), "s/go-builds")
	b.ReportMetric(median(packages).Seconds()/median(plain).Seconds(), "package/go-builds")
}

// afterChange changes one line of a function, and returns the duration of f.
// Each call needs another turn, or go build finds its result in the cache.
func afterChange(b *testing.B, dir string, turn int, f func()) time.Duration {
	b.Helper()
	change := fmt.Sprintf("package main\n\nfunc init() { version = %d }\n\nvar version int\n", turn)
	if err := os.WriteFile(filepath.Join(dir, "change.go"), []byte(change), 0o600); err != nil {
		b.Fatal(err)
	}
	began := time.Now()
	f()
	return time.Since(began)
}

// goBuilds builds a function for Linux architectures in parallel, as packages do.
func goBuilds(b *testing.B, dir string, archs ...string) {
	b.Helper()
	g, ctx := errgroup.WithContext(b.Context())
	for _, arch := range archs {
		g.Go(func() error {
			cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", "fn-"+arch, ".")
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
			return cmd.Run()
		})
	}
	if err := g.Wait(); err != nil {
		b.Fatal(err)
	}
}

func median(ds []time.Duration) time.Duration {
	slices.Sort(ds)
	return ds[len(ds)/2]
}
