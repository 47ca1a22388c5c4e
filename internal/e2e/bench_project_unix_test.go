//go:build unix

package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

// BenchmarkProjectGo builds a project with a function in Go. Builds alternate with the minimum
// work: two go build processes at once with the same flags, one for each platform. The source
// changes before each of them. The goal of x-limit is below 1.15.
func BenchmarkProjectGo(b *testing.B) {
	xfn := e2e.Binary(b)
	address := remotetest.Serve(b, remotetest.Embedded(b))
	pushBases(b, address)
	work := filepath.Join(b.TempDir(), "project")
	if err := os.CopyFS(work, os.DirFS(filepath.Join(projectsDir, "go-models"))); err != nil {
		b.Fatal(err)
	}
	replace(b, filepath.Join(work, "crossplane-project.yaml"), "mirror.example.org", address)
	b.Setenv("XFN_CACHE_DIR", filepath.Join(work, "cache"))
	b.Chdir(work)
	source := filepath.Join("functions", "compose")
	n := 0
	change := func() {
		n++
		if err := os.WriteFile(filepath.Join(source, "change.go"), fmt.Appendf(nil, "package main\n\nfunc init() { println(%d) }\n", n), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	run1(b, work, xfn, "project", "build", "-q")
	compare(b, func() (time.Duration, int64) {
		change()
		return buildOnce(b, xfn, "project", "build", "-q")
	}, func() {
		change()
		g, ctx := errgroup.WithContext(b.Context())
		for _, arch := range []string{"amd64", "arm64"} {
			g.Go(func() error {
				cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", filepath.Join(work, arch), ".")
				cmd.Dir, cmd.Env = source, append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch, "GOWORK=off")
				if out, err := cmd.CombinedOutput(); err != nil {
					return fmt.Errorf("%w: %s", err, out)
				}
				return nil
			})
		}
		if err := g.Wait(); err != nil {
			b.Fatal(err)
		}
	})
}
