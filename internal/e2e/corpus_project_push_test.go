package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/xpkg"
)

// compareRepositories compares what the case has pushed.
func (c *projectCase) compareRepositories(t *testing.T) {
	t.Helper()
	text := optional(t, filepath.Join(c.dir, "registry.json"))
	if text == "" {
		return
	}
	var want map[string]map[string]struct {
		MediaType string
		Manifest  map[string]any
		Children  map[string]map[string]any
	}
	e2e.NoError(t, json.Unmarshal([]byte(text), &want))
	for repository, tags := range want {
		for tag, golden := range tags {
			ref := c.tag(t, repository, tag)
			a := e2e.Must(image.Artifact(t.Context(), ref, image.Options{}))(t)
			e2e.Equal(t, fmt.Sprintf("%s has the media type of the crossplane CLI", ref), golden.MediaType, string(e2e.Must(a.MediaType())(t)))
			e2e.Equal(t, fmt.Sprintf("%s has the manifest of the crossplane CLI", ref), structure(golden.Manifest), structure(manifestOf(t, a)))
			var children []any
			for _, digest := range slices.Sorted(maps.Keys(golden.Children)) {
				children = append(children, structure(golden.Children[digest]))
			}
			var got []any
			if idx, ok := a.(v1.ImageIndex); ok {
				images := e2e.Must(xpkg.Images(idx))(t)
				for _, i := range images {
					got = append(got, structure(manifestOf(t, i.Image)))
				}
				c.assertDependency(t, strings.TrimSuffix(repository, "_compose"), tag, repository, a)
			}
			e2e.Equal(t, fmt.Sprintf("%s has the images of the crossplane CLI", ref), children, got)
		}
	}
}

// tag returns the reference of a tag, or of the only tag if the recorded one has a time.
func (c *projectCase) tag(t *testing.T, repository, tag string) name.Tag {
	t.Helper()
	repo := e2e.Must(name.NewRepository(c.address + "/" + repository))(t)
	if strings.HasPrefix(tag, "v0.0.0-") {
		tags, err := image.Tags{Remote: remote.New(remote.Options{})}.List(t.Context(), repo)
		if err != nil || len(tags) != 1 {
			t.Fatalf("%s has the tags %q, %v, want one", repo, tags, err)
		}
		tag = tags[0]
	}
	return repo.Tag(tag)
}

// assertDependency checks that the Configuration depends on the digest of a function in the
// registry.
func (c *projectCase) assertDependency(t *testing.T, configuration, tag, repository string, function xpkg.Artifact) {
	t.Helper()
	a := e2e.Must(image.Artifact(t.Context(), c.tag(t, configuration, tag), image.Options{}))(t)
	digest := e2e.Must(function.Digest())(t)
	text, err := xpkg.PackageYAML(t.Context(), a.(v1.Image))
	if want := fmt.Sprintf("package: %s/%s\n    version: %s\n", c.address, repository, digest); err != nil || !strings.Contains(string(text), want) {
		t.Errorf("the Configuration does not depend on\n%s%s, %v", want, text, err)
	}
}

func manifestOf(t *testing.T, a xpkg.Artifact) (m map[string]any) {
	t.Helper()
	raw := e2e.Must(a.RawManifest())(t)
	e2e.NoError(t, json.Unmarshal(raw, &m))
	return m
}

// structure returns a manifest without digests and sizes. The platforms of an index are
// sorted, because its entries are sorted by digest.
func structure(v any) any {
	switch v := v.(type) {
	case map[string]any:
		all := map[string]any{}
		for key, value := range v {
			if key != "digest" && key != "size" {
				all[key] = structure(value)
			}
		}
		return all
	case []any:
		all := make([]any, len(v))
		for i, e := range v {
			all[i] = structure(e)
		}
		if len(all) > 0 && all[0].(map[string]any)["platform"] != nil {
			slices.SortFunc(all, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		}
		return all
	default:
		return v
	}
}
