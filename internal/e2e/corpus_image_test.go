package e2e_test

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/xpkg"
)

// A corpusImage has the properties that an image must share with the image of the
// crossplane CLI.
type corpusImage struct {
	// Config is the config without times and history.
	Config map[string]any
	Layers []corpusLayer
	// YAML and Examples are package.yaml and examples.yaml.
	YAML, Examples string
}

type corpusLayer struct {
	// Mark is the label of the layer, and its annotation after a push.
	Mark  string `json:"config_label"`
	Files []corpusFile
}

type corpusFile struct {
	Name, Type, Mode string
	UID, GID         int
	Mtime, Size      int64
	SHA256           string
}

// compareImage returns the differences of the package file at path from the image
// that the crossplane CLI built, which the folder dir describes.
func compareImage(t *testing.T, dir, path string) string {
	t.Helper()
	var want corpusImage
	e2e.NoError(t, json.Unmarshal([]byte(e2e.ReadFile(t, filepath.Join(dir, "image.json"))), &want))
	want.Config = settings(want.Config)
	want.YAML, want.Examples = e2e.ReadFile(t, filepath.Join(dir, "package.yaml")), optional(t, filepath.Join(dir, "examples.yaml"))
	f := e2e.Must(xpkg.Open(t.Context(), path))(t)
	defer f.Close()
	img := f.Artifact.(v1.Image)
	e2e.NoError(t, validate.Image(img))
	got := describe(t, img)
	got.Config, _ = only(want.Config, got.Config).(map[string]any)
	return cmp.Diff(want, got)
}

// describe returns the corpusImage of an image that xfn built.
func describe(t *testing.T, img v1.Image) corpusImage {
	t.Helper()
	m := e2e.Must(img.Manifest())(t)
	raw := e2e.Must(img.RawConfigFile())(t)
	var got corpusImage
	e2e.NoError(t, json.Unmarshal(raw, &got.Config))
	labels, _ := got.Config["config"].(map[string]any)["Labels"].(map[string]any)
	layers := e2e.Must(img.Layers())(t)
	for i, l := range layers {
		mark, _ := labels["io.crossplane.xpkg:"+m.Layers[i].Digest.String()].(string)
		if a := m.Layers[i].Annotations["io.crossplane.xpkg"]; a != mark {
			t.Errorf("layer %d has label %q and annotation %q", i, mark, a)
		}
		files, content := filesOf(t, l)
		got.Layers = append(got.Layers, corpusLayer{mark, files})
		switch mark {
		case "base":
			got.YAML = content["package.yaml"]
		case "upbound":
			got.Examples = content[".up/examples.yaml"]
		}
	}
	got.Config = settings(got.Config)
	return got
}

// filesOf returns the entries of a layer, and the content of its files.
func filesOf(t *testing.T, l v1.Layer) ([]corpusFile, map[string]string) {
	t.Helper()
	files, content := []corpusFile{}, map[string]string{}
	for h, data := range e2e.Tar(t, e2e.Must(l.Uncompressed())(t)) {
		f := corpusFile{
			Name: strings.TrimSuffix(h.Name, "/"), Type: "dir", Mode: fmt.Sprintf("%04o", h.Mode),
			UID: h.Uid, GID: h.Gid, Mtime: h.ModTime.Unix(), Size: h.Size,
		}
		if h.Typeflag == tar.TypeReg {
			f.Type, f.SHA256 = "file", fmt.Sprintf("%x", sha256.Sum256([]byte(data)))
			content[h.Name] = data
		}
		files = append(files, f)
	}
	return files, content
}

// settings returns an image's config without the parts that differ in each build:
// times, digests and history. It also leaves out an empty platform.
func settings(config map[string]any) map[string]any {
	config = maps.Clone(config)
	for _, key := range []string{"created", "rootfs", "history"} {
		delete(config, key)
	}
	maps.DeleteFunc(config, func(_ string, value any) bool { return value == "" })
	if inner, ok := config["config"].(map[string]any); ok {
		if labels, ok := inner["Labels"].(map[string]any); ok {
			maps.DeleteFunc(labels, func(key string, _ any) bool { return strings.HasPrefix(key, "io.crossplane.xpkg:") })
		}
	}
	return config
}

// only returns the keys of got that want has too, because configs of xfn have
// additional keys. It returns all labels.
func only(want, got any) any {
	w, ok := want.(map[string]any)
	g, ok2 := got.(map[string]any)
	if !ok || !ok2 {
		return got
	}
	kept := map[string]any{}
	for key := range w {
		value, ok := g[key]
		if ok && key != "Labels" {
			value = only(w[key], value)
		}
		if ok {
			kept[key] = value
		}
	}
	return kept
}
