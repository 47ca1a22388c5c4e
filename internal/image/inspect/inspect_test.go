package inspect_test

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	ggcr "github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/image/inspect"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/xpkg"
)

const metadata = `apiVersion: meta.pkg.crossplane.io/v1
kind: Function
metadata:
  name: fn
spec:
  crossplane: {version: ">=v2.0.0"}
  dependsOn:
  - {function: example.org/a, version: v1}
  - {apiVersion: pkg.crossplane.io/v1, kind: Provider, package: example.org/b, version: ">=v1"}
`

// packageOf builds a package of files on runtimes.
func packageOf(t *testing.T, files map[string]string, runtimes ...v1.Image) xpkg.Artifact {
	t.Helper()
	fsys := afero.NewMemMapFs()
	for name, text := range files {
		e2e.NoError(t, afero.WriteFile(fsys, "pkg/"+name, []byte(text), 0o600))
	}
	pkg := e2e.Must(xpkg.Read(t.Context(), fsys, "pkg", xpkg.ReadOptions{ExamplesRoot: "pkg/examples", ExamplesOptional: true, Lint: xpkg.Off}))(t)
	return e2e.Must(xpkg.Build(pkg, runtimes, xpkg.BuildOptions{}))(t)
}

// runtimeFor returns a runtime image for a platform, with its own layer.
func runtimeFor(t *testing.T, platform string) v1.Image {
	t.Helper()
	img := e2e.Must(random.Image(4096, 1))(t)
	p := e2e.Must(v1.ParsePlatform(platform))(t)
	c := e2e.Must(img.ConfigFile())(t)
	c = c.DeepCopy()
	c.OS, c.Architecture, c.Variant = p.OS, p.Architecture, p.Variant
	c.Config.Entrypoint = []string{"/fn"}
	img = e2e.Must(mutate.ConfigFile(img, c))(t)
	return img
}

// tarOf returns a tar with one file.
func tarOf(t *testing.T, name, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	e2e.NoError(t, w.WriteHeader(&tar.Header{Name: name, Size: int64(len(text)), Mode: 0o644}))
	e2e.Must(w.Write([]byte(text)))(t)
	e2e.NoError(t, w.Close())
	return b.Bytes()
}

// layered returns an image with one layer for each of marks. Each layer contains
// package.yaml.
func layered(t *testing.T, yaml string, marks ...string) v1.Image {
	t.Helper()
	img := empty.Image
	for i, mark := range marks {
		add := mutate.Addendum{Layer: static.NewLayer(tarOf(t, "package.yaml", yaml+strings.Repeat("#\n", i)), types.OCIUncompressedLayer)}
		if mark != "" {
			add.Annotations = map[string]string{xpkg.Annotation: mark}
		}
		var err error
		if img, err = mutate.Append(img, add); err != nil {
			t.Fatal(err)
		}
	}
	return img
}

func TestArtifact(t *testing.T) {
	a := packageOf(t, map[string]string{
		"crossplane.yaml":  metadata,
		"crd.yaml":         `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: inputs.example.org}, spec: {group: example.org, scope: Namespaced, names: {kind: Input, plural: inputs}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}`,
		"examples/xr.yaml": "{apiVersion: example.org/v1, kind: Example, metadata: {name: a}}",
	}, runtimeFor(t, "linux/arm64"), runtimeFor(t, "linux/amd64"))
	d := e2e.Must(inspect.Artifact(t.Context(), a, inspect.Options{}))(t)
	raw := e2e.Must(json.Marshal(d))(t)
	for _, want := range []string{
		`"kind":"Function"`, `"crossplane":"\u003e=v2.0.0"`,
		`"dependsOn":[{"kind":"Function","package":"example.org/a","version":"v1"},{"apiVersion":"pkg.crossplane.io/v1","kind":"Provider","package":"example.org/b","version":"\u003e=v1"}]`,
		`"defines":{"group":"example.org","kind":"Input","plural":"inputs","scope":"Namespaced","versions":[{"name":"v1","served":true,"storage":true}]}`,
		`"platform":"linux/arm64"`, `"mark":"upbound"`, `"entrypoint":["/fn"]`,
	} {
		if !bytes.Contains(raw, []byte(want)) {
			t.Errorf("%s is not in %s", want, raw)
		}
	}
	if len(d.Images) != 2 || len(d.Notes) != 0 || d.Images[0].PackageDigest != d.Package.Digest {
		t.Errorf("got %d images, notes %q", len(d.Images), d.Notes)
	}
	// d.Size is the size in a registry. A registry stores the layers that both images share
	// once.
	shared := d.Images[0].Layers[1].Size + d.Images[0].Layers[2].Size
	index, _ := a.Size()
	e2e.Equal(t, "a layer that both images share counts once", index+d.Images[0].Size+d.Images[1].Size-shared, d.Size)
}

