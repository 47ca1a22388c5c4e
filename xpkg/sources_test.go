package xpkg_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/xpkg"
)

const (
	configurationText = "apiVersion: meta.pkg.crossplane.io/v1\nkind: Configuration\nmetadata: {name: c}\n"
	policyText        = "apiVersion: apiextensions.crossplane.io/v1alpha1\nkind: ManagedResourceActivationPolicy\nmetadata: {name: NAME}\nspec: {activate: [\"*.example.org\"]}\n"
)

func policy(name string) []byte { return []byte(strings.Replace(policyText, "NAME", name, 1)) }

// ReadSources keeps the order of the files, and names them in problems.
func TestReadSources(t *testing.T) {
	sources := []xpkg.Source{{Path: "z/b.yaml", Data: policy("b")}, {Path: "a.yaml", Data: policy("a")}, {Path: "p.yaml", Data: []byte(configurationText)}}
	opts := xpkg.ReadOptions{ExamplesRoot: "examples"}
	pkg, err := xpkg.ReadSources(t.Context(), "project \"c\"", sources, e2e.Memory(t, map[string]string{"examples/x.yaml": "kind: X\n"}), opts)
	e2e.NoError(t, err)
	var got []string
	for _, o := range append([]xpkg.Object{pkg.Meta}, pkg.Objects...) {
		got = append(got, o.Position())
	}
	e2e.Equal(t, "the order of the sources is kept", []string{"p.yaml:1", "z/b.yaml:1", "a.yaml:1"}, got)
	e2e.Equal(t, "the examples are read from the folder", "kind: X\n\n...\n\n---\n", string(pkg.Examples))
	_, err = xpkg.ReadSources(t.Context(), "project \"c\"", append(sources, xpkg.Source{Path: "c.yaml", Data: []byte("kind: Secret\napiVersion: v1\n")}), e2e.Memory(t, nil), xpkg.ReadOptions{})
	e2e.ErrorHas(t, "a problem has the path of its source", err, "c.yaml:1: kind Secret of v1")
	_, err = xpkg.ReadSources(t.Context(), "project \"c\"", sources[:1], e2e.Memory(t, nil), xpkg.ReadOptions{})
	e2e.ErrorHas(t, "sources without package metadata are an error", err, `project "c" contains no package metadata`)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e2e.ErrorIs(t, "ReadSources returns the cause of its context", e2e.Err(xpkg.ReadSources(ctx, "it", sources, e2e.Memory(t, nil), xpkg.ReadOptions{})), context.Canceled)
}

// Docker images have no annotations of their own, no times, and no platform without a runtime.
func TestBuildDocker(t *testing.T) {
	a := e2e.Must(xpkg.Build(aPackage("Configuration", "c"), nil, xpkg.BuildOptions{Docker: true, Created: created, Annotations: map[string]string{"a": "b"}}))(t)
	img := a.(v1.Image)
	m := e2e.Must(img.Manifest())(t)
	const dockerManifest, dockerConfig = "application/vnd.docker.distribution.manifest.v2+json", "application/vnd.docker.container.image.v1+json"
	if m.MediaType != dockerManifest || m.Config.MediaType != dockerConfig || len(m.Annotations) > 0 || m.Layers[0].MediaType != "application/vnd.docker.image.rootfs.diff.tar.gzip" || m.Layers[0].Annotations[xpkg.Annotation] != xpkg.BaseMark {
		t.Errorf("got %+v", m)
	}
	raw := e2e.Must(img.RawConfigFile())(t)
	var got map[string]any
	e2e.NoError(t, json.Unmarshal(raw, &got))
	const none = "0001-01-01T00:00:00Z"
	if got["os"] != "" || got["architecture"] != "" || got["created"] != none || got["history"].([]any)[0].(map[string]any)["created"] != none {
		t.Errorf("got the config %s", raw)
	}
}
