package xpkg_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/xpkg"
)

func lint(t *testing.T, a xpkg.Artifact) xpkg.Report {
	t.Helper()
	report, err := xpkg.Lint(t.Context(), a, nil)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// changed returns an image after a change of its parts.
func changed(t *testing.T, img v1.Image, change func(*oci.Parts)) v1.Image {
	t.Helper()
	p, err := oci.PartsOf(img)
	if err != nil {
		t.Fatal(err)
	}
	p.Descriptors, p.Layers = slices.Clone(p.Descriptors), slices.Clone(p.Layers)
	change(&p)
	if img, err = oci.Assemble(p.Config, p.Descriptors, p.Layers...); err != nil {
		t.Fatal(err)
	}
	return img
}

// reindexed returns an index after a change of its manifest.
func reindexed(t *testing.T, idx v1.ImageIndex, change func(*v1.IndexManifest)) v1.ImageIndex {
	t.Helper()
	m, err := idx.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var children []oci.Artifact
	for _, d := range m.Manifests {
		c, err := oci.Child(idx, d)
		if err != nil {
			t.Fatal(err)
		}
		children = append(children, c)
	}
	change(m)
	raw, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if idx, err = oci.Index(raw, children...); err != nil {
		t.Fatal(err)
	}
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
		"Alone":  {"a package alone is for any platform, which it says", build(t, cfg), xpkg.Report{Examples: 1, Platforms: []string{"linux/amd64"}, Layers: 2}},
		"One":    {"a function for one", build(t, fn, "linux/arm64"), xpkg.Report{Platforms: []string{"linux/arm64"}, Layers: 3, Runtime: true}},
		"Some":   {"or some; the base layer is the same, and read once", build(t, fn, "linux/amd64", "linux/arm64/v8"), xpkg.Report{Platforms: []string{"linux/amd64", "linux/arm64/v8"}, Layers: 5, Runtime: true}},
		"Older":  {"packages of other tools may say no platform", noPlatform(t, build(t, cfg).(v1.Image)), xpkg.Report{Examples: 1, Platforms: []string{""}, Layers: 2}},
		"Pulled": {"nor have marks: the files count", plain(t, build(t, cfg).(v1.Image)), xpkg.Report{Platforms: []string{"linux/amd64"}, Layers: 2}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := lint(t, tc.a)
			if got.Meta.Kind == "" || got.Meta.Path != "package.yaml" {
				t.Errorf("metadata: got %+v", got.Meta)
			}
			if name == "Pulled" { // Its labels say what got lost.
				got.Problems = nil
			}
			got.Meta = xpkg.Object{}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
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
	notTar, err := imageOf(strings.NewReader(text), hashOf(t, text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	changedBytes := func(p *oci.Parts) {
		d := p.Descriptors[0]
		l, err := oci.Layer(bytes.NewReader(bytes.Repeat([]byte{0}, int(d.Size))), oci.Blob{Digest: d.Digest, Size: d.Size, MediaType: d.MediaType})
		if err != nil {
			t.Fatal(err)
		}
		p.Layers[0] = l
	}
	cases := map[string]struct {
		reason string
		a      xpkg.Artifact
		// want are rules, with "!" if they are refused.
		want []string
	}{
		"Digest": {"a layer has its digest", changed(t, img, changedBytes), []string{"digest!"}},
		"DiffID": {"and its diff ID", changed(t, img, func(p *oci.Parts) {
			p.Config = bytes.Replace(p.Config, []byte(configOf(t, img).RootFS.DiffIDs[0].Hex), []byte(strings.Repeat("0", 64)), 1)
		}), []string{"diff-id"}},
		"Order":      {"in the order of the layers", changed(t, img, func(p *oci.Parts) { p.Descriptors[0], p.Descriptors[1] = p.Descriptors[1], p.Descriptors[0] }), []string{"diff-id", "diff-id"}},
		"Labels":     {"annotations get lost on the way", plain(t, img), []string{"layer-mark"}},
		"OtherLabel": {"or differ", changed(t, img, func(p *oci.Parts) { p.Descriptors[2].Annotations = map[string]string{xpkg.Annotation: "upbound"} }), []string{"layer-mark"}},
		"TwoBase": {"two base layers hide one", changed(t, img, func(p *oci.Parts) {
			p.Descriptors[1].Annotations = map[string]string{xpkg.Annotation: "base"}
		}), []string{"base-layer", "package-yaml!"}},
		"NoPackage": {"a package has a package.yaml", runtimeFor(t, "linux/amd64"), []string{"package-yaml!"}},
		"Differs": {"the same for all", must(t, func() (xpkg.Artifact, error) {
			return joined(t, two, build(t, wrong("Function", string(fn.YAML)+"\n"), "linux/s390x"))
		}), []string{"package-yaml!"}},
		"Rules":      {"that all rules judge", build(t, wrong("Function", "---\napiVersion: meta.pkg.crossplane.io/v1\nkind: Function\nspec: {crossplane: {}}\n---\n"), "linux/amd64"), []string{"crossplane-version!", "metadata-name"}},
		"TwoMeta":    {"with one metadata object", build(t, wrong("Function", string(fn.YAML)+string(fn.YAML)), "linux/amd64"), []string{"metadata-count!"}},
		"Kind":       {"of kinds that may be there", build(t, wrong("Function", string(fn.YAML)+"apiVersion: v1\nkind: Secret\n---\n"), "linux/amd64"), []string{"unknown-kind!"}},
		"NotYAML":    {"in YAML", build(t, wrong("Function", "a: ]\n"), "linux/amd64"), []string{"syntax!"}},
		"Example":    {"examples are judged, too", build(t, withExamples(aPackage("Function", "p"), "a: 1\n")), []string{"object-type!"}},
		"NoTar":      {"a layer is a tar", notTar, []string{"diff-id", "layer", "package-yaml!"}},
		"Runtime":    {"nothing runs a Configuration", build(t, cfg, "linux/amd64"), []string{"runtime"}},
		"Windows":    {"a cluster runs functions on linux", build(t, fn, "windows/amd64"), []string{"runtime"}},
		"NoAMD64":    {"the control plane asks an index for linux/amd64", build(t, fn, "linux/arm64", "linux/s390x"), []string{"platform!"}},
		"NoIndex":    {"but takes an image as it is", build(t, fn, "linux/s390x"), nil},
		"Platform":   {"an index says of its images what they say", reindexed(t, two, func(m *v1.IndexManifest) { m.Manifests[1].Platform.Architecture = "riscv64" }), []string{"platform"}},
		"NoPlatform": {"or nobody finds them", reindexed(t, two, func(m *v1.IndexManifest) { m.Manifests[1].Platform = nil }), []string{"platform"}},
		"Variant":    {"it may leave out the variant", reindexed(t, build(t, fn, "linux/amd64", "linux/arm64/v8").(v1.ImageIndex), func(m *v1.IndexManifest) { m.Manifests[1].Platform.Variant = "" }), nil},
		"Twice":      {"one platform is there once", reindexed(t, two, func(m *v1.IndexManifest) { m.Manifests = append(m.Manifests, m.Manifests[0]) }), []string{"platform"}},
		"Empty":      {"an index holds something", reindexed(t, two, func(m *v1.IndexManifest) { m.Manifests = nil }), []string{"platform!"}},
		"Unpullable": {"an image of an index has a platform", must(t, func() (xpkg.Artifact, error) { return joined(t, two, noPlatform(t, img)) }), []string{"platform"}},
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
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s%v", tc.reason, diff, report.Problems)
			}
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
	a, err := make()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// joined returns idx with one more image.
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
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// What cannot be read is no fault of the package.
func TestLintStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	a := build(t, aPackage("Function", "fn"), "linux/amd64")
	_, err := xpkg.Lint(ctx, a, func(string, int64, int64) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	broken := changed(t, a.(v1.Image), func(p *oci.Parts) {
		l, err := oci.Layer(unreadable{}, oci.Blob{Digest: p.Descriptors[0].Digest, Size: p.Descriptors[0].Size})
		if err != nil {
			t.Fatal(err)
		}
		p.Layers[0] = l
	})
	if _, err := xpkg.Lint(t.Context(), broken, nil); !errors.Is(err, errUnreadable) {
		t.Errorf("got %v, want %v", err, errUnreadable)
	}
}

type diskError struct{}

func (diskError) Error() string   { return "disk trouble" }
func (diskError) Temporary() bool { return false }

var errUnreadable error = diskError{}

type unreadable struct{}

func (unreadable) ReadAt([]byte, int64) (int, error) { return 0, errUnreadable }

// Progress ends where all bytes are read.
func TestLintProgress(t *testing.T) {
	var done, total int64
	if _, err := xpkg.Lint(t.Context(), build(t, aPackage("Function", "fn"), "linux/amd64", "linux/arm64"), func(_ string, d, t int64) { done, total = d, t }); err != nil {
		t.Fatal(err)
	}
	if total == 0 || done != total {
		t.Errorf("ends at %d of %d bytes", done, total)
	}
}