// The layers of the runtime are not fetched, and package.yaml is fetched once.
func TestArtifactFetchesNoMore(t *testing.T) {
	requests := remotetest.Record(remotetest.Handler())
	ref := e2e.Must(name.ParseReference(remotetest.Serve(t, requests) + "/acme/fn:v1"))(t)
	a := packageOf(t, map[string]string{"crossplane.yaml": metadata}, runtimeFor(t, "linux/amd64"), runtimeFor(t, "linux/arm64"))
	e2e.NoError(t, ggcr.WriteIndex(ref, a.(v1.ImageIndex)))
	requests.Clear()
	d := e2e.Must(inspect.Artifact(t.Context(), e2e.Must(ggcr.Index(ref))(t), inspect.Options{}))(t)
	fetches := func(digest string) int { return len(requests.Find("^GET .*/blobs/" + digest)) }
	for _, img := range d.Images {
		e2e.Equal(t, fmt.Sprintf("fetches of the runtime of %s", img.Platform), 0, fetches(img.Layers[0].Digest))
	}
	e2e.Equal(t, "the base layer of several images is fetched once", 1, fetches(d.Images[0].Layers[1].Digest))
}

func TestArtifactNotes(t *testing.T) {
	other := strings.Replace(metadata, "name: fn", "name: other", 1)
	label := func(img v1.Image) v1.Image {
		m, _ := img.Manifest()
		c, _ := img.ConfigFile()
		c = c.DeepCopy()
		c.Config.Labels = map[string]string{xpkg.Annotation + ":" + m.Layers[0].Digest.String(): "base"}
		img, _ = mutate.ConfigFile(img, c)
		return img
	}
	on := func(img v1.Image, platform string) v1.Image {
		p, _ := v1.ParsePlatform(platform)
		c, _ := img.ConfigFile()
		c = c.DeepCopy()
		c.OS, c.Architecture = p.OS, p.Architecture
		img, _ = mutate.ConfigFile(img, c)
		return img
	}
	index := func(images ...v1.Image) v1.ImageIndex {
		idx := v1.ImageIndex(empty.Index)
		for _, img := range images {
			idx = mutate.AppendManifests(idx, mutate.IndexAddendum{Add: img})
		}
		return idx
	}
	cases := map[string]struct {
		reason string
		a      xpkg.Artifact
		search bool
		name   string // the package's name, or "" if there is no package
		note   string
	}{
		"TwoBases":      {"the first of several base layers is used", layered(t, metadata, "base", "base"), false, "fn", "has 2 base layers"},
		"Labelled":      {"a label marks the base layer if the annotation is lost", label(layered(t, metadata, "")), false, "fn", "only the labels of its config"},
		"Unmarked":      {"an image in a registry is not searched", layered(t, metadata, ""), false, "", ""},
		"UnmarkedFile":  {"a file is searched, as by the control plane", layered(t, metadata, ""), true, "fn", ""},
		"Plain":         {"a plain image is not an error", runtimeFor(t, "linux/amd64"), true, "", ""},
		"Differ":        {"the package.yaml of linux/amd64 is used", index(on(layered(t, other, "base"), "linux/arm64"), on(layered(t, metadata, "base"), "linux/amd64")), false, "fn", "contain different package.yaml files"},
		"NotForControl": {"an index without linux/amd64 has a note", index(on(layered(t, metadata, "base"), "linux/arm64"), on(layered(t, metadata, "base"), "linux/arm")), false, "fn", "the index has no image for linux/amd64"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := e2e.Must(inspect.Artifact(t.Context(), tc.a, inspect.Options{Search: tc.search}))(t)
			got := ""
			if d.Package != nil {
				got = d.Package.Name
			}
			e2e.Equal(t, tc.reason, tc.name, got)
			if tc.note == "" && len(d.Notes) > 0 || tc.note != "" && !slices.ContainsFunc(d.Notes, func(n string) bool { return strings.Contains(n, tc.note) }) {
				t.Errorf("%s: got notes %q, want %q", tc.reason, d.Notes, tc.note)
			}
		})
	}
}

