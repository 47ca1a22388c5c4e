package runtimeimage_test

import (
	"archive/tar"
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/internal/runtimeimage"
	"github.com/xfn-dev/xfn/xpkg"
)

const golden = "../../xpkg/testdata/golden"

// A goldenImage is what the incumbent made of a case.
type goldenImage struct {
	Config map[string]any
	Layers []goldenLayer
}

type goldenLayer struct {
	ConfigLabel *string `json:"config_label"`
	Files       []goldenFile
}

type goldenFile struct {
	Name, Type, Mode string
	UID, GID         int
	Mtime, Size      int64
	SHA256           string
}

// The cases of testdata/golden/build with a runtime image in a file: the same
// verdict, and the same layers, labels and settings in what was built.
func TestGoldenTarballs(t *testing.T) {
	different, err := os.ReadFile(filepath.Join(golden, "DIFFERENCES.md"))
	if err != nil {
		t.Fatal(err)
	}
	cases, err := filepath.Glob(filepath.Join(golden, "build", "runtime-tar-*"))
	if err != nil || len(cases) == 0 {
		t.Fatalf("found %d cases: %v", len(cases), err)
	}
	for _, dir := range cases {
		name := filepath.Base(dir)
		t.Run(name, func(t *testing.T) {
			listed := strings.Contains(string(different), "| "+name+" |")
			img, err := buildCase(t, dir)
			want := strings.TrimSpace(read(t, filepath.Join(dir, "exit"))) == "0"
			if got := err == nil; got != want {
				if !listed {
					t.Errorf("builds: got %v, want %v: %v", got, want, err)
				}
				return
			}
			if listed {
				t.Error("agrees with the incumbent, but is listed as different")
			}
			if !want {
				t.Log(err)
				return
			}
			assertGolden(t, img, dir)
		})
	}
}

// buildCase builds a case and opens the file that it is written to.
func buildCase(t *testing.T, dir string) (v1.Image, error) {
	t.Helper()
	work := t.TempDir()
	if err := os.CopyFS(work, os.DirFS(filepath.Join(dir, "in"))); err != nil {
		t.Fatal(err)
	}
	pkg, err := xpkg.Read(t.Context(), afero.NewOsFs(), filepath.Join(work, "package"), xpkg.ReadOptions{ExamplesRoot: filepath.Join(work, "examples")})
	if err != nil {
		t.Fatal(err)
	}
	tarball, out := filepath.Join(work, "rt.tar"), filepath.Join(work, "out.xpkg")
	if strings.Contains(read(t, filepath.Join(dir, "args")), "-o\nrt.tar\n") {
		out = tarball
	}
	opts := options(t)
	images, err := runtimeimage.FromTarball(t.Context(), tarball, opts)
	if err != nil {
		if !strings.Contains(err.Error(), tarball) || strings.Contains(err.Error(), "\n") {
			t.Errorf("want one sentence that names the file, got %q", err)
		}
		assertEmpty(t, opts.TempDir)
		return nil, err
	}
	defer func() {
		if err := images.Close(); err != nil {
			t.Error(err)
		}
		assertEmpty(t, opts.TempDir)
	}()
	a, err := xpkg.Build(pkg, images.All, xpkg.BuildOptions{Created: created})
	if err != nil {
		return nil, err
	}
	if err := xpkg.WriteFile(t.Context(), out, a, nil); err != nil {
		t.Fatal(err)
	}
	f, err := xpkg.Open(t.Context(), out)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f.Artifact.(v1.Image), nil
}

func assertGolden(t *testing.T, img v1.Image, dir string) {
	t.Helper()
	if err := validate.Image(img); err != nil {
		t.Error(err)
	}
	var want goldenImage
	if err := json.Unmarshal([]byte(read(t, filepath.Join(dir, "image.json"))), &want); err != nil {
		t.Fatal(err)
	}
	yaml, err := xpkg.PackageYAML(t.Context(), img)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(read(t, filepath.Join(dir, "package.yaml")), string(yaml)); diff != "" {
		t.Errorf("package.yaml (-incumbent +ours):\n%s", diff)
	}
	if diff := cmp.Diff(want.Layers, layersOf(t, img)); diff != "" {
		t.Errorf("layers (-incumbent +ours):\n%s", diff)
	}
	assertConfig(t, img, want.Config)
}

// layersOf describes img's layers, and checks that each mark of a layer in the
// config's labels is the layer's annotation too.
func layersOf(t *testing.T, img v1.Image) []goldenLayer {
	t.Helper()
	m, err := img.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	all := make([]goldenLayer, 0, len(layers))
	for i, l := range layers {
		got := goldenLayer{Files: filesOf(t, l)}
		if mark, ok := config.Config.Labels["io.crossplane.xpkg:"+m.Layers[i].Digest.String()]; ok {
			got.ConfigLabel = &mark
			if a := m.Layers[i].Annotations["io.crossplane.xpkg"]; a != mark {
				t.Errorf("layer %d is labelled %q and annotated %q", i, mark, a)
			}
		}
		all = append(all, got)
	}
	return all
}

func filesOf(t *testing.T, l v1.Layer) []goldenFile {
	t.Helper()
	rc, err := l.Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer rc.Close()
	files := []goldenFile{}
	for tr := tar.NewReader(bufio.NewReader(rc)); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		f := goldenFile{
			Name: strings.TrimSuffix(h.Name, "/"), Type: "dir", Mode: fmt.Sprintf("%04o", h.Mode),
			UID: h.Uid, GID: h.Gid, Mtime: h.ModTime.Unix(), Size: h.Size,
		}
		if h.Typeflag == tar.TypeReg {
			data, err := io.ReadAll(tr)
			if err != nil {
				t.Fatal(err)
			}
			f.Type, f.SHA256 = "file", fmt.Sprintf("%x", sha256.Sum256(data))
		}
		files = append(files, f)
	}
}

// assertConfig fails if a setting that the incumbent keeps differs: ours may
// keep more. Labels are left out, since some hold digests; so are times, which
// are ours.
func assertConfig(t *testing.T, img v1.Image, want map[string]any) {
	t.Helper()
	raw, err := img.RawConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"created", "rootfs", "history"} {
		delete(want, key)
	}
	if settings, ok := want["config"].(map[string]any); ok {
		delete(settings, "Labels")
	}
	if diff := cmp.Diff(want, only(want, got)); diff != "" {
		t.Errorf("config (-incumbent +ours):\n%s", diff)
	}
}

// only returns of got the keys that want has.
func only(want, got any) any {
	w, ok := want.(map[string]any)
	g, ok2 := got.(map[string]any)
	if !ok || !ok2 {
		return got
	}
	kept := map[string]any{}
	for key := range w {
		if value, ok := g[key]; ok {
			kept[key] = only(w[key], value)
		}
	}
	return kept
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
