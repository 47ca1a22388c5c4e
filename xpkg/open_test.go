package xpkg_test

import (
	"bytes"
	"context"
	"io"
	"log"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/xpkg"
)

// writeFile writes a to a new file and returns its path.
func writeFile(t testing.TB, a xpkg.Artifact) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.xpkg")
	e2e.NoError(t, xpkg.WriteFile(t.Context(), path, a, nil))
	return path
}

// WriteFile of a pulled package writes the same bytes as the file that was pushed.
func TestThroughRegistry(t *testing.T) {
	cases := map[string]struct {
		reason    string
		platforms []string
	}{
		"NoRuntime": {"a package without a runtime", nil},
		"One":       {"a package with one image", []string{"linux/arm64"}},
		"Several":   {"a package with an index", []string{"linux/amd64", "linux/arm64"}},
	}
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	for testName, tc := range cases {
		t.Run(testName, func(t *testing.T) {
			pkg := aPackage("Function", "fn")
			pkg.Examples = []byte("kind: A\n")
			path := writeFile(t, build(t, pkg, tc.platforms...))
			ref := e2e.Must(name.NewTag(strings.TrimPrefix(server.URL, "http://") + "/" + strings.ToLower(testName) + ":v1"))(t)
			pulled := push(t, ref, e2e.Open(xpkg.Open(t.Context(), path))(t).Artifact)
			for _, i := range e2e.Must(xpkg.Images(pulled))(t) {
				e2e.Equal(t, tc.reason+" has its package.yaml in the registry", pkg.YAML, e2e.Must(xpkg.PackageYAML(t.Context(), i.Image))(t))
				layers := manifestOf(t, i.Image).Layers
				e2e.Equal(t, "the annotation of the base layer in the registry", "base", layers[len(layers)-2].Annotations["io.crossplane.xpkg"])
			}
			e2e.Equal(t, tc.reason+": the pulled file differs", []byte(e2e.ReadFile(t, path)), []byte(e2e.ReadFile(t, writeFile(t, pulled))))
		})
	}
}

// push pushes a and returns the artifact that it pulls.
func push(t *testing.T, ref name.Tag, a xpkg.Artifact) xpkg.Artifact {
	t.Helper()
	switch a := a.(type) {
	case v1.ImageIndex:
		e2e.NoError(t, remote.WriteIndex(ref, a))
		return e2e.Must(remote.Index(ref))(t)
	case v1.Image:
		e2e.NoError(t, remote.Write(ref, a))
		return e2e.Must(remote.Image(ref))(t)
	default:
		t.Fatalf("got a %T", a)
		return nil
	}
}

// Open restores the annotations of layers from labels, because the crossplane CLI
// writes Docker archives, which have no annotations.
func TestOpenIncumbentsFile(t *testing.T) {
	pkg := aPackage("Function", "fn")
	pkg.Examples = []byte("kind: A\n")
	built := build(t, pkg, "linux/amd64").(v1.Image)
	path := filepath.Join(t.TempDir(), "docker.xpkg")
	e2e.NoError(t, tarball.WriteToFile(path, name.MustParseReference("a:v1"), plain(t, built)))
	got := e2e.Open(xpkg.Open(t.Context(), path))(t).Artifact.(v1.Image)
	e2e.NoError(t, validate.Image(got))
	e2e.Equal(t, "annotations are restored from the labels", manifestOf(t, built).Layers, manifestOf(t, got).Layers)
}

// plain returns img with the same config and no annotations.
func plain(t *testing.T, img v1.Image) v1.Image {
	t.Helper()
	bare := e2e.Must(mutate.AppendLayers(empty.Image, e2e.Must(img.Layers())(t)...))(t)
	bare = e2e.Must(mutate.ConfigFile(bare, configOf(t, img)))(t)
	return bare
}

// PackageYAML reads the whole root file system, as the control plane does, if a tool
// has removed the annotations of the layers.
func TestPackageYAMLOfFlattenedImage(t *testing.T) {
	pkg := aPackage("Function", "fn")
	bare := plain(t, build(t, pkg, "linux/amd64").(v1.Image))
	e2e.Equal(t, "package.yaml is found without annotations of layers", pkg.YAML, e2e.Must(xpkg.PackageYAML(t.Context(), bare))(t))
	meta, err := xpkg.Metadata(t.Context(), bare)
	want := xpkg.Object{Path: "package.yaml", Line: 2, APIVersion: "meta.pkg.crossplane.io/v1", Kind: "Function", Name: "fn"}
	if diff := cmp.Diff(want, meta); err != nil || diff != "" {
		t.Errorf("metadata: %v (-want +got):\n%s", err, diff)
	}
}

