package python_test

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/language"
	"github.com/xfn-dev/xfn/internal/language/python"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
)

var platforms = []v1.Platform{{OS: "linux", Architecture: "amd64"}, {OS: "linux", Architecture: "arm64"}}

// A wheelFile is a wheel that the index of the tests serves.
type wheelFile struct {
	name string
	data []byte
}

func (w wheelFile) sum() string { return fmt.Sprintf("%x", sha256.Sum256(w.data)) }

// newWheel returns a wheel with these files. tag is its compatibility tag.
func newWheel(t testing.TB, name, version, tag string, files map[string]string) wheelFile {
	t.Helper()
	info := name + "-" + version + ".dist-info/"
	all := maps.Clone(files)
	all[info+"WHEEL"] = "Wheel-Version: 1.0\nTag: " + tag + "\n"
	all[info+"METADATA"] = "Metadata-Version: 2.1\nName: " + name + "\nVersion: " + version + "\n"
	var entries []entry
	for _, file := range slices.Sorted(maps.Keys(all)) {
		entries = append(entries, entry{name: file, text: all[file]})
	}
	return wheelFile{name + "-" + version + "-" + tag + ".whl", pack(t, info, entries...)}
}

// An index is a package index (PEP 503 and 691) with wheels.
type index struct {
	*httptest.Server
	requests atomic.Int64
}

// serve starts an index that answers requests with this password, or all if it is empty.
func serve(t testing.TB, html bool, password string, wheels ...wheelFile) *index {
	t.Helper()
	i := &index{}
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.requests.Add(1)
		if _, got, _ := r.BasicAuth(); got != password {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if name, ok := strings.CutPrefix(r.URL.Path, "/files/"); ok {
			for _, wheel := range wheels {
				if wheel.name == name {
					w.Write(wheel.data)
				}
			}
			return
		}
		name := strings.ReplaceAll(strings.Trim(strings.TrimPrefix(r.URL.Path, "/simple"), "/"), "-", "_")
		page, files := "", []map[string]any{}
		for _, wheel := range wheels {
			if strings.HasPrefix(wheel.name, name+"-") {
				page += fmt.Sprintf("<a href=\"../../files/%s#sha256=%s\">%s</a>\n", wheel.name, wheel.sum(), wheel.name)
				files = append(files, map[string]any{"filename": wheel.name, "url": "../../files/" + wheel.name, "hashes": map[string]string{"sha256": wheel.sum()}})
			}
		}
		if html {
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, page)
			return
		}
		w.Header().Set("Content-Type", "application/vnd.pypi.simple.v1+json")
		json.NewEncoder(w).Encode(map[string]any{"meta": map[string]string{"api-version": "1.0"}, "name": name, "files": files})
	}))
	t.Cleanup(i.Close)
	return i
}

// imagesOf returns images for both platforms, with Python and these files.
func imagesOf(t testing.TB, config v1.Config, files map[string][]byte) *runtimeimage.Images {
	t.Helper()
	files["usr/bin/python3.13"] = []byte("\x7fELF\x003.13.5\x00")
	l := e2e.Must(remotetest.Layer(files))(t)
	all := &runtimeimage.Images{}
	for _, p := range platforms {
		all.All = append(all.All, remotetest.Configured(t, remotetest.Image(t, v1.Config{}, l), p, config))
	}
	return all
}

func base(t testing.TB) *runtimeimage.Images {
	t.Helper()
	return imagesOf(t, v1.Config{User: "nonroot:nonroot"}, map[string][]byte{
		"usr/lib/libc.so.6": []byte("\x00GNU C Library (Debian GLIBC 2.41-12) stable release version 2.41.\n"),
	})
}

const manifest = `[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "function"
requires-python = ">=3.11,<3.14"
dependencies = ["grpcio>=1.73.1", "click==8.4.1"]
dynamic = ["version"]

[project.scripts]
function = "function.main:cli"

[project.entry-points."example.plugins"]
a = "function.main:cli"

[tool.hatch.build.targets.wheel]
packages = ["function"]

[tool.hatch.version]
path = "function/__version__.py"
`

