package archive_test

import (
	"archive/tar"
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/oci/archive"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

// image returns an image of random layers. Its first layer occurs twice.
func image(t testing.TB, os, arch string) v1.Image {
	t.Helper()
	img := e2e.Must(random.Image(3000, 2))(t)
	layers := e2e.Must(img.Layers())(t)
	img = e2e.Must(mutate.Append(img, mutate.Addendum{Layer: layers[0], Annotations: map[string]string{"again": "yes"}}))(t)
	return remotetest.Configured(t, img, v1.Platform{OS: os, Architecture: arch}, v1.Config{})
}

func write(t testing.TB, a oci.Artifact) []byte {
	t.Helper()
	var b bytes.Buffer
	e2e.NoError(t, archive.Write(t.Context(), &b, a, "writing", nil))
	return b.Bytes()
}

func file(t testing.TB, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.tar")
	e2e.NoError(t, os.WriteFile(path, data, 0o600))
	return path
}

func open(t testing.TB, path string) *archive.File {
	t.Helper()
	return e2e.Open(archive.Open(t.Context(), path))(t)
}

func digest(t testing.TB, a oci.Artifact) v1.Hash {
	t.Helper()
	return e2e.Must(a.Digest())(t)
}

// A written file is read as the same artifact, and written again as the same file.
func TestRoundTrip(t *testing.T) {
	amd64, arm64 := image(t, "linux", "amd64"), image(t, "linux", "arm64")
	cases := map[string]struct {
		reason string
		a      oci.Artifact
	}{
		"Image":  {"one platform is an image", amd64},
		"Index":  {"several platforms are an index", remotetest.Index(arm64, amd64)},
		"Nested": {"an index may be nested", remotetest.Index(amd64, remotetest.Index(arm64))},
		"Empty":  {"an index may be empty", remotetest.Index()},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			data := write(t, tc.a)
			f := open(t, file(t, data))
			if f.Docker {
				t.Error("a written file was read as a Docker archive")
			}
			e2e.Equal(t, tc.reason, digest(t, tc.a), digest(t, f.Artifact))
			assertValid(t, f.Artifact)
			e2e.Equal(t, tc.reason+": writing it again gives another file", data, write(t, f.Artifact))
		})
	}
}

func assertValid(t *testing.T, a oci.Artifact) {
	t.Helper()
	switch a := a.(type) {
	case v1.Image:
		e2e.NoError(t, validate.Image(a))
	case v1.ImageIndex:
		e2e.NoError(t, validate.Index(a))
	}
}

// A written file is valid both as a Docker archive and as an OCI image layout, as
// go-containerregistry reads them.
func TestOthersRead(t *testing.T) {
	amd64, arm64 := image(t, "linux", "amd64"), image(t, "linux", "arm64")
	cases := map[string]struct {
		reason string
		a      oci.Artifact
		docker v1.Image
	}{
		"Image":      {"an image is the same in both formats", arm64, arm64},
		"Index":      {"Docker gets the image for linux/amd64", remotetest.Index(arm64, amd64), amd64},
		"NotCurrent": {"Docker gets the first image if none is for linux/amd64", remotetest.Index(arm64, image(t, "linux", "s390x")), arm64},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			path := file(t, write(t, tc.a))
			docker := e2e.Must(tarball.ImageFromPath(path, nil))(t)
			e2e.NoError(t, validate.Image(docker))
			assertSameConfig(t, docker, tc.docker)
			idx := e2e.Must(layout.ImageIndexFromPath(e2e.Untar(t, path)))(t)
			e2e.NoError(t, validate.Index(idx))
			m := e2e.Must(idx.IndexManifest())(t)
			if len(m.Manifests) != 1 || m.Manifests[0].Digest != digest(t, tc.a) {
				t.Errorf("%s: got %v, want %s alone", tc.reason, m.Manifests, digest(t, tc.a))
			}
		})
	}
}

