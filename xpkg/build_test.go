package xpkg_test

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/xpkg"
)

var created = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func aPackage(kind, name string) *xpkg.Package {
	return &xpkg.Package{
		Meta: xpkg.Object{APIVersion: "meta.pkg.crossplane.io/v1", Kind: kind, Name: name},
		YAML: []byte("---\napiVersion: meta.pkg.crossplane.io/v1\nkind: " + kind + "\nmetadata:\n  name: " + name + "\nspec: {}\n---\n"),
	}
}

// runtimeFor returns a runtime image of random layers with Docker's types.
func runtimeFor(t testing.TB, platform string) v1.Image {
	t.Helper()
	img := e2e.Must(random.Image(2000, 2))(t)
	config := e2e.Must(img.ConfigFile())(t)
	p := e2e.Must(v1.ParsePlatform(platform))(t)
	config.OS, config.Architecture, config.Variant, config.OSVersion = p.OS, p.Architecture, p.Variant, p.OSVersion
	config.Config.Labels = map[string]string{"keep": "me"}
	config.Config.Entrypoint = []string{"/function"}
	img = e2e.Must(mutate.ConfigFile(img, config))(t)
	return img
}

func build(t testing.TB, pkg *xpkg.Package, platforms ...string) xpkg.Artifact {
	t.Helper()
	return buildWith(t, pkg, xpkg.BuildOptions{Created: created}, platforms...)
}

func manifestOf(t testing.TB, img v1.Image) *v1.Manifest {
	t.Helper()
	return e2e.Must(img.Manifest())(t)
}

func configOf(t testing.TB, img v1.Image) *v1.ConfigFile {
	t.Helper()
	return e2e.Must(img.ConfigFile())(t)
}

// A package without a runtime is an image for the platform that the control plane pulls.
func TestBuildWithoutRuntime(t *testing.T) {
	pkg := aPackage("Configuration", "c")
	pkg.Examples = []byte{}
	img, ok := build(t, pkg).(v1.Image)
	if !ok {
		t.Fatal("want an image")
	}
	e2e.NoError(t, validate.Image(img))
	m, c := manifestOf(t, img), configOf(t, img)
	e2e.Equal(t, "the manifest has the media type of OCI", types.OCIManifestSchema1, m.MediaType)
	e2e.Equal(t, "the config has the media type of OCI", types.OCIConfigJSON, m.Config.MediaType)
	if c.OS != "linux" || c.Architecture != "amd64" || !c.Created.Equal(created) || len(c.History) != 2 || !c.History[1].Created.Equal(created) {
		t.Errorf("config: got %+v", c)
	}
	want := map[string]string{}
	for i, mark := range []string{"base", "upbound"} {
		e2e.Equal(t, fmt.Sprintf("layer %d has its mark", i), map[string]string{"io.crossplane.xpkg": mark}, m.Layers[i].Annotations)
		want["io.crossplane.xpkg:"+m.Layers[i].Digest.String()] = mark
	}
	e2e.Equal(t, "each layer has a label", want, c.Config.Labels)
	assertFile(t, img, 0, "package.yaml", string(pkg.YAML))
	assertFile(t, img, 1, ".up/examples.yaml", "")
}

// assertFile fails unless layer i contains only this file, without owner or time.
func assertFile(t *testing.T, img v1.Image, i int, name, content string) {
	t.Helper()
	rc := e2e.Must(e2e.Must(img.Layers())(t)[i].Uncompressed())(t)
	defer rc.Close()
	tr := tar.NewReader(rc)
	h := e2e.Must(tr.Next())(t)
	if h.Name != name || h.Mode != 0o644 || h.Uid != 0 || h.Gid != 0 || h.Uname != "" || h.ModTime.Unix() != 0 {
		t.Errorf("layer %d: got header %+v, want %s", i, h, name)
	}
	e2e.Equal(t, fmt.Sprintf("layer %d has the file", i), content, string(e2e.Must(io.ReadAll(tr))(t)))
	if h, err := tr.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("layer %d: got another file %v, %v", i, h, err)
	}
}