// source writes a function with this pyproject.toml, and returns its folder.
func source(t testing.TB, pyproject string) string {
	t.Helper()
	dir := e2e.Dir(t, map[string]string{
		"pyproject.toml": pyproject, "function/__version__.py": "__version__ = \"0.1.0\"\n", "function/main.py": "def cli(): pass\n", "function/data.json": "{}",
		"function/__pycache__/main.pyc": "x", "README.md": "",
	})
	return dir
}

func template(t testing.TB) []wheelFile {
	t.Helper()
	return []wheelFile{
		newWheel(t, "click", "8.4.1", "py3-none-any", map[string]string{"click/__init__.py": "c = 1\n"}),
		newWheel(t, "grpcio", "1.80.0", "cp313-cp313-manylinux2014_x86_64", map[string]string{"grpc/_cython/cygrpc.so": "amd64"}),
		newWheel(t, "grpcio", "1.80.0", "cp313-cp313-manylinux2014_aarch64", map[string]string{"grpc/_cython/cygrpc.so": "arm64"}),
	}
}

// pinned returns a requirements.txt of wheels.
func pinned(wheels []wheelFile) string {
	hashes := map[string]string{}
	for _, w := range wheels {
		parts := strings.Split(w.name, "-")
		hashes[parts[0]+"=="+parts[1]] += " --hash=sha256:" + w.sum()
	}
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(hashes)) {
		fmt.Fprintln(&text, name+hashes[name])
	}
	return text.String()
}

// pylock returns a pylock.toml of wheels at a server.
func pylock(url string, wheels []wheelFile) string {
	text := "lock-version = \"1.0\"\ncreated-by = \"a test\"\n"
	last := ""
	for _, w := range wheels {
		parts := strings.Split(w.name, "-")
		if parts[0] != last {
			text += fmt.Sprintf("[[packages]]\nname = %q\nversion = %q\n", parts[0], parts[1])
		}
		last = parts[0]
		text += fmt.Sprintf("[[packages.wheels]]\nurl = %q\nhashes = { sha256 = %q }\n", url+"/files/"+w.name, w.sum())
	}
	return text
}

func build(t testing.TB, dir string, a language.Artifacts, env ...string) (*language.Result, error) {
	t.Helper()
	return python.Build(t.Context(), language.Source{Dir: dir, Root: filepath.Dir(dir), Platforms: platforms, Base: base(t), Artifacts: a},
		runtimeimage.Options{TempDir: t.TempDir(), Env: env})
}

// entries returns the text of each file in a layer, and the target of each link.
func entries(t testing.TB, l v1.Layer) map[string]string {
	t.Helper()
	all := map[string]string{}
	for h, data := range e2e.Tar(t, e2e.Must(l.Uncompressed())(t)) {
		if h.Typeflag != tar.TypeDir {
			all[h.Name] = h.Linkname + data
		}
	}
	return all
}

func TestBuild(t *testing.T) {
	wheels := template(t)
	idx := serve(t, false, "", wheels...)
	dir := source(t, manifest)
	e2e.WriteFiles(t, dir, map[string]string{"pylock.toml": pylock(idx.URL, wheels)})
	built := e2e.Must(build(t, dir, language.Artifacts{Dir: t.TempDir()}))(t)
	defer built.Images.Close()
	for i, machine := range []string{"x86_64", "aarch64"} {
		img := built.Images.All[i]
		config := e2e.Must(img.ConfigFile())(t)
		site := "fn_" + machine + "/lib/python3.13/site-packages/"
		if got := config.Config; got.Entrypoint[0] != "/"+site+"bin/function" || got.WorkingDir != "/" || got.User != "nonroot:nonroot" {
			t.Errorf("the config is %+v", got)
		}
		layers, err := img.Layers()
		if err != nil || len(layers) != 3 {
			t.Fatalf("got %d layers, %v", len(layers), err)
		}
		packages, own := entries(t, layers[1]), entries(t, layers[2])
		want := map[string]string{
			"fn_" + machine + "/pyvenv.cfg":     "home = /usr/bin\ninclude-system-site-packages = false\nversion = 3.13.5\n",
			"fn_" + machine + "/bin/python3.13": "/usr/bin/python3.13",
			site + "click/__init__.py":          "c = 1\n",
			site + "grpc/_cython/cygrpc.so":     platforms[i].Architecture,
		}
		if text := own[site+"function-0.1.0.dist-info/entry_points.txt"]; !strings.HasSuffix(text, "[example.plugins]\na = function.main:cli\n") {
			t.Errorf("entry_points.txt is %q", text)
		}
		for name, text := range want {
			e2e.Equal(t, name+" is in the layer of packages", text, packages[name])
		}
		if text := own[site+"bin/function"]; !strings.HasPrefix(text, "#!/fn_"+machine+"/bin/python3.13\n") || !strings.Contains(text, "from function.main import cli\n") {
			t.Errorf("bin/function is %q", text)
		}
		names := slices.Sorted(maps.Keys(own))
		info := site + "function-0.1.0.dist-info/"
		wantNames := []string{site + "bin/function", info + "INSTALLER", info + "METADATA", info + "RECORD", info + "WHEEL", info + "entry_points.txt", site + "function/__version__.py", site + "function/data.json", site + "function/main.py"}
		e2e.Equal(t, "the layer of the source has only its files", wantNames, names)
	}
	var materials []string
	for _, m := range built.Materials { // the base images have no package URL
		materials = append(materials, m.PURL)
	}
	e2e.Equal(t, "the materials are the base images and the wheels", []string{"", "", "pkg:pypi/click@8.4.1", "pkg:pypi/grpcio@1.80.0", "pkg:pypi/grpcio@1.80.0"}, materials)
}

