package e2e_test

import (
	"cmp"
	"compress/gzip"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	ggcr "github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/language/typescript"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
)

// npmRegistry returns the URL of the registry that npm is configured to use. If the registry
// does not answer, the test is skipped, or fails if XFN_REQUIRE contains npm.
func npmRegistry(t testing.TB) string {
	t.Helper()
	url := os.Getenv("npm_config_registry")
	if out, err := exec.CommandContext(t.Context(), "npm", "config", "get", "registry").Output(); err == nil && url == "" {
		url = strings.TrimSpace(string(out))
	}
	if url == "" {
		url = "https://registry.npmjs.org"
	}
	client := http.Client{Timeout: time.Minute}
	resp, err := client.Get(strings.TrimSuffix(url, "/") + "/@crossplane-org%2ffunction-sdk-typescript")
	if err == nil {
		if err = resp.Body.Close(); resp.StatusCode != http.StatusOK {
			err = errors.Join(err, errors.New(resp.Status))
		}
	}
	if err != nil {
		e2e.Missing(t, "npm", "a registry of npm is missing: %v", err)
	}
	return url
}

// debianNode returns an OCI layout with base images for two platforms, which have Node.js of
// Debian as their entry point, as distroless images do. Both have the programs of this machine's
// platform. debootstrap creates the root once; the layout stays in the user's cache directory.
func debianNode(t testing.TB) string {
	t.Helper()
	return storedLayout(t, "debian-node-base", func() string {
		if _, err := exec.LookPath("debootstrap"); err != nil || os.Geteuid() != 0 {
			e2e.Missing(t, "npm", "a base image with Node.js needs root and debootstrap: %v", err)
		}
		work := t.TempDir()
		root, layer := filepath.Join(work, "root"), filepath.Join(work, "layer.tar")
		mustExec(t, "sh", "testdata/debian.sh", root, "nodejs")
		mustExec(t, "tar", "-C", root, "--exclude=./usr/lib/*/perl*", "--exclude=./usr/lib/*/gconv", "--exclude=./usr/lib/apt", "--exclude=./usr/share/nodejs/@types", "-cf", layer, "./lib", "./lib64", "./usr/lib", "./usr/lib64", "./usr/bin/node", "./usr/share/nodejs", "./etc", "./tmp")
		return layoutOf(t, layer, "/usr/bin/node")
	})
}

var layoutsLock sync.Mutex

// storedLayout returns the OCI layout with this name in the user's cache directory. If it does
// not exist, create makes it.
func storedLayout(t testing.TB, name string, create func() string) string {
	t.Helper()
	layoutsLock.Lock()
	defer layoutsLock.Unlock()
	cache := e2e.Must(os.UserCacheDir())(t)
	dir := filepath.Join(cache, "xfn-test", name)
	if _, err := os.Stat(filepath.Join(dir, "index.json")); err == nil {
		return dir
	}
	made := create()
	e2e.NoError(t, os.MkdirAll(filepath.Dir(dir), 0o755))
	mustExec(t, "mv", "-T", made, dir)
	return dir
}

// layoutOf returns an OCI layout with images for two platforms, which have the files of a
// tar and an entry point. gzip only stores the layer, without compression, because each test that
// runs such an image would decompress it.
func layoutOf(t testing.TB, file string, entrypoint ...string) string {
	t.Helper()
	made := filepath.Join(t.TempDir(), "layout")
	path := e2e.Must(layout.Write(made, mutate.IndexMediaType(empty.Index, types.OCIImageIndex)))(t)
	l := e2e.Must(tarball.LayerFromFile(file, tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(gzip.NoCompression)))(t)
	for _, arch := range []string{"amd64", "arm64"} {
		img := e2e.Must(mutate.AppendLayers(mutate.MediaType(empty.Image, types.OCIManifestSchema1), l))(t)
		img = e2e.Must(mutate.ConfigFile(img, configFor(t, img, arch, entrypoint)))(t)
		e2e.NoError(t, path.AppendImage(img, layout.WithPlatform(v1.Platform{OS: "linux", Architecture: arch})))
	}
	return made
}

func configFor(t testing.TB, img v1.Image, arch string, entrypoint []string) *v1.ConfigFile {
	t.Helper()
	c := e2e.Must(img.ConfigFile())(t)
	c.OS, c.Architecture, c.Config = "linux", arch, v1.Config{Env: []string{"PATH=/usr/bin"}, Entrypoint: entrypoint}
	return c
}

// A typeScriptFunction is a function from the bundled template.
type typeScriptFunction struct {
	dir, cache, registry, base string
	// umask is the umask of xfn. env are environment variables of xfn, in addition to the variables
	// of the tests.
	umask string
	env   []string
}

// run runs xfn in the folder of the function.
func (f typeScriptFunction) run(t testing.TB, args ...string) string {
	t.Helper()
	return e2e.Output(t, f.command(t, args...))
}

// command returns a command of xfn in the folder of the function.
func (f typeScriptFunction) command(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	cmd := withUmask(e2e.Command(t, args...), cmp.Or(f.umask, "022"))
	cmd.Dir, cmd.Env = f.dir, append(append(os.Environ(), "XFN_CACHE_DIR="+f.cache, "npm_config_registry="+f.registry), f.env...)
	return cmd
}