func TestArtifactErrors(t *testing.T) {
	for text, want := range map[string]string{
		"a: [":                        "package.yaml",
		"apiVersion: v1\nkind: List":  "no object of meta.pkg.crossplane.io",
		metadata + "---\n" + metadata: "more than one metadata object",
	} {
		e2e.ErrorHas(t, fmt.Sprintf("package.yaml is %q", text), e2e.Err(inspect.Artifact(t.Context(), layered(t, text, "base"), inspect.Options{})), want)
	}
	e2e.Error(t, "an index without images is an error", e2e.Err(inspect.Artifact(t.Context(), empty.Index, inspect.Options{})))
}

func TestWriteLayer(t *testing.T) {
	img := layered(t, metadata, "", "base")
	m := e2e.Must(img.Manifest())(t)
	first, second := m.Layers[0].Digest, m.Layers[1].Digest
	for name, want := range map[string]string{
		first.String(): metadata, first.Hex[:8]: metadata, "sha256:" + first.Hex[:12]: metadata, "base": metadata + "#\n", second.Hex: metadata + "#\n",
	} {
		var b bytes.Buffer
		e2e.NoError(t, inspect.WriteLayer(t.Context(), &b, img, name))
		if !bytes.Equal(b.Bytes(), tarOf(t, "package.yaml", want)) {
			t.Errorf("%s is the digest of another layer", name)
		}
	}
	for _, name := range []string{"icons", "abcdef0", first.Hex[:3], ""} {
		e2e.Error(t, fmt.Sprintf("%q is the name of a layer", name), inspect.WriteLayer(t.Context(), &bytes.Buffer{}, img, name))
	}
	e2e.Equal(t, "an image without the layer has no examples", "the package has no examples", fmt.Sprint(e2e.Err(xpkg.Examples(t.Context(), img))))
	e2e.ErrorHas(t, "a mark of two layers selected one", inspect.WriteLayer(t.Context(), &bytes.Buffer{}, layered(t, metadata, "base", "base"), "base"), "several")
}

func TestExamples(t *testing.T) {
	a := packageOf(t, map[string]string{"crossplane.yaml": metadata, "examples/a.yaml": "kind: A"})
	got, err := xpkg.Examples(t.Context(), a.(v1.Image))
	if err != nil || !strings.HasPrefix(string(got), "kind: A\n") {
		t.Errorf("got %q, %v", got, err)
	}
	add := mutate.Addendum{Layer: static.NewLayer(tarOf(t, "other", ""), types.OCIUncompressedLayer), Annotations: map[string]string{xpkg.Annotation: "upbound"}}
	img := e2e.Must(mutate.Append(empty.Image, add))(t)
	e2e.ErrorHas(t, "a layer without the file of examples is an error", e2e.Err(xpkg.Examples(t.Context(), img)), "no .up/examples.yaml")
}

func describe(t *testing.T, a xpkg.Artifact) inspect.Description {
	t.Helper()
	return e2e.Must(inspect.Artifact(t.Context(), a, inspect.Options{Search: true}))(t)
}