// Build keeps the layers and settings of the runtime.
func TestBuildKeepsRuntime(t *testing.T) {
	base := runtimeFor(t, "linux/arm/v7")
	img := e2e.Must(xpkg.Build(aPackage("Function", "fn"), []v1.Image{base}, xpkg.BuildOptions{Created: created}))(t).(v1.Image)
	e2e.NoError(t, validate.Image(img))
	was, is := manifestOf(t, base), manifestOf(t, img)
	if len(is.Layers) != len(was.Layers)+1 {
		t.Fatalf("got %d layers, want one more than %d", len(is.Layers), len(was.Layers))
	}
	for i, d := range was.Layers {
		if got := is.Layers[i]; got.Digest != d.Digest || got.Size != d.Size || got.MediaType != types.OCILayer || got.Annotations != nil {
			t.Errorf("layer %d: got %+v, want %+v", i, got, d)
		}
	}
	c := configOf(t, img)
	if c.Architecture != "arm" || c.Variant != "v7" || c.Config.Labels["keep"] != "me" || len(c.Config.Labels) != 2 {
		t.Errorf("config: got %+v", c)
	}
	e2e.Equal(t, "the entrypoint is that of the runtime", []string{"/function"}, c.Config.Entrypoint)
	if want := configOf(t, base).History; !cmp.Equal(want, c.History[:len(want)]) {
		t.Errorf("history: got %v, want %v first", c.History, want)
	}
}

// Build keeps fields of a config that the Go types do not have.
func TestBuildKeepsUnknownSettings(t *testing.T) {
	base := withConfig(t, runtimeFor(t, "linux/amd64"), `"config":{"StopTimeout":7,"Big":12345678901234567890},"container_config":{"a":"<b>"}`)
	a := e2e.Must(xpkg.Build(aPackage("Function", "fn"), []v1.Image{base}, xpkg.BuildOptions{}))(t)
	raw := e2e.Must(a.(v1.Image).RawConfigFile())(t)
	for _, want := range []string{`"StopTimeout":7`, `"Big":12345678901234567890`, `"created":"1970-01-01T00:00:00Z"`} {
		e2e.Has(t, "unknown fields of the config are kept", string(raw), want)
	}
	var config struct {
		Container map[string]string `json:"container_config"`
	}
	if err := json.Unmarshal(raw, &config); err != nil || config.Container["a"] != "<b>" {
		t.Errorf("container_config: got %v, %v", config.Container, err)
	}
}

// Build sets a platform if the runtime has no platform.
func TestBuildSetsThePlatform(t *testing.T) {
	c := configOf(t, build(t, aPackage("Function", "fn"), "").(v1.Image))
	if c.OS != "linux" || c.Architecture != "amd64" || c.Config.Labels["keep"] != "me" {
		t.Errorf("got %+v", c)
	}
}

func TestBuildIndex(t *testing.T) {
	platforms := []string{"linux/arm64/v8", "linux/arm/v7", "linux/arm/v6", "windows/amd64:10.0.1"}
	idx, ok := build(t, aPackage("Function", "fn"), platforms...).(v1.ImageIndex)
	if !ok {
		t.Fatal("want an index")
	}
	e2e.NoError(t, validate.Index(idx))
	m := e2e.Must(idx.IndexManifest())(t)
	if m.MediaType != types.OCIImageIndex || len(m.Manifests) != len(platforms) {
		t.Fatalf("got %s of %d images", m.MediaType, len(m.Manifests))
	}
	for i, want := range platforms {
		e2e.Equal(t, fmt.Sprintf("image %d has its platform", i), want, m.Manifests[i].Platform.String())
	}
}

