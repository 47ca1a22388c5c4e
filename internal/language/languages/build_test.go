package languages_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/language"
	"github.com/xfn-dev/xfn/internal/language/languages"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/registry"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
)

var platforms = []v1.Platform{{OS: "linux", Architecture: "amd64"}, {OS: "linux", Architecture: "arm64"}}

// layer returns a layer with one file, compressed or not.
func layer(t *testing.T, file string, compressed bool) v1.Layer {
	t.Helper()
	data := e2e.Must(remotetest.Tar(map[string][]byte{file: []byte("base")}))(t)
	if !compressed {
		return static.NewLayer(data, types.OCIUncompressedLayer)
	}
	return e2e.Must(tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }, tarball.WithMediaType(types.OCILayer)))(t)
}

// base returns a base image for each platform as an index. With fn, it is the package of a
// function, and otherwise only a file system.
func base(t *testing.T, fn bool) v1.ImageIndex {
	t.Helper()
	var idx v1.ImageIndex = mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range platforms {
		img := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
		add := []mutate.Addendum{{
			Layer:   layer(t, "etc/base-"+p.Architecture, fn),
			History: v1.History{CreatedBy: "base step"},
		}}
		config := v1.Config{
			Env: []string{"PATH=/usr/local/bin:/bin", "BASE=1"}, User: "65532", WorkingDir: "/home/base",
			Labels: map[string]string{"base.label": "kept?"}, Cmd: []string{"ignored"},
		}
		if fn {
			config.Entrypoint, config.Cmd, config.ExposedPorts = []string{"/function"}, nil, map[string]struct{}{"9443/tcp": {}}
			for _, mark := range []string{"base", "upbound"} {
				add = append(add, mutate.Addendum{
					Layer:       layer(t, mark+".yaml", fn),
					Annotations: map[string]string{"io.crossplane.xpkg": mark},
				})
			}
		}
		img = e2e.Must(mutate.Append(img, add...))(t)
		file := e2e.Must(img.ConfigFile())(t)
		file = file.DeepCopy()
		file.OS, file.Architecture, file.Config, file.Author = p.OS, p.Architecture, config, "base author"
		img = e2e.Must(mutate.ConfigFile(img, file))(t)
		idx = mutate.AppendManifests(idx, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: &p}})
	}
	return idx
}

// serve pushes the base image to a registry and returns its reference.
func serve(t *testing.T, idx v1.ImageIndex) name.Reference {
	t.Helper()
	handler := e2e.Open(registry.Open(t.TempDir()))(t)
	ref := e2e.Must(name.ParseReference(remotetest.Serve(t, handler)+"/base:latest", name.Insecure))(t)
	e2e.NoError(t, remote.WriteIndex(ref, idx, remote.WithContext(t.Context())))
	return ref
}

// A cached is a base image in a registry, and the directory of a cache.
type cached struct {
	ref name.Reference
	dir string
}

// build builds the source in dir by its detected language.
func (c cached) build(t *testing.T, src language.Source, pull image.Options) (*language.Result, error) {
	t.Helper()
	opts := runtimeimage.Options{Env: os.Environ(), TempDir: t.TempDir(), Platforms: platforms}
	images, err := runtimeimage.FromCache(t.Context(), c.dir, c.ref, image.IfNotPresent, pull, opts)
	if err != nil {
		return nil, err
	}
	l := e2e.Must(languages.Detect(src.Dir))(t)
	src.Base, src.Platforms = images, platforms
	opts.Progress = pull.Progress
	built, err := l.Build(t.Context(), src, opts)
	if err == nil {
		t.Cleanup(func() { e2e.NoError(t, built.Images.Close()) })
	}
	return built, err
}

// listing returns the entries of a layer, a line each: type, mode, owner and name.
func listing(t *testing.T, l v1.Layer) []string {
	t.Helper()
	var all []string
	for h := range e2e.Tar(t, e2e.Must(l.Uncompressed())(t)) {
		if h.ModTime.Unix() != 0 || h.Uname+h.Gname != "" {
			t.Errorf("%s has the time %v and the owner %s:%s", h.Name, h.ModTime, h.Uname, h.Gname)
		}
		all = append(all, fmt.Sprintf("%c %o %d:%d %s", h.Typeflag, h.Mode, h.Uid, h.Gid, h.Name))
	}
	return all
}

var (
	templates = map[string]string{"b/10.yaml.tmpl": "b", ".hidden.tmpl": "h", "a.yaml.gotmpl": "a"}
	kclSource = map[string]string{
		"functions/fn/kcl.mod": "[package]", "functions/fn/main.k": "a = 1", "functions/fn/gone": "-> nowhere",
		"functions/fn/model": "-> ../../schemas/kcl", "schemas/kcl/kcl.mod": "[package]", "schemas/kcl/models/a.k": "b = 1",
	}
	goSource = map[string]string{
		"go.mod": "module example.com/acme/compose\n\ngo 1.25\n", "main.go": "package main\n\nfunc main() { println() }\n", "kodata/b/c.txt": "c",
	}
)

