package inspect_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	ggcr "github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/image/inspect"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/push"
	"github.com/xfn-dev/xfn/xpkg"
)

// meta returns package metadata with dependencies.
func meta(kind string, dependsOn ...string) string {
	return "{apiVersion: meta.pkg.crossplane.io/v1, kind: " + kind + ", metadata: {name: a}, spec: {dependsOn: [" + strings.Join(dependsOn, ", ") + "]}}"
}

// crdText returns a CRD with a plural name.
func crdText(plural string) string {
	return `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: ` + plural + `.example.org}, spec: {group: example.org, scope: Cluster, names: {kind: A, plural: ` + plural + `}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}`
}

// publish pushes a package of documents.
func publish(t *testing.T, host, at string, docs ...string) {
	t.Helper()
	fsys := afero.NewMemMapFs()
	e2e.NoError(t, afero.WriteFile(fsys, "pkg/all.yaml", []byte(strings.Join(docs, "\n---\n")), 0o600))
	pkg := e2e.Must(xpkg.Read(t.Context(), fsys, "pkg", xpkg.ReadOptions{Lint: xpkg.Off}))(t)
	a := e2e.Must(xpkg.Build(pkg, nil, xpkg.BuildOptions{}))(t)
	e2e.Must(push.Artifact(t.Context(), e2e.Must(remote.ParseTag(at, host))(t), a, push.Options{}))(t)
}

func TestCollectCRDs(t *testing.T) {
	host := remotetest.Serve(t, remotetest.Handler())
	publish(t, host, "acme/family:v1.0.0", meta("Provider"), crdText("families"))
	publish(t, host, "acme/provider:v1.0.0", meta("Provider"), crdText("olds"))
	publish(t, host, "acme/provider:v1.1.0", meta("Provider", `{provider: acme/family, version: "*"}`), crdText("news"))
	publish(t, host, "acme/provider:v1.2.0-rc.1", meta("Provider"), crdText("candidates"))
	publish(t, host, "acme/provider:edge", meta("Provider"), crdText("edges"))
	// Two Configurations depend on each other.
	publish(t, host, "acme/conf:v1.0.0", meta("Configuration", `{configuration: acme/ring, version: v1.0.0}`, `{provider: acme/provider, version: ">=v1.0.0"}`))
	publish(t, host, "acme/ring:v1.0.0", meta("Configuration", `{configuration: acme/conf, version: v1.0.0}`))
	cases := map[string]struct {
		reason string
		follow inspect.Follow
		yaml   string
		want   []string
		err    string
	}{
		"Constraint":    {"the highest version without a prerelease is used", "", meta("Function", `{provider: acme/provider, version: ">=v1.0.0"}`), []string{"news.example.org"}, ""},
		"Exact":         {"a version may be a tag", "", meta("Function", `{provider: acme/provider, version: v1.0.0}`), []string{"olds.example.org"}, ""},
		"Ring":          {"Configurations are followed once", "", "{apiVersion: pkg.crossplane.io/v1, kind: Configuration, spec: {package: acme/conf:v1.0.0}}", []string{"news.example.org"}, ""},
		"All":           {"the dependencies of Providers are followed", inspect.FollowAll, "{apiVersion: pkg.crossplane.io/v1, kind: Configuration, spec: {package: acme/conf:v1.0.0}}", []string{"families.example.org", "news.example.org"}, ""},
		"None":          {"only named packages are read", inspect.FollowNone, "{apiVersion: pkg.crossplane.io/v1, kind: Provider, spec: {package: acme/provider:v1.1.0}}\n---\n" + meta("Function", `{provider: acme/family, version: v1.0.0}`), []string{"news.example.org"}, ""},
		"Others":        {"other objects are ignored", "", "{apiVersion: v1, kind: Secret}", nil, ""},
		"NoVersion":     {"a constraint without a matching tag is an error", "", meta("Function", `{provider: acme/provider, version: ">=v9"}`), nil, `none of the 4 tags matches ">=v9"`},
		"NoConstraint":  {"an invalid version is an error", "", meta("Function", `{provider: acme/provider, version: newest}`), nil, `reading the version "newest"`},
		"NotThere":      {"a missing package is an error", "", meta("Function", `{provider: acme/none, version: v1.0.0}`), nil, "acme/none"},
		"NoDefinition":  {"a CRD without a group is an error", "", "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition}", nil, "file.yaml:1: spec.group is missing"},
		"NothingDigest": {"a version may be a digest", "", meta("Function", `{provider: acme/provider, version: "sha256:`+strings.Repeat("0", 64)+`"}`), nil, "acme/provider@sha256:0000"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			e2e.WriteFile(t, "file.yaml", tc.yaml)
			all, err := inspect.CollectCRDs(t.Context(), []string{"file.yaml"}, inspect.CRDOptions{Registry: host, Follow: tc.follow})
			if tc.err != "" {
				e2e.ErrorHas(t, tc.reason, err, tc.err)
				return
			}
			e2e.NoError(t, err)
			e2e.Equal(t, tc.reason, append([]string{}, tc.want...), names(all))
		})
	}
}