// TestSameBytes builds one function in several folders, from indexes in JSON and HTML and
// from the cache. All images are equal. A change of the source changes only the last layer.
func TestSameBytes(t *testing.T) {
	wheels := template(t)
	inJSON, inHTML, cache := serve(t, false, "", wheels...), serve(t, true, "", wheels...), t.TempDir()
	online := language.Artifacts{Dir: cache, Index: inJSON.URL + "/simple"}
	offline := online
	offline.Offline = true
	digests := func(main string, a language.Artifacts) (image, packages v1.Hash) {
		t.Helper()
		dir := source(t, manifest)
		e2e.WriteFiles(t, dir, map[string]string{"requirements.txt": pinned(wheels), "function/main.py": main})
		built := e2e.Must(build(t, dir, a))(t)
		defer built.Images.Close()
		layers := e2e.Must(built.Images.All[0].Layers())(t)
		image, errImage := built.Images.All[0].Digest()
		packages, errLayer := layers[1].Digest()
		e2e.NoError(t, errors.Join(errImage, errLayer))
		return image, packages
	}
	image, packages := digests("x = 1", online)
	if other, _ := digests("x = 1", language.Artifacts{Dir: t.TempDir(), Index: inHTML.URL + "/simple"}); other != image {
		t.Errorf("the image of the index in HTML is %s, want %s", other, image)
	}
	asked := inJSON.requests.Load()
	if other, _ := digests("x = 1", offline); other != image {
		t.Errorf("the image from the cache is %s, want %s", other, image)
	}
	if other, same := digests("x = 2", offline); other == image || same != packages {
		t.Errorf("a change of the source must change the image %s, and not the packages %s", other, same)
	}
	entries, err := filepath.Glob(filepath.Join(cache, "python/*/*"))
	past := time.Now().Add(-time.Hour)
	for _, entry := range entries {
		err = errors.Join(err, os.Chtimes(entry, past, past))
	}
	digests("x = 1", offline)
	unused, pruneErr := python.Cache().Prune(t.Context(), cache, past.Add(time.Minute), true)
	if err := errors.Join(err, pruneErr); err != nil || unused.Entries != 0 || len(entries) == 0 {
		t.Errorf("%d of %d entries are unused after a build from the cache, %v", unused.Entries, len(entries), err)
	}
	kept, err := filepath.Glob(filepath.Join(cache, "python/layers/*"))
	if err != nil || len(kept) != 4 {
		t.Fatalf("the cache has the files %q of layers, %v", kept, err)
	}
	for _, file := range kept {
		if filepath.Ext(file) == "" {
			e2e.WriteFiles(t, "/", map[string]string{file: "damaged"})
		}
	}
	if other, _ := digests("x = 1", offline); other != image {
		t.Errorf("the image with damaged layers in the cache is %s, want %s", other, image)
	}
	e2e.Equal(t, "requests of offline builds to the index", int64(0), inJSON.requests.Load()-asked)
}
