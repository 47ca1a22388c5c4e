package e2e_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

// packageFiles are inputs of packages, by path.
var packageFiles = map[string]string{
	"configuration/crossplane.yaml": metadata("Configuration", "conf"),
	"provider/crossplane.yaml":      metadata("Provider", "prov"),
	"provider/crds/crd.yaml":        crd,
	"function/crossplane.yaml":      metadata("Function", "fn"),
	"function/input.yaml":           crd,
	"samples/a.yaml":                "apiVersion: example.org/v1\nkind: Thing\nmetadata:\n  name: a\n",
	"samples/b/c.yaml":              "apiVersion: example.org/v1\nkind: Thing\nmetadata:\n  name: c\n",
	"extensions/icons/icon.svg":     "<svg xmlns=\"http://www.w3.org/2000/svg\"/>\n",
	"extensions/readme/readme.md":   "# A package\n",
	"src/go.mod":                    "module fn\n\ngo 1.21\n",
	"src/main.go":                   "package main\n\nfunc main() { println(\"hello\") }\n",
}

func metadata(kind, name string) string {
	return "apiVersion: meta.pkg.crossplane.io/v1\nkind: " + kind + "\nmetadata:\n  name: " + name +
		"\n  annotations:\n    meta.crossplane.io/source: https://example.org/" + name + "\n"
}

const crd = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: inputs.fn.example.org
spec:
  group: fn.example.org
  names: {kind: Input, plural: inputs}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema: {type: object}