// The images have the layers and configs of the crossplane CLI's project build, apart from
// file times, the owner's name, and the order of files.
func TestBuild(t *testing.T) {
	fn := v1.Config{
		Entrypoint: []string{"/function"}, ExposedPorts: map[string]struct{}{"9443/tcp": {}}, User: "65532",
		WorkingDir: "/home/base", Labels: map[string]string{"base.label": "kept?", "a": "b"},
	}
	path := []string{"PATH=/usr/local/bin:/bin", "BASE=1"}
	templating, kcl, ko := fn, fn, fn
	templating.Env = slices.Concat(path, []string{"FUNCTION_GO_TEMPLATING_DEFAULT_SOURCE=/src"})
	kcl.Env = slices.Concat(path, []string{"FUNCTION_KCL_DEFAULT_SOURCE=/src", "KCL_PKG_PATH=/src"})
	ko.Env = []string{"PATH=/usr/local/bin:/bin:/ko-app", "BASE=1", "KO_DATA_PATH=/var/run/ko"}
	ko.Entrypoint, ko.ExposedPorts = []string{"/ko-app/compose"}, nil
	cases := map[string]struct {
		reason  string
		files   map[string]string
		fn      string
		config  v1.Config
		author  string
		history []string
		layers  [][]string
	}{
		"GoTemplating": {
			reason: "templates are a folder on the image of the function, without the layers of its package",
			files:  templates, config: templating, author: "base author", history: []string{"", ""},
			layers: [][]string{{"5 777 0:0 /src", "0 644 0:0 /src/.hidden.tmpl", "0 644 0:0 /src/a.yaml.gotmpl", "5 755 0:0 /src/b", "0 644 0:0 /src/b/10.yaml.tmpl"}},
		},
		"KCL": {
			reason: "KCL source contains the files behind links, without entries for their directories",
			files:  kclSource, fn: "functions/fn", config: kcl, author: "base author", history: []string{"", ""},
			layers: [][]string{{
				"5 777 2000:2000 /src", "0 644 2000:2000 /src/kcl.mod", "0 644 2000:2000 /src/main.k",
				"0 644 2000:2000 /src/model/kcl.mod", "0 644 2000:2000 /src/model/models/a.k",
			}},
		},
		"Go": {
			reason: "a Go program in a project has the layout of ko",
			files:  goSource, config: ko, author: "github.com/ko-build/ko", history: []string{"base step", "ko build ko://example.com/acme/compose", "ko build ko://example.com/acme/compose"},
			layers: [][]string{
				{"5 555 0:0 /var", "5 555 0:0 /var/run", "5 555 0:0 /var/run/ko", "0 555 0:0 /var/run/ko/b/c.txt"},
				{"5 555 0:0 ko-app", "0 555 0:0 /ko-app/compose"},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := e2e.Dir(t, tc.files)
			from := cached{serve(t, base(t, name != "Go")), t.TempDir()}
			src := language.Source{Dir: filepath.Join(dir, tc.fn), Root: dir, Project: true, Labels: map[string]string{"a": "b"}}
			built := e2e.Must(from.build(t, src, image.Options{}))(t)
			if len(built.Images.All) != len(platforms) {
				t.Fatalf("%s: got %d images", tc.reason, len(built.Images.All))
			}
			img := built.Images.All[0]
			e2e.NoError(t, validate.Image(img))
			config := e2e.Must(img.ConfigFile())(t)
			var history []string
			for _, h := range config.History {
				history = append(history, h.CreatedBy)
			}
			layers := e2e.Must(img.Layers())(t)
			var got [][]string
			for _, l := range layers[1:] {
				got = append(got, listing(t, l))
			}
			if diff := cmp.Diff(tc.config, config.Config) + cmp.Diff(tc.history, history) + cmp.Diff(tc.layers, got); diff != "" || config.Author != tc.author {
				t.Errorf("%s (-want +got):\n%s author %q", tc.reason, diff, config.Author)
			}
		})
	}
}

