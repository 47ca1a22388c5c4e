package runtimeimage_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/language"
	"github.com/xfn-dev/xfn/internal/language/golang"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
	"github.com/xfn-dev/xfn/xpkg"
)

var (
	amd64   = v1.Platform{OS: "linux", Architecture: "amd64"}
	arm64   = v1.Platform{OS: "linux", Architecture: "arm64"}
	created = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
)

// source writes a Go module without dependencies and returns its directory.
func source(t *testing.T, main string) string {
	t.Helper()
	return e2e.Dir(t, map[string]string{"go.mod": "module example.org/fn\n\ngo 1.25\n", "main.go": main})
}

const program = "package main\n\nfunc main() { println(\"hello\") }\n"

// options returns options with an own directory for temporary files. The end of the test checks that it
// is empty.
func options(t *testing.T) runtimeimage.Options {
	t.Helper()
	dir := t.TempDir()
	t.Cleanup(func() { e2e.Empty(t, dir) })
	return runtimeimage.Options{Created: created, Env: os.Environ(), TempDir: dir}
}

// assertSentence fails the test unless err is one sentence that has want and names the source of the image.
func assertSentence(t *testing.T, reason string, err error, want, source string) {
	t.Helper()
	e2e.ErrorHas(t, reason, err, want, source)
	if err != nil && strings.Contains(err.Error(), "\n") {
		t.Errorf("%s: want one sentence, got %v", reason, err)
	}
}

func buildGo(ctx context.Context, src language.Source, opts runtimeimage.Options) (*runtimeimage.Images, error) {
	built, err := golang.Build(ctx, src, opts)
	if err != nil {
		return nil, err
	}
	return built.Images, nil
}

func fromSource(t *testing.T, dir string, opts runtimeimage.Options, platforms ...v1.Platform) []v1.Image {
	t.Helper()
	images := e2e.Must(buildGo(t.Context(), language.Source{Dir: dir, Platforms: platforms}, opts))(t)
	t.Cleanup(func() { e2e.NoError(t, images.Close()) })
	return images.All
}

// An entry is a file of an image.
type entry struct {
	Mode, Size int64
	UID, GID   int
	Type       byte
}

// contents returns the files of an image's root file system, and their contents, by name.
func contents(t *testing.T, img v1.Image) (map[string]entry, map[string][]byte) {
	t.Helper()
	entries, data := map[string]entry{}, map[string][]byte{}
	for h, text := range e2e.Tar(t, mutate.Extract(img)) {
		if !h.ModTime.Equal(time.Unix(0, 0)) {
			t.Errorf("%s has a time: %v", h.Name, h.ModTime)
		}
		entries[h.Name] = entry{h.Mode, h.Size, h.Uid, h.Gid, h.Typeflag}
		data[h.Name] = []byte(text)
	}
	return entries, data
}

// A function in Go is compiled once for each platform. Its package can be written to one file,
// and read from it unchanged.
func TestGoSource(t *testing.T) {
	var mu sync.Mutex
	var steps []string
	opts, dir := options(t), source(t, program)
	opts.Progress = func(e progress.Event) {
		mu.Lock()
		defer mu.Unlock()
		steps = append(steps, e.Text)
	}
	images := fromSource(t, dir, opts, amd64, arm64)
	slices.Sort(steps)
	e2e.Equal(t, "the program is compiled once for each platform", []string{"compiling " + dir + " for linux/amd64", "compiling " + dir + " for linux/arm64"}, steps)
	if len(images) != 2 {
		t.Fatalf("got %d images, want 2", len(images))
	}
	for i, arch := range []string{"amd64", "arm64"} {
		e2e.NoError(t, validate.Image(images[i]))
		config := e2e.Must(images[i].ConfigFile())(t)
		want := v1.Config{
			Entrypoint: []string{"/function"}, User: "65532", WorkingDir: "/",
			Env:          []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
			ExposedPorts: map[string]struct{}{"9443/tcp": {}},
		}
		e2e.Equal(t, "the config starts the compiled program as an unprivileged user", want, config.Config)
		if config.OS != "linux" || config.Architecture != arch || !config.Created.Equal(created) {
			t.Errorf("got %s/%s created %s", config.OS, config.Architecture, config.Created)
		}
	}
	assertFiles(t, images[0])
	assertSharedBase(t, images)
	assertPackaged(t, images)
}