// The first of two CRDs with one name is used. If they differ, the user is warned.
func TestCollectCRDsTwice(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.yaml": crdText("as"), "b.yml": crdText("as"), "sub/c.yaml": strings.Replace(crdText("as"), "kind: A", "kind: B", 1), "d.json": crdText("no"), "e.txt": crdText("no")} {
		path := filepath.Join(dir, name)
		e2e.WriteFile(t, path, text)
	}
	var warnings []string
	all := e2e.Must(inspect.CollectCRDs(t.Context(), []string{dir}, inspect.CRDOptions{Progress: func(e progress.Event) {
		if e.Kind == progress.Warning {
			warnings = append(warnings, e.Text)
		}
	}}))(t)
	if len(all) != 1 || all[0].Kind != "A" || all[0].Storage() != "v1" {
		t.Errorf("got %+v", all)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "as.example.org in ") {
		t.Errorf("got warnings %q", warnings)
	}
}

func TestCollectCRDsStdin(t *testing.T) {
	r := manifest.Reader{FS: afero.NewOsFs(), Stdin: strings.NewReader(crdText("as"))}
	e2e.Equal(t, "the CRD on stdin is found", 1, len(e2e.Must(inspect.CollectCRDs(t.Context(), []string{"-"}, inspect.CRDOptions{Files: r}))(t)))
}

// An image that is not a package has CRDs in folders named crds, as the image of Crossplane does. The
// files that are read are those that crossplane xpkg get-crds v2.5 reads.
func TestCollectCRDsImage(t *testing.T) {
	host := remotetest.Serve(t, remotetest.Handler())
	layer := func(files map[string][]byte) v1.Layer { return e2e.Must(remotetest.Layer(files))(t) }
	for at, layers := range map[string][]v1.Layer{
		"crossplane:v2": {layer(map[string][]byte{
			"crds/a.yaml": []byte(crdText("olds")), "crds/c.yml": []byte(crdText("shorts")), "d.yaml": []byte(crdText("tops")), "xcrds/e.yaml": []byte(crdText("others")),
			"opt/crds/sub/b.yaml": []byte(crdText("bs") + "\n---\n{apiVersion: v1, kind: ConfigMap}\n---\n{apiVersion: pkg.crossplane.io/v1, kind: Provider, spec: {package: a.example.org/b:v1}}\n---\n" + crdText("cs")),
		}), layer(map[string][]byte{"crds/a.yaml": []byte(crdText("as"))})},
		"plain:v1":  {layer(map[string][]byte{"crds.yaml": []byte(crdText("as"))})},
		"broken:v1": {layer(map[string][]byte{"crds/a.yaml": []byte("a: b: c")})},
		"large:v1":  {layer(map[string][]byte{"crds/a.yaml": make([]byte, 64<<20)})},
	} {
		e2e.NoError(t, ggcr.Write(e2e.Must(remote.ParseTag("acme/"+at, host))(t), remotetest.Image(t, v1.Config{}, layers...)))
	}
	collect := func(at string) ([]inspect.CRD, error) {
		return inspect.CollectCRDs(t.Context(), []string{host + "/acme/" + at}, inspect.CRDOptions{})
	}
	e2e.Equal(t, "the CRDs in folders named crds are found", []string{"as.example.org", "bs.example.org", "cs.example.org"}, names(e2e.Must(collect("crossplane:v2"))(t)))
	e2e.ErrorHas(t, "an image without CRDs is an error", e2e.Err(collect("plain:v1")), "the image is not a package")
	e2e.ErrorHas(t, "a broken CRD in an image is an error", e2e.Err(collect("broken:v1")), "acme/broken:v1:/crds/a.yaml:1: mapping values")
	e2e.ErrorHas(t, "CRDs above the limit are an error", e2e.Err(collect("large:v1")), "the files in folders named crds are larger than 64 MiB")
}