func TestCompare(t *testing.T) {
	const composition = `{apiVersion: apiextensions.crossplane.io/v1, kind: Composition, metadata: {name: a}, spec: {compositeTypeRef: {apiVersion: a/v1, kind: A}, mode: Pipeline, pipeline: [{step: one, functionRef: {name: f}}, {step: two, functionRef: {name: f}}]}}`
	const xrd = `{apiVersion: apiextensions.crossplane.io/v2, kind: CompositeResourceDefinition, metadata: {name: as.example.org}, spec: {scope: Cluster, group: example.org, names: {kind: A, plural: as}, versions: [{name: v1, served: true, referenceable: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {a: {type: string}}}}}}}]}}`
	meta := strings.NewReplacer("kind: Function", "kind: Configuration").Replace(metadata)
	files := map[string]string{"crossplane.yaml": meta, "c.yaml": composition, "x.yaml": xrd}
	with := func(name, text string) xpkg.Artifact {
		changed := maps.Clone(files)
		if changed[name] = text; text == "" {
			delete(changed, name)
		}
		return packageOf(t, changed)
	}
	from := describe(t, packageOf(t, files))
	cases := map[string]struct {
		reason   string
		to       xpkg.Artifact
		breaking bool
		want     []string
	}{
		"Same":               {"equal packages do not differ", packageOf(t, files), false, nil},
		"Step":               {"elements of lists are identified by name", with("c.yaml", strings.Replace(composition, "{step: one,", "{step: zero, functionRef: {name: g}}, {step: one,", 1)), false, []string{"changed Composition a: added spec.pipeline[zero]"}},
		"CompositionRemoved": {"a removed Composition is breaking", with("c.yaml", ""), true, []string{"removed Composition a:"}},
		"CompositionAdded":   {"an added Composition is not breaking", with("d.yaml", strings.Replace(composition, "name: a}", "name: b}", 1)), false, []string{"added Composition b:"}},
		"FieldRemoved":       {"an incompatible schema is breaking", with("x.yaml", strings.Replace(xrd, "a: {type: string}", "", 1)), true, []string{"changed CompositeResourceDefinition as.example.org: changed spec.versions[v1].schema.openAPIV3Schema"}},
		"Dependency":         {"dependencies are identified by package", with("crossplane.yaml", strings.Replace(meta, "version: v1}", "version: v2}", 1)), false, []string{"changed spec.dependsOn[example.org/a].version"}},
		"Constraint":         {"another Crossplane version is a change", with("crossplane.yaml", strings.Replace(meta, "v2.0.0", "v2.1.0", 1)), false, []string{"changed spec.crossplane.version"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := inspect.Compare(from, describe(t, tc.to))
			var got []string
			for _, f := range d.Metadata {
				got = append(got, f.Change+" "+f.Path)
			}
			for _, o := range d.Objects {
				text := o.Change + " " + o.Kind + " " + o.Name + ":"
				for _, f := range o.Fields {
					text += " " + f.Change + " " + f.Path
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || d.Breaking != tc.breaking {
				t.Errorf("%s: breaking %t, want %t (-want +got):\n%s", tc.reason, d.Breaking, tc.breaking, diff)
			}
			e2e.Equal(t, tc.reason, len(tc.want) > 0, d.Changed)
		})
	}
}

func TestCompareImages(t *testing.T) {
	files := map[string]string{"crossplane.yaml": metadata}
	amd, arm := runtimeFor(t, "linux/amd64"), runtimeFor(t, "linux/arm64")
	both, one := describe(t, packageOf(t, files, amd, arm)), describe(t, packageOf(t, files, amd))
	d := inspect.Compare(both, one)
	if len(d.Images) != 1 || d.Images[0].Change != inspect.Removed || d.Images[0].Platform != "linux/arm64" || !d.Breaking {
		t.Errorf("a removed platform: got %+v", d.Images)
	}
	d = inspect.Compare(one, both)
	if len(d.Images) != 1 || d.Images[0].Change != inspect.Added || d.Breaking {
		t.Errorf("an added platform: got %+v", d.Images)
	}
	d = inspect.Compare(one, describe(t, packageOf(t, files, runtimeFor(t, "linux/amd64"))))
	if len(d.Images) != 1 || d.Images[0].Same != 1 || len(d.Images[0].Layers) != 2 || d.Breaking {
		t.Errorf("a changed layer: got %+v", d.Images)
	}
	if d.Images[0].Layers[0].Change != inspect.Removed || d.Images[0].Layers[1].Change != inspect.Added {
		t.Errorf("got layers %+v", d.Images[0].Layers)
	}
}

// Artifact describes any package.yaml or returns an error. Compare finds no difference
// between a description and itself.
func FuzzPackageYAML(f *testing.F) {
	f.Add([]byte(metadata))
	f.Add([]byte("apiVersion: meta.pkg.crossplane.io/v1\nkind: 3\nmetadata: []\nspec: {dependsOn: [1, {provider: {}}], capabilities: {}}\n---\n{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {versions: [1]}}\n"))
	f.Fuzz(func(t *testing.T, yaml []byte) {
		d, err := inspect.Artifact(t.Context(), layered(t, string(yaml), "base"), inspect.Options{})
		if err != nil {
			return
		}
		if diff := inspect.Compare(d, d); diff.Changed || diff.Breaking {
			t.Errorf("a package differs from itself: %+v", diff)
		}
		empty := inspect.Description{Package: &inspect.Package{}}
		if diff := inspect.Compare(empty, d); !diff.Changed {
			t.Error("a package does not differ from an empty one")
		}
	})
}