`

// A builtPackage is a file that `xfn xpkg build` wrote.
type builtPackage struct {
	reason string
	args   []string
	// marks are the values of each layer's annotation io.crossplane.xpkg, "" for
	// layers of a runtime.
	marks     []string
	platforms int
}

// builtPackages has one package of each kind.
var builtPackages = map[string]builtPackage{
	"configuration": {
		"a configuration has only the base layer",
		[]string{"-f", "configuration"},
		[]string{"base"},
		1,
	},
	"extended": {
		"examples and extensions have layers of their own",
		[]string{"-f", "configuration", "-e", "samples", "--extensions-root", "extensions"},
		[]string{"icons", "readme", "base", "upbound"},
		1,
	},
	"provider": {
		"a provider can have no runtime layers",
		[]string{"-f", "provider", "-e", "samples"},
		[]string{"base", "upbound"},
		1,
	},
	"tarball": {
		"a package.yaml in a runtime layer is not the package's",
		[]string{"-f", "function", "--embed-runtime-image-tarball", "runtime.tar", "--extensions-root", "extensions"},
		[]string{"", "", "icons", "readme", "base"},
		1,
	},
	"source": {
		"several platforms are stored as an index",
		[]string{"-f", "function", "-e", "samples", "--extensions-root", "extensions", "--embed-runtime-source", "src", "--platform", "linux/amd64,linux/arm64"},
		[]string{"", "", "icons", "readme", "base", "upbound"},
		2,
	},
}

// writeInputs writes packageFiles and runtime.tar into a new directory.
func writeInputs(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range packageFiles {
		e2e.NoError(t, errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755), os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)))
	}
	var layers []v1.Layer
	for _, files := range []map[string][]byte{{"package.yaml": []byte("kind: Other\n")}, {"app/package.yaml": []byte("kind: Another\n"), "function": {0}}} {
		l := e2e.Must(remotetest.Layer(files))(t)
		layers = append(layers, l)
	}
	img := remotetest.Image(t, v1.Config{Entrypoint: []string{"/function"}}, layers...)
	e2e.NoError(t, tarball.WriteToFile(filepath.Join(dir, "runtime.tar"), nil, img))
	return dir
}

// buildPackage builds a package of writeInputs into a file.
func buildPackage(t *testing.T, dir, name string, b builtPackage) string {
	t.Helper()
	file := filepath.Join(dir, name+".xpkg")
	cmd := e2e.Command(t, append([]string{"xpkg", "build", "-o", file, "-a", "org.example.note=one, two"}, b.args...)...)
	cmd.Dir = dir
	e2e.Output(t, cmd)
	return file
}

// TestPackageFilesAreImages: package files can be read as Docker archives (by manifest.json
// alone) and as OCI layouts. In both, the rules of Crossplane find the same package.yaml.
func TestPackageFilesAreImages(t *testing.T) {
	t.Parallel()
	dir := writeInputs(t)
	for name, tc := range builtPackages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := buildPackage(t, dir, name, tc)
			images := layoutImages(t, e2e.Untar(t, file))
			if len(images) != tc.platforms {
				t.Fatalf("%s: got %d images", tc.reason, len(images))
			}
			want := core(t, images[0])
			for _, line := range []string{"\nkind: ", "\n  name: ", "\n    meta.crossplane.io/source: https://example.org/"} {
				e2e.Has(t, tc.reason+": unexpected package.yaml", string(want), line)
			}
			docker := e2e.Must(tarball.ImageFromPath(file, nil))(t)
			for i, img := range append(images, docker, annotatedByLabels(t, docker)) {
				e2e.WantError(t, fmt.Sprintf("%s: image %d", tc.reason, i), validate.Image(img), "")
				for rule, read := range rules {
					if got := read(t, img); !bytes.Equal(got, want) {
						t.Errorf("%s: image %d: %s found %q, want %q", tc.reason, i, rule, got, want)
					}
				}
			}
			for _, img := range append(images, annotatedByLabels(t, docker)) {
				e2e.Equal(t, tc.reason, tc.marks, marks(t, img))
			}
		})
	}
}

// rules are the rules by which Crossplane finds package.yaml.
var rules = map[string]func(*testing.T, v1.Image) []byte{
	"core": core,
	// If a tool has dropped the annotations, Crossplane searches the file system of
	// all layers.
	"core, without annotations": func(t *testing.T, img v1.Image) []byte {
		return find(t, mutate.Extract(img), func(name string) bool { return path.Base(name) == "package.yaml" })
	},
	"extract": func(t *testing.T, img v1.Image) []byte {
		return find(t, mutate.Extract(img), func(name string) bool { return name == "package.yaml" })
	},
}

// core finds package.yaml as Crossplane does: in the first layer that is
// annotated as the base, else in the file system of all layers.
func core(t *testing.T, img v1.Image) []byte {
	t.Helper()
	isPackage := func(name string) bool { return path.Base(name) == "package.yaml" }
	i := slices.Index(marks(t, img), "base")
	if i < 0 {
		return find(t, mutate.Extract(img), isPackage)
	}
	layers := e2e.Must(img.Layers())(t)
	rc := e2e.Must(layers[i].Uncompressed())(t)
	return find(t, rc, isPackage)
}

// find returns the first file of a tar whose name matches.
func find(t *testing.T, rc io.ReadCloser, match func(string) bool) []byte {
	t.Helper()
	for h, data := range e2e.Tar(t, rc) {
		if match(h.Name) {
			return []byte(data)
		}
	}
	t.Error("there is no package.yaml")
	return nil
}

func marks(t *testing.T, img v1.Image) []string {
	t.Helper()
	m := e2e.Must(img.Manifest())(t)
	var all []string
	for _, l := range m.Layers {
		all = append(all, l.Annotations["io.crossplane.xpkg"])
	}
	return all
}

// annotatedByLabels returns the image that the crossplane CLI pushes: each
// layer has the annotation that the config's label with its digest names.
func annotatedByLabels(t *testing.T, img v1.Image) v1.Image {
	t.Helper()
	config := e2e.Must(img.ConfigFile())(t)
	layers := e2e.Must(img.Layers())(t)
	var all []mutate.Addendum
	for _, l := range layers {
		digest := e2e.Must(l.Digest())(t)
		add := mutate.Addendum{Layer: l}
		if mark := config.Config.Labels["io.crossplane.xpkg:"+digest.String()]; mark != "" {
			add.Annotations = map[string]string{"io.crossplane.xpkg": mark}
		}
		all = append(all, add)
	}
	bare := config.DeepCopy()
	bare.RootFS.DiffIDs, bare.History = nil, nil
	empty, err := mutate.ConfigFile(remotetest.Image(t, v1.Config{}), bare)
	e2e.NoError(t, err)
	if img, err = mutate.Append(empty, all...); err != nil {
		t.Fatal(err)
	}
	return img
}

// layoutImages returns the images of an OCI layout with one image or one index.
func layoutImages(t *testing.T, dir string) []v1.Image {
	t.Helper()
	all := e2e.Must(layout.ImageIndexFromPath(dir))(t)
	e2e.NoError(t, validate.Index(all))
	m, err := all.IndexManifest()
	if err != nil || len(m.Manifests) != 1 {
		t.Fatalf("got %d entries, %v, want one", len(m.Manifests), err)
	}
	if m.Manifests[0].MediaType.IsImage() {
		img := e2e.Must(all.Image(m.Manifests[0].Digest))(t)
		return []v1.Image{img}
	}
	idx := e2e.Must(all.ImageIndex(m.Manifests[0].Digest))(t)
	return indexImages(t, idx)
}

func indexImages(t *testing.T, idx v1.ImageIndex) []v1.Image {
	t.Helper()
	m := e2e.Must(idx.IndexManifest())(t)
	var images []v1.Image
	for _, d := range m.Manifests {
		img := e2e.Must(idx.Image(d.Digest))(t)
		images = append(images, img)
	}
	return images
}