// With Offline set, no registry is asked, and a source in a registry is an error.
func TestCollectCRDsOffline(t *testing.T) {
	t.Chdir(t.TempDir())
	e2e.WriteFile(t, "a.yaml", crdText("as")+"\n---\n{apiVersion: pkg.crossplane.io/v1, kind: Provider, spec: {package: registry.example.org/a/b:v1}}")
	all, err := inspect.CollectCRDs(t.Context(), []string{"a.yaml"}, inspect.CRDOptions{Offline: true})
	if err != nil || len(all) != 1 || all[0].Path != "a.yaml" || all[0].Line != 1 {
		t.Errorf("got %+v, %v", all, err)
	}
	e2e.ErrorHas(t, "a source in a registry is an error offline", e2e.Err(inspect.CollectCRDs(t.Context(), []string{"registry.example.org/a/b:v1"}, inspect.CRDOptions{Offline: true})), "nothing is fetched offline")
}

// Collect passes errors to Faulty, and returns the CRDs of all valid documents.
func TestCollectFaulty(t *testing.T) {
	r := manifest.Reader{FS: afero.NewOsFs(), Stdin: strings.NewReader(crdText("as") + "\n---\na: b: c\n---\n{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition}\n---\n" + crdText("bs"))}
	var told []string
	all := e2e.Must(inspect.CollectCRDs(t.Context(), []string{"-"}, inspect.CRDOptions{Files: r, Faulty: func(err error) { told = append(told, err.Error()) }}))(t)
	want := []string{`standard input:3: mapping values are not allowed in this context: found ": c" in a value`, "standard input:5: spec.group is missing"}
	if diff := cmp.Diff(want, told); diff != "" || len(all) != 2 {
		t.Errorf("got %d definitions (-want +got):\n%s", len(all), diff)
	}
}

// names returns the names of definitions, sorted.
func names(all []inspect.CRD) []string {
	names := make([]string, len(all))
	for i, d := range all {
		names[i] = d.Name
	}
	slices.Sort(names)
	return names
}

// TestCollectCanceled checks that Collect returns while it decodes a large document, and between
// small documents.
func TestCollectCanceled(t *testing.T) {
	enough := errors.New("enough")
	name := filepath.Join(t.TempDir(), "a.yaml")
	e2e.WriteFile(t, name, "")
	for size, elements := range map[string]int{"large": 1_000_000, "small": 1} {
		ctx, cancel := context.WithCancelCause(t.Context())
		text := []byte("apiVersion: v1\nkind: ConfigMap\ndata:\n  a:\n" + strings.Repeat("  - {a: b}\n", elements))
		files := manifest.Reader{FS: afero.NewOsFs(), Documents: func(string) ([]manifest.Document, bool) {
			cancel(enough)
			return []manifest.Document{{Path: "a.yaml", Line: 1, Text: text}}, true
		}}
		e2e.ErrorIs(t, "a "+size+" document", e2e.Err(inspect.CollectCRDs(ctx, []string{name}, inspect.CRDOptions{Files: files})), enough)
	}
}