func assertFiles(t *testing.T, img v1.Image) {
	t.Helper()
	got, data := contents(t, img)
	want := map[string]entry{
		"etc": {Mode: 0o755, Type: tar.TypeDir}, "etc/ssl": {Mode: 0o755, Type: tar.TypeDir}, "etc/ssl/certs": {Mode: 0o755, Type: tar.TypeDir},
		"tmp":                               {Mode: 0o1777, Type: tar.TypeDir},
		"etc/passwd":                        {Mode: 0o644, Size: int64(len(data["etc/passwd"])), Type: tar.TypeReg},
		"etc/group":                         {Mode: 0o644, Size: int64(len(data["etc/group"])), Type: tar.TypeReg},
		"etc/ssl/certs/ca-certificates.crt": {Mode: 0o644, Size: int64(len(data["etc/ssl/certs/ca-certificates.crt"])), Type: tar.TypeReg},
		"function":                          {Mode: 0o755, Size: int64(len(data["function"])), Type: tar.TypeReg},
	}
	e2e.Equal(t, "the image has the program and the files that programs need", want, got)
	e2e.Has(t, "the user of the image has a name", string(data["etc/passwd"]), "nonroot:x:65532:65532:")
	if !bytes.HasPrefix(data["function"], []byte("\x7fELF")) {
		t.Error("the entrypoint is not a program")
	}
	count := 0
	for rest := data["etc/ssl/certs/ca-certificates.crt"]; len(rest) > 0; count++ {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			t.Fatal("the certificates are not PEM")
		}
		e2e.NoError(t, e2e.Err(x509.ParseCertificate(block.Bytes)))
	}
	if count < 100 {
		t.Errorf("got %d root certificates", count)
	}
}

// assertSharedBase fails the test unless the images share the layer of the base image.
func assertSharedBase(t *testing.T, images []v1.Image) {
	t.Helper()
	var digests []v1.Hash
	for _, img := range images {
		m := e2e.Must(img.Manifest())(t)
		if len(m.Layers) != 2 {
			t.Fatalf("got %d layers, want 2", len(m.Layers))
		}
		digests = append(digests, m.Layers[0].Digest, m.Layers[1].Digest)
	}
	if digests[0] != digests[2] || digests[1] == digests[3] {
		t.Errorf("want one base layer and two programs, got %v", digests)
	}
}

func TestGoSourceIsRepeatable(t *testing.T) {
	first := fromSource(t, source(t, program), options(t), amd64)[0]
	want := e2e.Must(first.Digest())(t)
	procs := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(procs)
	again := fromSource(t, source(t, program), options(t), amd64)[0]
	e2e.Equal(t, "the package is the same in another directory and on one processor", want, e2e.Must(again.Digest())(t))
}

func TestGoSourceRefuses(t *testing.T) {
	cases := map[string]struct {
		reason, main string
		platforms    []v1.Platform
		want         string
	}{
		"DoesNotCompile": {"errors of the compiler are shown", "package main\n\nfunc main() { oops() }\n", []v1.Platform{amd64, arm64}, "undefined: oops"},
		"Library":        {"a library is an error", "package lib\n", []v1.Platform{amd64}, "library"},
		"NoPlatform":     {"at least one platform is required", program, nil, "no platform"},
		"Twice":          {"a platform must not be repeated", program, []v1.Platform{amd64, amd64}, "linux/amd64 is given twice"},
		"Windows":        {"only Linux platforms are supported", program, []v1.Platform{{OS: "windows", Architecture: "amd64"}}, "windows/amd64"},
		"Unknown":        {"an unknown platform is an error of the compiler", program, []v1.Platform{{OS: "linux", Architecture: "z80"}}, "linux/z80"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.ErrorHas(t, tc.reason, e2e.Err(buildGo(t.Context(), language.Source{Dir: source(t, tc.main), Platforms: tc.platforms}, options(t))), tc.want)
		})
	}
}

func TestGoSourceStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e2e.ErrorIs(t, "a build returns the cause of its context", e2e.Err(buildGo(ctx, language.Source{Dir: source(t, program), Platforms: []v1.Platform{amd64}}, options(t))), context.Canceled)
}

