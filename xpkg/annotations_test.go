package xpkg_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/xpkg"
)

func withAnnotations(t *testing.T, annotations map[string]string, img v1.Image) v1.Image {
	t.Helper()
	return mutate.Annotations(img, annotations).(v1.Image)
}

// Build converts the annotations of crossplane.yaml into OCI annotations.
func TestBuildAnnotates(t *testing.T) {
	const oci = "org.opencontainers.image."
	always := map[string]string{oci + "created": "2026-01-02T03:04:05Z", oci + "title": "fn"}
	cases := map[string]struct {
		reason            string
		meta, flags, want map[string]string
	}{
		"Nothing": {"every package is annotated with its name and creation time", nil, nil, nil},
		"All": {
			"each metadata annotation is written under its OCI key",
			map[string]string{
				"meta.crossplane.io/source": "https://example.org/fn", "meta.crossplane.io/license": "Apache-2.0",
				"meta.crossplane.io/description": "Makes, <things>.\n", "meta.crossplane.io/maintainer": "Ada <ada@example.org>",
				"meta.crossplane.io/readme": " https://example.org/docs\n", "example.org/other": "has no OCI key",
			},
			nil,
			map[string]string{
				oci + "source": "https://example.org/fn", oci + "licenses": "Apache-2.0", oci + "description": "Makes, <things>.",
				oci + "authors": "Ada <ada@example.org>", oci + "documentation": "https://example.org/docs",
			},
		},
		"Readme":   {"a readme text is not written as the documentation URL", map[string]string{"meta.crossplane.io/readme": "See https://example.org\nfor more."}, nil, nil},
		"Relative": {"a relative path is not written as the documentation URL", map[string]string{"meta.crossplane.io/readme": "docs/readme.md"}, nil, nil},
		"Blank":    {"a blank metadata annotation is not written", map[string]string{"meta.crossplane.io/source": " \n"}, nil, nil},
		"Flags": {
			"annotations from options replace the annotations of the metadata",
			map[string]string{"meta.crossplane.io/source": "https://example.org/fn"},
			map[string]string{oci + "source": "https://example.org/fork", oci + "title": "", "org.example.x": "1, 2"},
			map[string]string{oci + "source": "https://example.org/fork", oci + "title": "", "org.example.x": "1, 2"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pkg := aPackage("Function", "fn")
			pkg.Annotations = tc.meta
			want := maps.Clone(always)
			maps.Copy(want, tc.want)
			for _, platforms := range [][]string{nil, {"linux/amd64"}, {"linux/amd64", "linux/arm64"}} {
				a := buildWith(t, pkg, xpkg.BuildOptions{Created: created, Annotations: tc.flags}, platforms...)
				for _, i := range e2e.Must(xpkg.Images(a))(t) {
					e2e.Equal(t, fmt.Sprintf("%s: %v", tc.reason, platforms), want, manifestOf(t, i.Image).Annotations)
				}
				if idx, ok := a.(v1.ImageIndex); ok {
					e2e.Equal(t, tc.reason+": index", want, e2e.Must(idx.IndexManifest())(t).Annotations)
				}
			}
		})
	}
}

func buildWith(t testing.TB, pkg *xpkg.Package, opts xpkg.BuildOptions, platforms ...string) xpkg.Artifact {
	t.Helper()
	var runtimes []v1.Image
	for _, p := range platforms {
		runtimes = append(runtimes, runtimeFor(t, p))
	}
	return e2e.Must(xpkg.Build(pkg, runtimes, opts))(t)
}

// Build keeps the annotations of a runtime image about its base image, and drops
// its other annotations. The index has only the annotations that all images share.
func TestBuildKeepsTheBase(t *testing.T) {
	const oci = "org.opencontainers.image."
	amd := withAnnotations(t, map[string]string{oci + "base.name": "example.org/base:1", oci + "base.digest": "sha256:1", oci + "title": "runtime", "x": "y"}, runtimeFor(t, "linux/amd64"))
	arm := withAnnotations(t, map[string]string{oci + "base.name": "example.org/base:1", oci + "base.digest": "sha256:2"}, runtimeFor(t, "linux/arm64"))
	a := e2e.Must(xpkg.Build(aPackage("Function", "fn"), []v1.Image{amd, arm}, xpkg.BuildOptions{Created: created}))(t)
	m := e2e.Must(a.(v1.ImageIndex).IndexManifest())(t)
	want := map[string]string{oci + "created": "2026-01-02T03:04:05Z", oci + "title": "fn", oci + "base.name": "example.org/base:1"}
	e2e.Equal(t, "the index has only annotations that all images share", want, m.Annotations)
	images := e2e.Must(xpkg.Images(a))(t)
	for i, digest := range []string{"sha256:1", "sha256:2"} {
		want[oci+"base.digest"] = digest
		e2e.Equal(t, fmt.Sprintf("image %d has the digest of its base image", i), want, manifestOf(t, images[i].Image).Annotations)
	}
}