func TestMetadataRefuses(t *testing.T) {
	cases := map[string]struct{ reason, yaml, want string }{
		"None":    {"a package without metadata is refused", "---\n" + crdYAML + "---\n", "no object of meta.pkg.crossplane.io"},
		"NotYAML": {"a package.yaml that is not YAML is refused", "a: [", "package.yaml:1: "},
		"Split":   {"a package.yaml with an invalid separator is refused", "--- x", "package.yaml:1: "},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pkg := aPackage("Function", "fn")
			pkg.YAML = []byte(tc.yaml)
			e2e.ErrorHas(t, tc.reason, e2e.Err(xpkg.Metadata(t.Context(), build(t, pkg).(v1.Image))), tc.want)
		})
	}
}

// PackageYAML verifies the digest of the whole base layer, also the bytes after
// package.yaml.
func TestPackageYAMLChecksTheDigest(t *testing.T) {
	img := build(t, aPackage("Function", "fn")).(v1.Image)
	data := e2e.Must(bytesOf(e2e.Must(img.Layers())(t)[0].Uncompressed)())(t)
	right, size, err := v1.SHA256(bytes.NewReader(data))
	e2e.NoError(t, err)
	desc := v1.Descriptor{Digest: right, Size: size, MediaType: types.OCIUncompressedLayer, Annotations: map[string]string{xpkg.Annotation: "base"}}
	for name, tc := range map[string]struct {
		change int
		want   string
	}{"Right": {0, ""}, "Wrong": {1, "other content"}} {
		t.Run(name, func(t *testing.T) {
			changed := bytes.Clone(data)
			changed[len(changed)-1] ^= byte(tc.change)
			got, err := xpkg.PackageYAML(t.Context(), e2e.Must(annotated(bytes.NewReader(changed), desc))(t))
			if tc.want == "" && err != nil || tc.want != "" && (got != nil || err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("got %q, %v, want %q", got, err, tc.want)
			}
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	unnamed := remotetest.Index(runtimeFor(t, "linux/amd64"))
	cases := map[string]struct {
		reason string
		a      xpkg.Artifact
		want   string
	}{
		"Image":      {"an image without package.yaml is refused", runtimeFor(t, "linux/amd64"), "the image is not a package"},
		"Index":      {"an index of images without package.yaml is refused", unnamed, "the image is not a package"},
		"EmptyIndex": {"an index without images is refused", remotetest.Index(), "the package contains no image"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			path := writeFile(t, tc.a)
			_, err := xpkg.Open(t.Context(), path)
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: want one sentence with %q and the file, got %v", tc.reason, tc.want, err)
			}
		})
	}
}

func TestOpenStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	path := writeFile(t, build(t, aPackage("Function", "fn")))
	cancel()
	e2e.ErrorIs(t, "Open returns the cause of its context", e2e.Err(xpkg.Open(ctx, path)), context.Canceled)
}

// Images leaves out the attestations of BuildKit and other artifacts that are not images.
func TestImagesLeavesOutAttestations(t *testing.T) {
	pkg := build(t, aPackage("Function", "fn"), "linux/amd64").(v1.Image)
	idx := mutate.AppendManifests(empty.Index,
		mutate.IndexAddendum{Add: mutate.ConfigMediaType(runtimeFor(t, ""), "application/vnd.oci.empty.v1+json")},
		mutate.IndexAddendum{Add: pkg},
		mutate.IndexAddendum{Add: runtimeFor(t, ""), Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "unknown", Architecture: "unknown"}}})
	e2e.Equal(t, "the index has the package, and an attestation that is left out", 1, len(e2e.Must(xpkg.Images(idx))(t)))
}

