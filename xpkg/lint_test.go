package xpkg_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/xpkg"
)

func lint(t *testing.T, a xpkg.Artifact) xpkg.Report {
	t.Helper()
	return e2e.Must(xpkg.Lint(t.Context(), a, nil))(t)
}

// changed returns img with the parts that change modified.
func changed(t *testing.T, img v1.Image, change func(*oci.Parts)) v1.Image {
	t.Helper()
	p := e2e.Must(oci.PartsOf(img))(t)
	p.Descriptors, p.Layers = slices.Clone(p.Descriptors), slices.Clone(p.Layers)
	change(&p)
	img = e2e.Must(oci.Assemble(p.Config, p.Descriptors, p.Layers...))(t)
	return img
}

// reindexed returns idx with the manifest that change modified.
func reindexed(t *testing.T, idx v1.ImageIndex, change func(*v1.IndexManifest)) v1.ImageIndex {
	t.Helper()
	m := e2e.Must(idx.IndexManifest())(t)
	var children []oci.Artifact
	for _, d := range m.Manifests {
		children = append(children, e2e.Must(oci.Child(idx, d))(t))
	}
	change(m)
	idx = e2e.Must(oci.Index(e2e.Must(json.Marshal(m))(t), children...))(t)
	return idx
}

func TestLintGood(t *testing.T) {
	fn, cfg := aPackage("Function", "fn"), aPackage("Configuration", "cfg")
	cfg.Examples = []byte("kind: A\n")
	cases := map[string]struct {
		reason string
		a      xpkg.Artifact
		want   xpkg.Report
	}{
		"Alone":  {"a package without a runtime has the platform linux/amd64", build(t, cfg), xpkg.Report{Examples: 1, Platforms: []string{"linux/amd64"}, Layers: 2}},
		"One":    {"a package with one runtime has its platform", build(t, fn, "linux/arm64"), xpkg.Report{Platforms: []string{"linux/arm64"}, Layers: 3, Runtime: true}},
		"Some":   {"images of several platforms may share a base layer", build(t, fn, "linux/amd64", "linux/arm64/v8"), xpkg.Report{Platforms: []string{"linux/amd64", "linux/arm64/v8"}, Layers: 5, Runtime: true}},
		"Older":  {"a package without a platform is valid", noPlatform(t, build(t, cfg).(v1.Image)), xpkg.Report{Examples: 1, Platforms: []string{""}, Layers: 2}},
		"Pulled": {"a package without annotations is found by its files", plain(t, build(t, cfg).(v1.Image)), xpkg.Report{Platforms: []string{"linux/amd64"}, Layers: 2}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := lint(t, tc.a)
			if got.Meta.Kind == "" || got.Meta.Path != "package.yaml" {
				t.Errorf("metadata: got %+v", got.Meta)
			}
			if name == "Pulled" { // Lint reports that the labels differ from the missing annotations.
				got.Problems = nil
			}
			got.Meta = xpkg.Object{}
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
}

func TestLintFinds(t *testing.T) {
	fn, cfg := aPackage("Function", "fn"), aPackage("Configuration", "cfg")
	img := build(t, fn, "linux/amd64").(v1.Image)
	two := build(t, fn, "linux/amd64", "linux/arm64").(v1.ImageIndex)
	wrong := func(kind, text string) *xpkg.Package {
		pkg := aPackage(kind, "p")
		pkg.YAML = []byte(text)
		return pkg
	}
	text := strings.Repeat("no tar", 1000)
	notTar := e2e.Must(imageOf(strings.NewReader(text), hashOf(t, text), int64(len(text))))(t)
	changedBytes := func(p *oci.Parts) {
		d := p.Descriptors[0]
		l := e2e.Must(oci.Layer(bytes.NewReader(bytes.Repeat([]byte{0}, int(d.Size))), oci.Blob{Digest: d.Digest, Size: d.Size, MediaType: d.MediaType}))(t)
		p.Layers[0] = l
	}
	cases := map[string]struct {
		reason string
		a      xpkg.Artifact
		// want are names of rules; "!" marks a refused problem.
		want []string
	}{
		"Digest": {"a layer with another digest than its manifest is refused", changed(t, img, changedBytes), []string{"digest!"}},
		"DiffID": {"a layer with another diff ID than its config is reported", changed(t, img, func(p *oci.Parts) {
			p.Config = bytes.Replace(p.Config, []byte(configOf(t, img).RootFS.DiffIDs[0].Hex), []byte(strings.Repeat("0", 64)), 1)
		}), []string{"diff-id"}},
		"Order":      {"layers in another order than their diff IDs are reported", changed(t, img, func(p *oci.Parts) { p.Descriptors[0], p.Descriptors[1] = p.Descriptors[1], p.Descriptors[0] }), []string{"diff-id", "diff-id"}},
		"Labels":     {"labels without annotations are reported", plain(t, img), []string{"layer-mark"}},
		"OtherLabel": {"an annotation that differs from its label is reported", changed(t, img, func(p *oci.Parts) { p.Descriptors[2].Annotations = map[string]string{xpkg.Annotation: "upbound"} }), []string{"layer-mark"}},
		"TwoBase": {"two base layers are reported", changed(t, img, func(p *oci.Parts) {
			p.Descriptors[1].Annotations = map[string]string{xpkg.Annotation: "base"}
		}), []string{"base-layer", "package-yaml!"}},
		"NoPackage": {"an image without package.yaml is refused", runtimeFor(t, "linux/amd64"), []string{"package-yaml!"}},
		"Differs": {"images with different package.yaml files are refused", must(t, func() (xpkg.Artifact, error) {
			return joined(t, two, build(t, wrong("Function", string(fn.YAML)+"\n"), "linux/s390x"))
		}), []string{"package-yaml!"}},
		"Rules":      {"the rules for metadata apply to a built package", build(t, wrong("Function", "---\napiVersion: meta.pkg.crossplane.io/v1\nkind: Function\nspec: {crossplane: {}}\n---\n"), "linux/amd64"), []string{"crossplane-version!", "metadata-name"}},
		"TwoMeta":    {"two metadata objects are refused", build(t, wrong("Function", string(fn.YAML)+string(fn.YAML)), "linux/amd64"), []string{"metadata-count!"}},
		"Kind":       {"a kind that packages cannot contain is refused", build(t, wrong("Function", string(fn.YAML)+"apiVersion: v1\nkind: Secret\n---\n"), "linux/amd64"), []string{"unknown-kind!"}},
		"NotYAML":    {"a package.yaml that is not YAML is refused", build(t, wrong("Function", "a: ]\n"), "linux/amd64"), []string{"syntax!"}},
		"Example":    {"the rules for examples apply to a built package", build(t, withExamples(aPackage("Function", "p"), "a: 1\n")), []string{"object-type!"}},
		"NoTar":      {"a layer that is not a tar is reported", notTar, []string{"diff-id", "layer", "package-yaml!"}},
		"Runtime":    {"a Configuration with a runtime is reported", build(t, cfg, "linux/amd64"), []string{"runtime"}},
		"Windows":    {"a runtime only for windows is reported", build(t, fn, "windows/amd64"), []string{"runtime"}},
		"NoAMD64":    {"an index without linux/amd64 is refused", build(t, fn, "linux/arm64", "linux/s390x"), []string{"platform!"}},
		"NoIndex":    {"a single image may be for any linux platform", build(t, fn, "linux/s390x"), nil},
		"Platform":   {"an index with another platform than the config is reported", reindexed(t, two, func(m *v1.IndexManifest) { m.Manifests[1].Platform.Architecture = "riscv64" }), []string{"platform"}},
		"NoPlatform": {"an index entry without a platform is reported", reindexed(t, two, func(m *v1.IndexManifest) { m.Manifests[1].Platform = nil }), []string{"platform"}},
		"Variant":    {"an index entry may omit the variant", reindexed(t, build(t, fn, "linux/amd64", "linux/arm64/v8").(v1.ImageIndex), func(m *v1.IndexManifest) { m.Manifests[1].Platform.Variant = "" }), nil},
		"Twice":      {"a platform that occurs twice is reported", reindexed(t, two, func(m *v1.IndexManifest) { m.Manifests = append(m.Manifests, m.Manifests[0]) }), []string{"platform"}},
		"Empty":      {"an index without images is refused", reindexed(t, two, func(m *v1.IndexManifest) { m.Manifests = nil }), []string{"platform!"}},
		"Unpullable": {"an image without a platform in an index is reported", must(t, func() (xpkg.Artifact, error) { return joined(t, two, noPlatform(t, img)) }), []string{"platform"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			report := lint(t, tc.a)
			var got []string
			for _, p := range report.Problems {
				rule := p.Rule
				if p.Refused {
					rule += "!"
				}
				got = append(got, rule)
			}
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
}

func noPlatform(t *testing.T, img v1.Image) v1.Image {
	t.Helper()
	return changed(t, img, func(p *oci.Parts) {
		p.Config = bytes.Replace(p.Config, []byte(`"architecture":"amd64"`), []byte(`"architecture":""`), 1)
	})
}

func withExamples(pkg *xpkg.Package, text string) *xpkg.Package {
	pkg.Examples = []byte(text)
	return pkg
}

func must(t *testing.T, make func() (xpkg.Artifact, error)) xpkg.Artifact {
	t.Helper()
	return e2e.Must(make())(t)
}

// joined returns idx with img appended.
func joined(t *testing.T, idx v1.ImageIndex, img xpkg.Artifact) (xpkg.Artifact, error) {
	t.Helper()
	m, err := idx.IndexManifest()
	if err != nil {
		return nil, err
	}
	var children []oci.Artifact
	for _, d := range m.Manifests {
		c, err := oci.Child(idx, d)
		if err != nil {
			return nil, err
		}
		children = append(children, c)
	}
	desc, err := oci.Describe(img)
	if err != nil {
		return nil, err
	}
	config := configOf(t, img.(v1.Image))
	desc.Platform = &v1.Platform{OS: config.OS, Architecture: config.Architecture}
	m.Manifests = append(m.Manifests, desc)
	raw, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	return oci.Index(raw, append(children, img)...)
}

func hashOf(t *testing.T, text string) v1.Hash {
	t.Helper()
	h, _, err := v1.SHA256(strings.NewReader(text))
	e2e.NoError(t, err)
	return h
}

// Lint returns read errors and cancellations as errors, not as problems.
func TestLintStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	a := build(t, aPackage("Function", "fn"), "linux/amd64")
	e2e.ErrorIs(t, "Lint returns the cause of its context", e2e.Err(xpkg.Lint(ctx, a, func(string, int64, int64) { cancel() })), context.Canceled)
	broken := changed(t, a.(v1.Image), func(p *oci.Parts) {
		p.Layers[0] = e2e.Must(oci.Layer(unreadable{}, oci.Blob{Digest: p.Descriptors[0].Digest, Size: p.Descriptors[0].Size}))(t)
	})
	e2e.ErrorIs(t, "an error of reading a layer is not a problem", e2e.Err(xpkg.Lint(t.Context(), broken, nil)), errUnreadable)
}

type diskError struct{}

func (diskError) Error() string   { return "disk trouble" }
func (diskError) Temporary() bool { return false }

var errUnreadable error = diskError{}

type unreadable struct{}

func (unreadable) ReadAt([]byte, int64) (int, error) { return 0, errUnreadable }

// The last progress report has all bytes as done.
func TestLintProgress(t *testing.T) {
	var done, total int64
	e2e.Must(xpkg.Lint(t.Context(), build(t, aPackage("Function", "fn"), "linux/amd64", "linux/arm64"), func(_ string, d, t int64) { done, total = d, t }))(t)
	if total == 0 || done != total {
		t.Errorf("the last report has %d of %d bytes", done, total)
	}
}