func TestBuildRefusesAnnotations(t *testing.T) {
	cases := map[string]struct {
		reason, key, value, want string
	}{
		"Key":   {"an annotation with an empty key is refused", "", "x", "must not be empty"},
		"UTF8":  {"a value that is not valid UTF-8 is refused", "k", "\xff", "UTF-8"},
		"Large": {"annotations larger than a manifest may be are refused", "k", strings.Repeat("x", 4<<20), "at most 4 MiB"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.ErrorHas(t, tc.reason, e2e.Err(xpkg.Build(aPackage("Function", "fn"), nil, xpkg.BuildOptions{Annotations: map[string]string{tc.key: tc.value}})), tc.want)
		})
	}
}

// extensionOf returns a layer that is not a tar, because the tests read only the
// position and the annotation of the layer.
func extensionOf(name string) xpkg.ExtensionLayer {
	return xpkg.ExtensionLayer{Layer: static.NewLayer([]byte(name), types.OCIUncompressedLayer), Name: name}
}

// Build puts the layers of extensions between the layers of the runtime and of the package.
func TestBuildExtensions(t *testing.T) {
	pkg := aPackage("Function", "fn")
	pkg.Examples = []byte("kind: X\n")
	a := buildWith(t, pkg, xpkg.BuildOptions{Extensions: []xpkg.ExtensionLayer{extensionOf("icons"), extensionOf("readme")}}, "linux/amd64")
	m, c := manifestOf(t, a.(v1.Image)), configOf(t, a.(v1.Image))
	want := []string{"", "", "icons", "readme", "base", "upbound"}
	var marks, labels []string
	for _, d := range m.Layers {
		marks = append(marks, d.Annotations["io.crossplane.xpkg"])
		labels = append(labels, c.Config.Labels["io.crossplane.xpkg:"+d.Digest.String()])
	}
	e2e.Equal(t, "layers of extensions are between those of the runtime and of the package", want, marks)
	e2e.Equal(t, "the labels have the same marks as the annotations", want, labels)
	e2e.NoError(t, validate.Image(a.(v1.Image), validate.Fast))
}

// Build refuses an extension that would hide a file that the function needs.
func TestBuildRefusesOverlays(t *testing.T) {
	cases := map[string]struct {
		reason, config, folder string
		want                   bool
	}{
		"System":     {"an extension cannot hide a system folder", `{}`, "etc", true},
		"Entrypoint": {"an extension cannot hide the entry point", `{"Entrypoint":["/function"]}`, "function", true},
		"Relative":   {"an extension cannot hide the folder of the entry point", `{"Entrypoint":["app/run"]}`, "app", true},
		"Script":     {"an extension cannot hide a file among the command's arguments", `{"Entrypoint":["/usr/bin/node"],"Cmd":["/srv2/index.js"]}`, "srv2", true},
		"WorkingDir": {"an extension cannot hide the working directory", `{"WorkingDir":"/work/x"}`, "work", true},
		"Other":      {"an extension may have a name that the command does not use as a path", `{"Entrypoint":["/function","docs"],"WorkingDir":"/"}`, "docs", false},
		"Odd":        {"a config with values of unexpected types is accepted", `{"Entrypoint":"/docs","WorkingDir":7}`, "docs", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			runtime := withConfig(t, runtimeFor(t, "linux/amd64"), `"config":`+tc.config)
			_, err := xpkg.Build(aPackage("Function", "fn"), []v1.Image{runtime}, xpkg.BuildOptions{Extensions: []xpkg.ExtensionLayer{extensionOf(tc.folder)}})
			e2e.Equal(t, tc.reason, tc.want, err != nil && strings.Contains(err.Error(), `extension folder "`+tc.folder))
		})
	}
}

// Annotate adds annotations to each image and the index, and keeps their other
// annotations. Attestations do not change.
func TestAnnotate(t *testing.T) {
	var images [2]v1.Image
	for i := range images {
		images[i], _ = mutate.Annotations(e2e.Must(random.Image(100, 1))(t), map[string]string{"a": "old", "b": "kept"}).(v1.Image)
	}
	idx := mutate.AppendManifests(empty.Index,
		mutate.IndexAddendum{Add: images[0], Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "arm", Variant: "v7"}}},
		mutate.IndexAddendum{Add: images[1], Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "unknown", Architecture: "unknown"}, Annotations: map[string]string{"x": "y"}}},
	)
	annotated := e2e.Must(xpkg.Annotate(idx, map[string]string{"a": "new", "c": ""}))(t).(v1.ImageIndex)
	m := e2e.Must(annotated.IndexManifest())(t)
	was := e2e.Must(idx.IndexManifest())(t)
	e2e.Equal(t, "the index has only the new annotations", map[string]string{"a": "new", "c": ""}, m.Annotations)
	if m.Manifests[0].Platform.Variant != "v7" || m.Manifests[0].Digest == was.Manifests[0].Digest {
		t.Errorf("the image's descriptor is %+v", m.Manifests[0])
	}
	e2e.Equal(t, "an attestation does not change", was.Manifests[1], m.Manifests[1])
	img := e2e.Must(annotated.Image(m.Manifests[0].Digest))(t)
	e2e.NoError(t, validate.Image(img))
	e2e.Equal(t, "an image has the new annotations and keeps the others", map[string]string{"a": "new", "b": "kept", "c": ""}, e2e.Must(img.Manifest())(t).Annotations)
	if same, err := xpkg.Annotate(idx, nil); err != nil || same != any(idx) {
		t.Errorf("without annotations: %v, %v", same, err)
	}
}