// Two copies of a source, in other folders and made with other times and modes, give the
// same images. The second build needs no registry.
func TestBuildIsRepeatable(t *testing.T) {
	for name, files := range map[string]map[string]string{"templates": templates, "kcl": kclSource, "go": goSource} {
		from := cached{serve(t, base(t, true)), t.TempDir()}
		var first []v1.Hash
		for i, mode := range []os.FileMode{0o600, 0o664} {
			dir := filepath.Join(t.TempDir(), strings.Repeat("deep/", i))
			e2e.WriteFiles(t, dir, files)
			for file := range files {
				path := filepath.Join(dir, filepath.FromSlash(file))
				if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
					continue
				}
				e2e.NoError(t, os.Chmod(path, mode))
			}
			src := language.Source{Dir: dir, Project: true}
			if name == "kcl" {
				src.Dir, src.Root = filepath.Join(dir, "functions", "fn"), dir
			}
			built := e2e.Must(from.build(t, src, image.Options{Offline: i > 0}))(t)
			var digests []v1.Hash
			for _, img := range built.Images.All {
				digests = append(digests, e2e.Must(img.Digest())(t))
			}
			if first == nil {
				first = digests
			}
			e2e.Equal(t, name+": each copy of the source gives the same images", first, digests)
		}
	}
}

func TestBuildRefuses(t *testing.T) {
	outside := e2e.Dir(t, map[string]string{"secret.k": "x"})
	cases := map[string]struct {
		reason string
		files  map[string]string
		want   string
	}{
		"Outside":    {"a link to a folder outside of the project is an error", map[string]string{"kcl.mod": "", "x": "-> " + outside}, "outside of"},
		"Up":         {"a relative link out of the project is an error", map[string]string{"kcl.mod": "", "x": "-> ../"}, "outside of"},
		"Loop":       {"a link to a folder that contains it is an error", map[string]string{"kcl.mod": "", "a/b/x": "-> ../../a"}, `"a/b/x" leads to a directory that contains it`},
		"Circle":     {"links to each other are an error", map[string]string{"kcl.mod": "", "x": "-> y", "y": "-> x"}, "following the symbolic link"},
		"Whiteout":   {"a name that deletes a file of the base image is an error", map[string]string{"kcl.mod": "", ".wh.function": ""}, "would mark another file as deleted"},
		"NoSource":   {"a folder without a file of the language is an error", map[string]string{"kcl.mod": ""}, "expected a file with the ending .k"},
		"Package":    {"a package in the source is an error", map[string]string{"kcl.mod": "", "a.xpkg": ""}, "is a package"},
		"GoPackage":  {"a library in Go is an error", map[string]string{"go.mod": "module x\n", "lib.go": "package lib\n"}, "library"},
		"ModuleName": {"a go.mod without a module is an error", map[string]string{"go.mod": "", "main.go": "package main\n\nfunc main() {}\n"}, "go.mod"},
	}
	from := cached{serve(t, base(t, true)), t.TempDir()}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := e2e.Dir(t, tc.files)
			e2e.ErrorHas(t, tc.reason, e2e.Err(from.build(t, language.Source{Dir: dir, Project: true}, image.Options{})), tc.want)
		})
	}
}

// A link that leads nowhere is left out of the image, with a warning that names it.
func TestBuildWarns(t *testing.T) {
	dir := e2e.Dir(t, map[string]string{"kcl.mod": "", "main.k": "", "model": "-> ../missing"})
	var warnings []string
	report := func(e progress.Event) {
		if e.Kind == progress.Warning {
			warnings = append(warnings, e.Text)
		}
	}
	from := cached{serve(t, base(t, true)), t.TempDir()}
	e2e.Must(from.build(t, language.Source{Dir: dir}, image.Options{Progress: report}))(t)
	if len(warnings) != 1 || !strings.Contains(warnings[0], filepath.Join(dir, "model")) {
		t.Errorf("got the warnings %q", warnings)
	}
}

// The materials are the base image of each platform, and, of a Go function, the modules in
// the program and the standard library.
func TestMaterials(t *testing.T) {
	idx := base(t, true)
	from := cached{serve(t, idx), t.TempDir()}
	manifests := e2e.Must(idx.IndexManifest())(t)
	repository := from.ref.Context().Name()
	var bases []language.Material
	for _, m := range manifests.Manifests {
		bases = append(bases, language.Material{
			Name: repository, Version: "latest", Digest: m.Digest.String(),
			PURL: "pkg:oci/base@sha256%3A" + m.Digest.Hex + "?arch=" + m.Platform.Architecture + "&repository_url=" + repository + "&tag=latest",
		})
	}
	slices.SortFunc(bases, func(a, b language.Material) int { return strings.Compare(a.PURL, b.PURL) })
	for name, files := range map[string]map[string]string{"go": goSource, "templates": templates, "kcl": {"kcl.mod": "", "main.k": ""}} {
		dir := e2e.Dir(t, files)
		got := e2e.Must(from.build(t, language.Source{Dir: dir, Project: true}, image.Options{}))(t).Materials
		if name == "go" {
			last := got[len(got)-1]
			if !strings.HasPrefix(last.PURL, "pkg:golang/stdlib@1.") || last.Name != "stdlib" {
				t.Errorf("the last material is %+v, want the standard library", last)
			}
			got = got[:len(got)-1]
		}
		e2e.Equal(t, "base images of "+name, bases, got)
	}
}