// assertPackaged writes a package with the images to a file, and reads it.
func assertPackaged(t *testing.T, images []v1.Image) {
	t.Helper()
	pkg := &xpkg.Package{YAML: []byte("---\napiVersion: meta.pkg.crossplane.io/v1\nkind: Function\nmetadata:\n  name: fn\n---\n")}
	a := e2e.Must(xpkg.Build(pkg, images, xpkg.BuildOptions{Created: created}))(t)
	path := filepath.Join(t.TempDir(), "fn.xpkg")
	e2e.NoError(t, xpkg.WriteFile(t.Context(), path, a, nil))
	f := e2e.Must(xpkg.Open(t.Context(), path))(t)
	defer f.Close()
	idx, ok := f.Artifact.(v1.ImageIndex)
	if !ok {
		t.Fatalf("got a %T, want an index", f.Artifact)
	}
	e2e.NoError(t, validate.Index(idx))
	found := e2e.Must(xpkg.Images(f.Artifact))(t)
	for i, want := range []v1.Platform{amd64, arm64} {
		e2e.Equal(t, "the package has the images in the order of the build", &want, found[i].Platform)
	}
}

// The language Go passes the user's flags to go build, and adds the program to a base image.
func TestGoSourceOnBase(t *testing.T) {
	dir := source(t, "package main\n\nvar text = \"nothing\"\n\nfunc main() { println(text) }\n")
	base := baseOf(t, v1.Config{
		User: "0", Entrypoint: []string{"/bin/sh"}, Cmd: []string{"-c", "x"}, WorkingDir: "/w", Env: []string{"A=b"},
	}, []v1.Layer{tarLayer(t, member{name: "etc/", kind: tar.TypeDir, mode: 0o755})}, amd64, arm64)
	images := e2e.Must(buildGo(t.Context(), language.Source{
		Dir: dir, Platforms: []v1.Platform{arm64}, Base: base,
		LDFlags: "-X main.text=set-by-a-flag", GoFlags: []string{"-tags=x"}, Labels: map[string]string{"k": "v=w"},
	}, options(t)))(t)
	img := images.All[0]
	e2e.NoError(t, validate.Image(img))
	config := e2e.Must(img.ConfigFile())(t)
	want := v1.Config{
		User: "65532", Entrypoint: []string{"/function"}, WorkingDir: "/w", Env: []string{"A=b"},
		Labels: map[string]string{"k": "v=w"}, ExposedPorts: map[string]struct{}{"9443/tcp": {}},
	}
	e2e.Equal(t, "the config is that of the base image, except the fields that start the function", want, config.Config)
	if config.Architecture != "arm64" || len(config.History) != 2 {
		t.Errorf("got a config for %s with %d lines of history", config.Architecture, len(config.History))
	}
	got, data := contents(t, img)
	if len(got) != 3 || !bytes.Contains(data["function"], []byte("set-by-a-flag")) {
		t.Errorf("got %v", got)
	}
	e2e.NoError(t, images.Close())
}

func TestGoSourceOnBaseRefuses(t *testing.T) {
	base := baseOf(t, v1.Config{}, []v1.Layer{tarLayer(t)}, amd64)
	_, err := buildGo(t.Context(), language.Source{Dir: source(t, program), Platforms: []v1.Platform{arm64}, Base: base}, options(t))
	e2e.ErrorHas(t, "a base image without the platform is an error", err, "there is no image for linux/arm64, only for linux/amd64")
}

// FromLayers returns an error for a base image whose config is JSON, but not an object.
func TestGoSourceOnBaseWithoutConfig(t *testing.T) {
	img, err := oci.Assemble([]byte("null"), nil)
	e2e.NoError(t, err)
	opts := options(t)
	base := e2e.Must(runtimeimage.FromTarball(t.Context(), writeArchive(t, img), opts))(t)
	_, err = buildGo(t.Context(), language.Source{Dir: source(t, program), Platforms: []v1.Platform{arm64}, Base: base}, opts)
	e2e.ErrorHas(t, "a config that is not an object is an error", err, "config: it is not a JSON object")
}
