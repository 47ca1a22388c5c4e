package e2e_test

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"io"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/push"
	"github.com/xfn-dev/xfn/xpkg"
)

// pushBases pushes the base images that the README of the cases describes.
func pushBases(t testing.TB, address string) {
	t.Helper()
	for _, base := range []string{"static", "gotmpl", "kcl"} {
		pushBase(t, address+"/base/"+base+":latest", func(arch string) v1.Image { return baseImage(t, arch, base != "static") })
	}
}

// pushBase pushes an index with the images for two platforms.
func pushBase(t testing.TB, reference string, imageFor func(arch string) v1.Image) {
	t.Helper()
	idx := v1.IndexManifest{SchemaVersion: 2, MediaType: "application/vnd.oci.image.index.v1+json"}
	var images []oci.Artifact
	for _, arch := range []string{"amd64", "arm64"} {
		img := imageFor(arch)
		desc := e2e.Must(oci.Describe(img))(t)
		desc.Platform = &v1.Platform{OS: "linux", Architecture: arch}
		idx.Manifests, images = append(idx.Manifests, desc), append(images, img)
	}
	raw := e2e.Must(json.Marshal(idx))(t)
	artifact := e2e.Must(oci.Index(raw, images...))(t)
	ref := e2e.Must(name.NewTag(reference))(t)
	e2e.NoError(t, e2e.Err(push.Artifact(t.Context(), ref, artifact, push.Options{})))
}

// baseImage returns a base image of the cases: a package of a function, or a plain image.
func baseImage(t testing.TB, arch string, function bool) v1.Image {
	t.Helper()
	settings := map[string]any{
		"Env": []string{"PATH=/usr/local/bin:/bin", "BASE=1"}, "User": "65532", "WorkingDir": "/home/base",
		"Labels": map[string]string{"base.label": "kept?"},
	}
	files := []struct{ name, text, mark string }{{"etc/base-" + arch, "base static\n", ""}}
	if function {
		files[0].text = "base fn\n"
		files = append(files, struct{ name, text, mark string }{"package.yaml", "---\n", xpkg.BaseMark}, struct{ name, text, mark string }{".up/examples.yaml", "---\n", xpkg.ExamplesMark})
		settings["Entrypoint"], settings["ExposedPorts"] = []string{"/function"}, map[string]any{"9443/tcp": map[string]any{}}
	} else {
		settings["Cmd"] = []string{"ignored"}
	}
	var layers []v1.Layer
	var descs []v1.Descriptor
	var diffIDs []string
	var history []any
	for _, f := range files {
		l, err := oci.TarLayer(func(tw *tar.Writer) error {
			err := tw.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: 0o644, Size: int64(len(f.text))})
			_, writeErr := io.WriteString(tw, f.text)
			return errors.Join(err, writeErr)
		})
		e2e.NoError(t, err)
		desc := e2e.Must(oci.Describe(l))(t)
		diffID := e2e.Must(l.DiffID())(t)
		if f.mark != "" {
			desc.Annotations = map[string]string{xpkg.Annotation: f.mark}
			settings["Labels"].(map[string]string)[xpkg.Annotation+":"+desc.Digest.String()] = f.mark
		}
		layers, descs, diffIDs = append(layers, l), append(descs, desc), append(diffIDs, diffID.String())
		history = append(history, map[string]any{"created": "0001-01-01T00:00:00Z", "created_by": "base step"})
	}
	config, err := json.Marshal(map[string]any{
		"architecture": arch, "os": "linux", "author": "base author", "created": "0001-01-01T00:00:00Z",
		"config": settings, "history": history, "rootfs": map[string]any{"type": "layers", "diff_ids": diffIDs},
	})
	e2e.NoError(t, err)
	img := e2e.Must(oci.Assemble(config, descs, layers...))(t)
	return img
}