func TestJoin(t *testing.T) {
	fn := aPackage("Function", "fn")
	amd64, arm64 := build(t, fn, "linux/amd64"), build(t, fn, "linux/arm64")
	both := build(t, fn, "linux/s390x", "linux/ppc64le")
	nowhere := plain(t, build(t, fn, "linux/amd64").(v1.Image))
	config := configOf(t, nowhere)
	config.OS, config.Architecture = "", ""
	nowhere = e2e.Must(mutate.ConfigFile(nowhere, config))(t)
	annotated := e2e.Must(xpkg.Annotate(amd64, map[string]string{"a": "b"}))(t)
	cases := map[string]struct {
		reason    string
		files     []xpkg.Target
		want, err []string
	}{
		"Images":   {"the index has the images in the order of the files", []xpkg.Target{{Path: "b", Artifact: arm64}, {Path: "a", Artifact: amd64}}, []string{"linux/arm64", "linux/amd64"}, nil},
		"Indexes":  {"the images of an index are added to the result", []xpkg.Target{{Path: "i", Artifact: both}, {Path: "a", Artifact: amd64}}, []string{"linux/s390x", "linux/ppc64le", "linux/amd64"}, nil},
		"Same":     {"two files with one image are refused", []xpkg.Target{{Path: "one", Artifact: amd64}, {Path: "two", Artifact: amd64}}, nil, []string{`"one" and "two" have the same image`}},
		"Twice":    {"two files for the same platform are refused", []xpkg.Target{{Path: "one", Artifact: amd64}, {Path: "two", Artifact: annotated}}, nil, []string{`"one" and "two" are both for linux/amd64`}},
		"Kinds":    {"packages of different kinds are refused", []xpkg.Target{{Path: "one", Artifact: amd64}, {Path: "two", Artifact: build(t, aPackage("Provider", "p"), "linux/arm64")}}, nil, []string{`"one" is a Function`, `"two" is a Provider`}},
		"Names":    {"packages with different names are refused", []xpkg.Target{{Path: "one", Artifact: amd64}, {Path: "two", Artifact: build(t, aPackage("Function", "other"), "linux/arm64")}}, nil, []string{`"one" is a Function named fn and "two" is a Function named other`}},
		"Platform": {"an image without a platform is refused", []xpkg.Target{{Path: "one", Artifact: amd64}, {Path: "two", Artifact: nowhere}}, nil, []string{`"two"`, "no platform"}},
		"Image":    {"an image that is not a package is refused", []xpkg.Target{{Path: "one", Artifact: amd64}, {Path: "two", Artifact: runtimeFor(t, "linux/arm64")}}, nil, []string{`"two"`, "not a package"}},
		"None":     {"an empty list of files is refused", nil, nil, []string{"no image"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a, err := xpkg.Join(t.Context(), tc.files)
			for _, want := range tc.err {
				e2e.ErrorHas(t, tc.reason, err, want)
			}
			if tc.err != nil {
				return
			}
			e2e.NoError(t, err)
			e2e.NoError(t, validate.Index(a.(v1.ImageIndex)))
			images := e2e.Must(xpkg.Images(a))(t)
			var got []string
			for _, i := range images {
				got = append(got, i.Platform.String())
			}
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
}

func TestJoinLeavesOneAlone(t *testing.T) {
	a := build(t, aPackage("Function", "fn"))
	if got, err := xpkg.Join(t.Context(), []xpkg.Target{{Path: "a", Artifact: a}}); err != nil || got != a {
		t.Errorf("got %v, %v, want the unchanged artifact", got, err)
	}
}

// Clients find the base layer in the same file: Docker clients by a label, and OCI
// clients by an annotation.
func TestOthersFindMarks(t *testing.T) {
	for name, platforms := range map[string][]string{"One": {"linux/amd64"}, "Several": {"linux/arm64", "linux/amd64"}} {
		t.Run(name, func(t *testing.T) {
			pkg := aPackage("Function", "fn")
			path := writeFile(t, build(t, pkg, platforms...))
			docker := e2e.Must(tarball.ImageFromPath(path, nil))(t)
			layers := manifestOf(t, docker).Layers
			e2e.Equal(t, "the label marks the base layer", "base", configOf(t, docker).Config.Labels["io.crossplane.xpkg:"+layers[len(layers)-1].Digest.String()])
			dir := t.TempDir()
			e2e.Must(layout.Write(dir, index(t, e2e.Open(xpkg.Open(t.Context(), path))(t).Artifact)))(t)
			images, err := xpkg.Images(e2e.Must(layout.ImageIndexFromPath(dir))(t))
			if err != nil || len(images) != len(platforms) {
				t.Fatalf("got %d images, %v", len(images), err)
			}
			for _, i := range images {
				layers := manifestOf(t, i.Image).Layers
				e2e.Equal(t, "the annotation marks the base layer", "base", layers[len(layers)-1].Annotations["io.crossplane.xpkg"])
			}
		})
	}
}

func index(t *testing.T, a xpkg.Artifact) v1.ImageIndex {
	t.Helper()
	switch a := a.(type) {
	case v1.ImageIndex:
		return a
	case v1.Image:
		return mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: a})
	default:
		t.Fatalf("got a %T", a)
		return nil
	}
}