func assertSameConfig(t *testing.T, got, want v1.Image) {
	t.Helper()
	g := e2e.Must(got.ConfigName())(t)
	e2e.Equal(t, "Docker reads the config of the image", e2e.Must(want.ConfigName())(t), g)
}

// In a written file, the layers are first, each blob occurs once, and the headers do not
// depend on this machine.
func TestLayoutOfFile(t *testing.T) {
	img := image(t, "linux", "amd64")
	m := e2e.Must(img.Manifest())(t)
	var names []string
	for h := range e2e.Tar(t, bytes.NewReader(write(t, img))) {
		names = append(names, h.Name)
		want := &tar.Header{Typeflag: tar.TypeReg, Name: h.Name, Size: h.Size, Mode: 0o644, ModTime: h.ModTime, Format: tar.FormatUSTAR}
		if diff := cmp.Diff(want, h); diff != "" || h.ModTime.Unix() != 0 {
			t.Errorf("header (-want +got):\n%s", diff)
		}
	}
	want := []string{
		"blobs/sha256/" + m.Layers[0].Digest.Hex, "blobs/sha256/" + m.Layers[1].Digest.Hex,
		"oci-layout", "index.json", "manifest.json",
		"blobs/sha256/" + digest(t, img).Hex, "blobs/sha256/" + m.Config.Digest.Hex,
	}
	e2e.Equal(t, "the layers are first, and each blob occurs once", want, names)
}

func TestOpenDocker(t *testing.T) {
	img := image(t, "linux", "arm64")
	path := filepath.Join(t.TempDir(), "docker.tar")
	e2e.NoError(t, tarball.WriteToFile(path, name.MustParseReference("a:v1"), img))
	f := open(t, path)
	if !f.Docker {
		t.Error("a Docker archive is not an OCI layout")
	}
	assertValid(t, f.Artifact)
	assertSameConfig(t, f.Artifact.(v1.Image), img)
}

func TestOpenRefusesOtherFiles(t *testing.T) {
	dir := t.TempDir()
	cases := map[string]struct{ reason, path, want string }{
		"Missing":   {"the file must exist", filepath.Join(dir, "gone"), "no such file"},
		"Directory": {"a directory is not a tar", dir, "not a regular file"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := archive.Open(t.Context(), tc.path)
			e2e.ErrorHas(t, tc.reason, err, tc.want, tc.path)
		})
	}
}

func TestOpenStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e2e.ErrorIs(t, "Open returns the cause of its context", e2e.Err(archive.Open(ctx, file(t, write(t, image(t, "linux", "amd64"))))), context.Canceled)
}

// A truncated file is an error, unless only its padding is missing.
func TestOpenTruncated(t *testing.T) {
	data := write(t, image(t, "linux", "amd64"))
	for n := 0; n < len(data); n += 97 {
		f, err := archive.Open(t.Context(), file(t, data[:n]))
		if err != nil {
			continue
		}
		if !bytes.Equal(write(t, f.Artifact), data) {
			t.Errorf("%d of %d bytes were opened as a package", n, len(data))
		}
		_ = f.Close()
	}
}

// A changed bit is an error when the file is opened or read, except in
// oci-layout and index.json, which have no digest.
func TestChangedBits(t *testing.T) {
	img := image(t, "linux", "amd64")
	data := write(t, img)
	want := digest(t, img)
	layout := bytes.Index(data, []byte("oci-layout\x00"))
	for at := 512; at < len(data)-1024; at += 211 {
		if at >= layout && at < layout+5*512 {
			continue
		}
		changed := slices.Clone(data)
		changed[at] ^= 4
		f, err := archive.Open(t.Context(), file(t, changed))
		if err != nil {
			continue
		}
		err = archive.Write(t.Context(), io.Discard, f.Artifact, "", nil)
		if err == nil && digest(t, f.Artifact) != want {
			t.Errorf("byte %d: the change was not detected", at)
		}
		_ = f.Close()
	}
}
