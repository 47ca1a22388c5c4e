package e2e_test

import (
	"os"
	"path/filepath"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

// benchTypeScript returns a function with about 100 packages, in a package root, and base
// images of 1 MiB without Node.js. Its packages stay in the user's cache directory.
func benchTypeScript(t testing.TB) typeScriptFunction {
	t.Helper()
	cache := e2e.Must(os.UserCacheDir())(t)
	f := typeScriptFunction{dir: t.TempDir(), cache: filepath.Join(cache, "xfn-test", "npm"), registry: npmRegistry(t)}
	e2e.NoError(t, os.CopyFS(f.dir, os.DirFS("testdata/typescript")))
	meta := "apiVersion: meta.pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: bench}\nspec: {}\n"
	e2e.WriteFile(t, filepath.Join(f.dir, "crossplane.yaml"), meta)
	layer := e2e.Must(random.Layer(1<<20, "application/vnd.oci.image.layer.v1.tar+gzip"))(t)
	var all []mutate.Appendable
	for _, arch := range []string{"amd64", "arm64"} {
		config := v1.Config{Entrypoint: []string{"/nodejs/bin/node"}}
		all = append(all, remotetest.Configured(t, remotetest.Image(t, config, layer), v1.Platform{OS: "linux", Architecture: arch}, config))
	}
	f.base = remotetest.Layout(t, all...)
	return f
}

// BenchmarkTypeScript builds a function with about 100 packages for two platforms from a
// warm cache.
func BenchmarkTypeScript(b *testing.B) {
	f := benchTypeScript(b)
	f.build(b)
	b.Setenv("XFN_CACHE_DIR", f.cache)
	args := []string{"xpkg", "build", "--embed-runtime-source", ".", "--base-image", f.base, "-o", "fn.xpkg", "-q", "--offline", "--platform", "linux/amd64,linux/arm64"}
	measureBuilds(b, "TypeScript", "TypeScriptChanged", f.dir, args, "src/changed.ts", "(globalThis as { changed?: number }).changed = %d;\n")
}
