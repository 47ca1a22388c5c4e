package typescript_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/language"
	"github.com/xfn-dev/xfn/internal/language/typescript"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
)

// object is an object in JSON.
type object = map[string]any

var (
	amd64 = v1.Platform{OS: "linux", Architecture: "amd64"}
	arm64 = v1.Platform{OS: "linux", Architecture: "arm64"}
)

// A function is the source of a function, and a folder with the tarballs of packages.
type function struct {
	dir      string
	manifest object
	lock     object
	messages []string
	mu       sync.Mutex
}

// newFunction creates a function with one source file, which does nothing.
func newFunction(t testing.TB, files map[string]string) *function {
	t.Helper()
	f := &function{dir: t.TempDir(), manifest: object{"name": "fn", "dependencies": object{}}, lock: object{"": object{"name": "fn"}}}
	if files["src/main.ts"] == "" {
		f.write(t, "src/main.ts", "console.log(1 as number);\n")
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f.write(t, name, files[name])
	}
	return f
}

func (f *function) write(t testing.TB, name, text string) {
	t.Helper()
	path := filepath.Join(f.dir, filepath.FromSlash(name))
	e2e.NoError(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)))
}

// add adds a package at a location. A package in the topmost node_modules becomes a
// dependency of the project. entry has further fields of its entry in the lock file.
func (f *function) add(t testing.TB, at, version string, files map[string]string, entry object) {
	t.Helper()
	name := strings.TrimPrefix(at[strings.LastIndex("/"+at, "/node_modules/"):], "node_modules/")
	var buf bytes.Buffer
	zip := gzip.NewWriter(&buf)
	w := tar.NewWriter(zip)
	if files["package.json"] == "" {
		files = maps.Clone(files)
		files["package.json"] = fmt.Sprintf(`{"name": %q, "version": %q, "main": "index.js"}`, name, version)
	}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		e2e.NoError(t, w.WriteHeader(&tar.Header{Name: "package/" + file, Mode: 0o644, Size: int64(len(files[file]))}))
		e2e.Must(io.WriteString(w, files[file]))(t)
	}
	e2e.NoError(t, errors.Join(w.Close(), zip.Close()))
	sum := sha512.Sum512(buf.Bytes())
	tarball := strings.NewReplacer("/", "-", "@", "").Replace(at) + ".tgz"
	f.write(t, "tarballs/"+tarball, buf.String())
	e := object{"version": version, "resolved": "file:tarballs/" + tarball, "integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:])}
	maps.Copy(e, entry)
	f.lock[at] = e
	if _, optional := entry["optional"]; !optional && strings.Count(at, "node_modules/") == 1 {
		f.manifest["dependencies"].(object)[name] = version
	}
}

// save writes the manifest and the lock file.
func (f *function) save(t testing.TB) {
	t.Helper()
	for name, value := range map[string]object{"package.json": f.manifest, "package-lock.json": {"lockfileVersion": 3, "packages": f.lock}} {
		f.write(t, name, string(e2e.Must(json.MarshalIndent(value, "", "  "))(t)))
	}
}

// source returns the function for two platforms, on a base image with Node.js.
func (f *function) source(t testing.TB) language.Source {
	t.Helper()
	base := &runtimeimage.Images{}
	for _, p := range []v1.Platform{amd64, arm64} {
		base.All = append(base.All, remotetest.Configured(t, remotetest.Image(t, v1.Config{}), p, v1.Config{Entrypoint: []string{"/nodejs/bin/node"}}))
	}
	return language.Source{
		Dir: f.dir, Platforms: []v1.Platform{amd64, arm64}, Base: base, Labels: map[string]string{"a": "b"},
		Artifacts: language.Artifacts{Dir: filepath.Join(t.TempDir(), "npm"), Offline: true},
	}
}

func (f *function) options(t testing.TB) runtimeimage.Options {
	t.Helper()
	return runtimeimage.Options{TempDir: t.TempDir(), Progress: func(e progress.Event) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if e.Kind != progress.Step {
			f.messages = append(f.messages, e.Text)
		}
	}}
}

func (f *function) build(t testing.TB, src language.Source) (*language.Result, error) {
	t.Helper()
	opts := f.options(t)
	r, err := typescript.Build(t.Context(), src, opts)
	t.Cleanup(func() {
		if r != nil {
			e2e.NoError(t, r.Images.Close())
		}
		e2e.Empty(t, opts.TempDir)
	})
	return r, err
}

func (f *function) mustBuild(t testing.TB, src language.Source) *language.Result {
	t.Helper()
	f.save(t)
	return e2e.Must(f.build(t, src))(t)
}

// contents returns the files and links of an image's layers, one map for each layer.
func contents(t testing.TB, img v1.Image) []map[string]string {
	t.Helper()
	layers := e2e.Must(img.Layers())(t)
	var all []map[string]string
	for _, l := range layers {
		files, last := map[string]string{}, ""
		for h, data := range e2e.Tar(t, e2e.Must(l.Uncompressed())(t)) {
			if key := strings.ReplaceAll(strings.TrimSuffix(h.Name, "/"), "/", "\x00"); key < last {
				t.Errorf("%q is not sorted", h.Name)
			} else {
				last = key
			}
			if h.Uid != 0 || !h.ModTime.Equal(time.Unix(0, 0)) || h.Mode != 0o755 && h.Mode != 0o644 && h.Linkname == "" {
				t.Errorf("%q has the owner %d, the time %v and the mode %o", h.Name, h.Uid, h.ModTime, h.Mode)
			}
			if h.Typeflag != tar.TypeDir {
				files[h.Name] = data + h.Linkname
			}
		}
		all = append(all, files)
	}
	return all
}

func digestOf(t testing.TB, img v1.Image) v1.Hash {
	t.Helper()
	return e2e.Must(img.Digest())(t)
}

func names(files map[string]string) []string { return slices.Sorted(maps.Keys(files)) }