// withUmask makes a command run with a umask. Without it, a command has the umask of this process.
func withUmask(cmd *exec.Cmd, mask string) *exec.Cmd {
	cmd.Args = append([]string{"sh", "-c", "umask " + mask + ` && exec "$0" "$@"`, cmd.Path}, cmd.Args[1:]...)
	cmd.Path = "/bin/sh"
	return cmd
}

func (f typeScriptFunction) build(t testing.TB, args ...string) string {
	t.Helper()
	out := f.run(t, append([]string{
		"xpkg", "build", "--embed-runtime-source", ".", "--base-image", f.base, "--platform", "linux/amd64,linux/arm64", "-o", "fn.xpkg",
	}, args...)...)
	_, digest, _ := strings.Cut(strings.TrimSpace(out), " ")
	return digest
}

// initTypeScript creates a function in a new directory.
func initTypeScript(t testing.TB, f typeScriptFunction) typeScriptFunction {
	t.Helper()
	f.dir = t.TempDir()
	f.run(t, "xpkg", "init", "function-shop", "typescript")
	return f
}

// TestTypeScript creates a function from the bundled template, with packages from a registry
// of npm, builds it for two platforms and runs it on Node.js of Debian.
func TestTypeScript(t *testing.T) {
	t.Parallel()
	registry, base := npmRegistry(t), debianNode(t)
	f := initTypeScript(t, typeScriptFunction{cache: t.TempDir(), registry: registry, base: base})
	digest := f.build(t)
	f.rendersShop(t)
	e2e.Has(t, "the tests of the scaffold pass", f.run(t, "test", "tests", "--package", "function-shop=fn.xpkg"), "3 cases")

	pullBase(t, f.cache, typescript.Language().Base, f.base)
	e2e.Has(t, "from the folder of the source: got", f.render(t, ".", "--offline"), "url: http://shop")
	rendersAgain(t, f.command(t, "dev", "--offline"), `^rendered `, "src/function.ts", "url: `http://", "url: `https://", `~ status\.url: "http://shop" → "https://shop"$`)

	again := initTypeScript(t, f)
	e2e.NoError(t, os.Chmod(filepath.Join(again.dir, "src/main.ts"), 0o600))
	again.umask, again.env = "077", []string{"TZ=Asia/Tokyo"}
	e2e.Equal(t, "the package is the same in another folder and without a network", digest, again.build(t, "--offline"))

	for name, text := range map[string]string{
		"dist/main.js":     "import { serve } from \"@crossplane-org/function-sdk-typescript\";\nimport { compose } from \"./function.js\";\nserve(compose);\n",
		"dist/function.js": "import { fromObject } from \"@crossplane-org/function-sdk-typescript\";\nexport const compose = (req, rsp) => { rsp.desired.resources.plain = fromObject({ apiVersion: \"v1\", kind: \"ConfigMap\", metadata: { name: \"plain\" } }); return rsp; };\n",
	} {
		e2e.NoError(t, errors.Join(os.MkdirAll(filepath.Join(again.dir, "dist"), 0o755), os.WriteFile(filepath.Join(again.dir, name), []byte(text), 0o644)))
	}
	again.build(t, "--offline", "--no-bundle")
	e2e.Has(t, "a package without a bundle renders the same", again.render(t, "fn.xpkg"), "name: plain")
}

// render renders the example with the function in a package or folder.
func (f typeScriptFunction) render(t testing.TB, pkg string, args ...string) string {
	t.Helper()
	return f.run(t, append([]string{
		"render", "example/xr.yaml", "example/composition.yaml", "example/functions.yaml", "--package", "function-shop=" + pkg, "--timeout", "5m",
	}, args...)...)
}

// pullBase pulls a reference into a cache, from a registry that has the images in an OCI
// layout there.
func pullBase(t testing.TB, cache, reference, base string) {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	ref := e2e.Must(name.ParseReference(reference))(t)
	here := redirected(strings.TrimPrefix(server.URL, "http://"))
	index := e2e.Must(layout.ImageIndexFromPath(base))(t)
	e2e.NoError(t, ggcr.WriteIndex(ref, index, ggcr.WithTransport(here)))
	images := e2e.Must(runtimeimage.FromCache(t.Context(), cache, ref, image.IfNotPresent, image.Options{Remote: remote.From(here, nil)}, runtimeimage.Options{TempDir: t.TempDir()}))(t)
	e2e.NoError(t, images.Close())
}

// redirected is a transport that sends all requests to one host.
type redirected string

// RoundTrip implements http.RoundTripper.
func (r redirected) RoundTrip(req *http.Request) (*http.Response, error) {
	here := req.Clone(req.Context())
	here.URL.Scheme, here.URL.Host = "http", string(r)
	return http.DefaultTransport.RoundTrip(here)
}

func (f typeScriptFunction) rendersShop(t testing.TB) {
	t.Helper()
	out := f.render(t, "fn.xpkg")
	for _, want := range []string{"kind: Deployment", "kind: Service", "replicas: 3", "containerPort: 8000", "url: http://shop"} {
		e2e.Has(t, "the render has the resources of the template", out, want)
	}
}