func TestBuildRefuses(t *testing.T) {
	pkg := aPackage("Function", "fn")
	finished := build(t, pkg, "linux/amd64").(v1.Image)
	cases := map[string]struct {
		reason   string
		runtimes []v1.Image
		want     string
	}{
		"SamePlatform": {"an index cannot have two images for a platform", []v1.Image{runtimeFor(t, "linux/amd64"), runtimeFor(t, "linux/amd64")}, "two are for linux/amd64"},
		"SameArm64":    {"arm64 and arm64/v8 are the same platform", []v1.Image{runtimeFor(t, "linux/arm64"), runtimeFor(t, "linux/arm64/v8")}, "two are for linux/arm64"},
		"NoPlatform":   {"an image without a platform cannot be part of an index", []v1.Image{runtimeFor(t, "linux/amd64"), runtimeFor(t, "")}, "no os and architecture"},
		"Package":      {"a runtime image that is already a package is refused", []v1.Image{finished}, "the image is already a package"},
		"Label":        {"a package whose only mark is a label is refused as a runtime", []v1.Image{withConfig(t, finished, `"config":{"Labels":{"io.crossplane.xpkg:sha256:1":"base"}}`)}, "the image is already a package"},
		"Config":       {"a config that is not a JSON object is refused", []v1.Image{badConfig{finished}}, "not a JSON object"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.ErrorHas(t, tc.reason, e2e.Err(xpkg.Build(pkg, tc.runtimes, xpkg.BuildOptions{})), tc.want)
		})
	}
}

// configured is an image with a replaced config.
type configured struct {
	v1.Image
	raw []byte
}

func (c configured) RawConfigFile() ([]byte, error) { return c.raw, nil }

// withConfig returns img with a config that has these JSON fields.
func withConfig(t *testing.T, img v1.Image, fields string) v1.Image {
	t.Helper()
	raw := e2e.Must(json.Marshal(configOf(t, img).RootFS))(t)
	return configured{img, []byte(`{"os":"linux","architecture":"amd64","rootfs":` + string(raw) + `,` + fields + `}`)}
}

type badConfig struct{ v1.Image }

func (badConfig) RawConfigFile() ([]byte, error) { return []byte("null"), nil }

func TestBuildIsRepeatable(t *testing.T) {
	base := runtimeFor(t, "linux/amd64")
	var first v1.Hash
	for i := range 2 {
		dir := e2e.Dir(t, map[string]string{"crossplane.yaml": functionYAML, "b.yaml": crdYAML, "examples/x.yaml": "kind: X\n"})
		pkg := e2e.Must(readDir(t, dir, xpkg.ReadOptions{ExamplesRoot: filepath.Join(dir, "examples")}))(t)
		got := e2e.Must(e2e.Must(xpkg.Build(pkg, []v1.Image{base}, xpkg.BuildOptions{Created: created}))(t).Digest())(t)
		if i == 0 {
			first = got
		}
		e2e.Equal(t, "the digest does not depend on the path of the directory", first, got)
	}
}

func TestDefaultFileName(t *testing.T) {
	a := build(t, aPackage("Function", "fn"))
	hex := e2e.Must(a.Digest())(t).Hex[:12]
	cases := map[string]struct{ reason, name, want string }{
		"Plain":  {"the file name is the package name and the digest", "pkg-under-test", "pkg-under-test-" + hex},
		"None":   {"without a package name, the file name is the digest", "", hex},
		"Dashes": {"dashes at the start and end of a package name are removed", "--", hex},
		"Upper":  {"characters that a DNS label cannot have are removed or become dashes", "Foo_Bar.Baz", "ooar-az-" + hex},
		"Letter": {"letters outside ASCII are removed", "żółw", "w-" + hex},
		"Slash":  {"path separators are not kept", "../../a:b", "a-b-" + hex},
		"Long":   {"a package name is cut to 50 bytes", strings.Repeat("a", 45) + "-" + strings.Repeat("b", 24), strings.Repeat("a", 45) + "-bbbb-" + hex},
		"Cut":    {"a cut package name may end in a dash", strings.Repeat("a", 49) + "-bbb", strings.Repeat("a", 49) + "--" + hex},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.Equal(t, tc.reason, tc.want+".xpkg", e2e.Must(xpkg.DefaultFileName(aPackage("Function", tc.name), a))(t))
		})
	}
}

// Read returns a Package without YAML beside an error.
func TestBuildWithoutYAML(t *testing.T) {
	e2e.ErrorHas(t, "a package that was not read is an error", e2e.Err(xpkg.Build(&xpkg.Package{}, nil, xpkg.BuildOptions{})), "its YAML is empty")
}
