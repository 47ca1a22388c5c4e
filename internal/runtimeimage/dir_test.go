package runtimeimage_test

import (
	"archive/tar"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
)

// A member is a file or directory in a layer of a base image.
type member struct {
	name, link string
	kind       byte
	mode       int64
}

// tarLayer returns a layer with the program /usr/bin/python3 and members.
func tarLayer(t *testing.T, members ...member) v1.Layer {
	t.Helper()
	var b strings.Builder
	tw := tar.NewWriter(&b)
	for _, m := range append([]member{{name: "usr/bin/python3", kind: tar.TypeReg, mode: 0o755}}, members...) {
		e2e.NoError(t, tw.WriteHeader(&tar.Header{Typeflag: m.kind, Name: m.name, Linkname: m.link, Mode: m.mode, Uid: 7, Gid: 8}))
	}
	e2e.NoError(t, tw.Close())
	return static.NewLayer([]byte(b.String()), types.OCIUncompressedLayer)
}

// baseOf returns one base image for each platform. Each has all these layers. The images
// are read from a tar archive.
func baseOf(t *testing.T, config v1.Config, layers []v1.Layer, platforms ...v1.Platform) *runtimeimage.Images {
	t.Helper()
	var images []mutate.Appendable
	for _, p := range platforms {
		img := e2e.Must(mutate.AppendLayers(mutate.MediaType(empty.Image, types.OCIManifestSchema1), layers...))(t)
		images = append(images, remotetest.Configured(t, img, p, config))
	}
	return e2e.Must(runtimeimage.FromTarball(t.Context(), writeArchive(t, remotetest.Index(images...)), runtimeimage.Options{TempDir: t.TempDir()}))(t)
}

// scratch returns a minimal base image.
func scratch(t *testing.T, platforms ...v1.Platform) *runtimeimage.Images {
	t.Helper()
	return baseOf(t, v1.Config{}, []v1.Layer{tarLayer(t, member{name: "usr/", kind: tar.TypeDir, mode: 0o755})}, platforms...)
}

// files creates a directory and returns its path. texts maps file names to contents. A name
// that ends in "/" is a directory, and a name that ends in "*" is an executable file.
func files(t *testing.T, texts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range texts {
		mode := os.FileMode(0o640)
		if strings.HasSuffix(name, "*") {
			name, mode = strings.TrimSuffix(name, "*"), 0o700
		}
		path := filepath.Join(dir, filepath.FromSlash(name))
		e2e.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		if strings.HasSuffix(name, "/") {
			e2e.NoError(t, os.MkdirAll(path, 0o700))
			continue
		}
		e2e.NoError(t, os.WriteFile(path, []byte(text), mode))
	}
	return dir
}

func fromDir(t *testing.T, d runtimeimage.Dir) []v1.Image {
	t.Helper()
	images := e2e.Must(runtimeimage.FromDir(t.Context(), d, options(t)))(t)
	t.Cleanup(func() { e2e.NoError(t, images.Close()) })
	return images.All
}

var python = []string{"python3", "main.py"}

// FromDir normalizes the owners, times and modes of the files. It keeps the config of the
// base image except for the fields that start the function.
func TestFromDir(t *testing.T) {
	dir := files(t, map[string]string{"main.py": "print()", "bin/run*": "#!", "lib/a/b.py": "", "empty/": ""})
	e2e.NoError(t, os.Symlink("/usr/bin/python3", filepath.Join(dir, "bin", "python")))
	e2e.NoError(t, os.Link(filepath.Join(dir, "main.py"), filepath.Join(dir, "same.py")))
	base := baseOf(t, v1.Config{
		User: "nonroot:nonroot", Cmd: []string{"-i"}, Entrypoint: []string{"/usr/bin/python3"}, WorkingDir: "/home",
		Env: []string{"PATH=/usr/bin", "LANG=C.UTF-8"}, Labels: map[string]string{"a": "1", "b": "2"},
		ExposedPorts: map[string]struct{}{"80/tcp": {}}, StopSignal: "SIGINT",
	}, []v1.Layer{tarLayer(t, member{name: "usr/", kind: tar.TypeDir, mode: 0o755})}, amd64, arm64)
	images := fromDir(t, runtimeimage.Dir{
		Path: dir, Base: base, Entrypoint: python,
		Env: []string{"LANG=en", "A=b=c"}, Labels: map[string]string{"b": "3", "c": "4"},
	})
	if len(images) != 2 {
		t.Fatalf("got %d images, want 2", len(images))
	}
	for i, arch := range []string{"amd64", "arm64"} {
		e2e.NoError(t, validate.Image(images[i]))
		config := e2e.Must(images[i].ConfigFile())(t)
		want := v1.Config{
			User: "nonroot:nonroot", Entrypoint: python, WorkingDir: "/function",
			Env: []string{"PATH=/usr/bin", "LANG=en", "A=b=c"}, Labels: map[string]string{"a": "1", "b": "3", "c": "4"},
			ExposedPorts: map[string]struct{}{"80/tcp": {}, "9443/tcp": {}}, StopSignal: "SIGINT",
		}
		e2e.Equal(t, "the config is that of the base image, except the fields that start the function", want, config.Config)
		if config.OS != "linux" || config.Architecture != arch || !config.Created.Equal(created) {
			t.Errorf("got %s/%s created %s", config.OS, config.Architecture, config.Created)
		}
	}
	got, data := contents(t, images[0])
	directory, text := entry{Mode: 0o755, Type: tar.TypeDir}, entry{Mode: 0o644, Size: 7, Type: tar.TypeReg}
	want := map[string]entry{
		"usr": {Mode: 0o755, Type: tar.TypeDir, UID: 7, GID: 8}, "usr/bin/python3": {Mode: 0o755, Type: tar.TypeReg, UID: 7, GID: 8}, "function": directory, "function/bin": directory,
		"function/lib": directory, "function/lib/a": directory, "function/empty": directory,
		"function/main.py": text, "function/same.py": text, "function/lib/a/b.py": {Mode: 0o644, Type: tar.TypeReg},
		"function/bin/run": {Mode: 0o755, Size: 2, Type: tar.TypeReg}, "function/bin/python": {Mode: 0o777, Type: tar.TypeSymlink},
	}
	e2e.Equal(t, "owners and modes of files are normalized", want, got)
	e2e.Equal(t, "a hard link becomes a file with the same content", "print()", string(data["function/same.py"]))
	assertOneLayer(t, images)
}

// assertOneLayer fails the test unless all images share the layer that FromDir added.
func assertOneLayer(t *testing.T, images []v1.Image) {
	t.Helper()
	a := e2e.Must(images[0].Manifest())(t)
	b := e2e.Must(images[1].Manifest())(t)
	if len(a.Layers) != 2 || a.Layers[1].Digest != b.Layers[1].Digest {
		t.Errorf("got layers %v and %v", a.Layers, b.Layers)
	}
}

// The image of FromDir does not depend on the path of the directory or on the times of
// its files.
func TestFromDirIsRepeatable(t *testing.T) {
	texts := map[string]string{"main.py": "x", "run*": "y", "d/": ""}
	first, second := files(t, texts), files(t, texts)
	for name, mode := range map[string]os.FileMode{"main.py": 0o606, "run": 0o777, "d": 0o777} {
		e2e.NoError(t, os.Chmod(filepath.Join(second, name), mode))
	}
	e2e.NoError(t, os.Chtimes(filepath.Join(second, "main.py"), created, created))
	var digests []v1.Hash
	layer := tarLayer(t, member{name: "usr/", kind: tar.TypeDir, mode: 0o755})
	for _, dir := range []string{first, second} {
		img := fromDir(t, runtimeimage.Dir{Path: dir, Base: baseOf(t, v1.Config{}, []v1.Layer{layer}, amd64), Entrypoint: python})[0]
		digests = append(digests, e2e.Must(img.Digest())(t))
	}
	e2e.Equal(t, "the digest does not depend on the path, modes and times", digests[1], digests[0])
}

// A package may be written into the directory that the package contains. The package's
// temporary file, which has a random name, is not part of the image.
func TestFromDirBesideThePackage(t *testing.T) {
	dir := files(t, map[string]string{"main.py": "x"})
	opts := options(t)
	opts.Beside = dir
	images := e2e.Must(runtimeimage.FromDir(t.Context(), runtimeimage.Dir{Path: dir, Base: scratch(t, amd64), Entrypoint: python}, opts))(t)
	got, _ := contents(t, images.All[0])
	for name := range got {
		if name != "usr" && name != "usr/bin/python3" && name != "function" && name != "function/main.py" {
			t.Errorf("the image has %q", name)
		}
	}
	e2e.NoError(t, images.Close())
}

// FromDir replaces the user of a base image only if that user is root.
func TestFromDirUser(t *testing.T) {
	for user, want := range map[string]string{
		"": "65532", "0": "65532", "root": "65532", "0:0": "65532", "root:root": "65532", ":5": "65532",
		"1000": "1000", "nonroot": "nonroot", "10:0": "10:0",
	} {
		base := baseOf(t, v1.Config{User: user}, []v1.Layer{tarLayer(t)}, amd64)
		config := e2e.Must(fromDir(t, runtimeimage.Dir{Path: files(t, map[string]string{"a": ""}), Base: base, Entrypoint: python})[0].ConfigFile())(t)
		e2e.Equal(t, fmt.Sprintf("user %q of the base image", user), want, config.Config.User)
	}
}

// A directory of the base image keeps the attributes that its topmost layer gives it.
func TestFromDirBeneath(t *testing.T) {
	base := []v1.Layer{
		tarLayer(
			t, member{name: "./tmp/", kind: tar.TypeDir, mode: 0o1777}, member{name: "opt/", kind: tar.TypeDir, mode: 0o700},
			member{name: "usr/bin/", kind: tar.TypeDir, mode: 0o755}, member{name: "bin", link: "usr/bin", kind: tar.TypeSymlink},
			member{name: "lib", link: "usr/lib", kind: tar.TypeSymlink}, member{name: "etc/", kind: tar.TypeDir, mode: 0o755},
			member{name: "srv/", kind: tar.TypeDir, mode: 0o711}, member{name: "srv/a/", kind: tar.TypeDir, mode: 0o711},
			member{name: "var/", kind: tar.TypeDir, mode: 0o711}, member{name: "var/a/", kind: tar.TypeDir, mode: 0o711},
			member{name: "file", kind: tar.TypeReg, mode: 0o644},
		),
		tarLayer(
			t, member{name: ".wh.lib", kind: tar.TypeReg}, member{name: "opt/", kind: tar.TypeDir, mode: 0o750},
			member{name: ".wh.srv", kind: tar.TypeReg}, member{name: "var/.wh..wh..opq", kind: tar.TypeReg},
		),
	}
	cases := map[string]struct {
		reason, workdir string
		files           map[string]string
		want            map[string]int64 // modes of the directories in the new layer
		err             string
	}{
		"Kept":         {"engines use the mode of the last layer", "/", map[string]string{"tmp/a": "", "opt/b/": ""}, map[string]int64{"tmp": 0o1777, "opt": 0o750, "opt/b": 0o755}, ""},
		"Parent":       {"parent directories keep their modes", "/tmp/a/b", map[string]string{"c": ""}, map[string]int64{"tmp": 0o1777, "tmp/a": 0o755, "tmp/a/b": 0o755}, ""},
		"Deleted":      {"directories that the base deleted do not exist", "/", map[string]string{"lib/x": "", "srv/a/x": ""}, map[string]int64{"lib": 0o755, "srv": 0o755, "srv/a": 0o755}, ""},
		"Opaque":       {"deleted content of a recreated directory does not exist", "/", map[string]string{"var/a/x": ""}, map[string]int64{"var": 0o711, "var/a": 0o755}, ""},
		"Link":         {"a directory in place of a link is an error", "/", map[string]string{"bin/x": ""}, nil, `a symbolic link to "usr/bin", where the function has the directory "/bin"`},
		"LinkOnTheWay": {"a parent directory in place of a link is an error", "/bin/fn", map[string]string{"x": ""}, nil, `the directory "/bin"`},
		"File":         {"a directory in place of a file is an error", "/", map[string]string{"file/x": ""}, nil, `a file, where the function has the directory "/file"`},
		"Directory":    {"a file in place of a directory is an error", "/", map[string]string{"etc": ""}, nil, `the directory "/etc"`},
		"Top":          {"a top-level working directory is a new directory", "/fn", map[string]string{"etc": ""}, map[string]int64{"fn": 0o755}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := runtimeimage.Dir{Path: files(t, tc.files), Base: baseOf(t, v1.Config{}, base, amd64), Workdir: tc.workdir, Entrypoint: python}
			if tc.err != "" {
				assertRefused(t, d, tc.reason, tc.err)
				return
			}
			img := fromDir(t, d)[0]
			layers := e2e.Must(img.Layers())(t)
			got := directories(t, layers[len(layers)-1])
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
}

// directories returns the modes of the directories in a layer, by name.
func directories(t *testing.T, l v1.Layer) map[string]int64 {
	t.Helper()
	modes := map[string]int64{}
	for h := range e2e.Tar(t, e2e.Must(l.Uncompressed())(t)) {
		if h.Typeflag == tar.TypeDir {
			modes[strings.TrimSuffix(h.Name, "/")] = h.Mode
		}
	}
	return modes
}

func assertRefused(t *testing.T, d runtimeimage.Dir, reason, want string) {
	t.Helper()
	_, err := runtimeimage.FromDir(t.Context(), d, options(t))
	assertSentence(t, reason, err, want, d.Path)
}

func TestFromDirRefuses(t *testing.T) {
	huge := files(t, map[string]string{"a": "", "b": ""})
	for _, name := range []string{"a", "b"} {
		e2e.NoError(t, os.Truncate(filepath.Join(huge, name), 5<<30))
	}
	windows := v1.Platform{OS: "windows", Architecture: "amd64"}
	some := files(t, map[string]string{"a": ""})
	cases := map[string]struct {
		reason string
		d      runtimeimage.Dir
		want   string
	}{
		"Absent":    {"the directory must exist", runtimeimage.Dir{Path: filepath.Join(t.TempDir(), "gone"), Entrypoint: python}, "no such file"},
		"File":      {"a file is not a directory", runtimeimage.Dir{Path: filepath.Join(some, "a"), Entrypoint: python}, "expected a directory, got a file"},
		"Empty":     {"an empty directory has no function", runtimeimage.Dir{Path: files(t, nil), Entrypoint: python}, "the directory is empty"},
		"Whiteout":  {"a file with the prefix of whiteouts is an error", runtimeimage.Dir{Path: files(t, map[string]string{"a/.wh.b": ""}), Entrypoint: python}, `"a/.wh.b" would mark another file as deleted`},
		"Package":   {"a package in the directory is an error", runtimeimage.Dir{Path: files(t, map[string]string{"package/fn.xpkg": ""}), Entrypoint: python}, `"package/fn.xpkg" is a package`},
		"Huge":      {"the size is limited", runtimeimage.Dir{Path: huge, Entrypoint: python}, "larger than 8 GiB"},
		"NoEntry":   {"an entry point is required", runtimeimage.Dir{Path: some}, "no entry point"},
		"EmptyWord": {"an empty entry point is an error", runtimeimage.Dir{Path: some, Entrypoint: []string{""}}, "no entry point"},
		"Relative":  {"the path in an image must be absolute", runtimeimage.Dir{Path: some, Workdir: "fn", Entrypoint: python}, `"fn"`},
		"Outside":   {"the path in an image must be clean", runtimeimage.Dir{Path: some, Workdir: "/fn/../..", Entrypoint: python}, `"/fn/../.."`},
		"Windows":   {"a base for Linux is required", runtimeimage.Dir{Path: some, Base: scratch(t, windows), Entrypoint: python}, "only for windows/amd64"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.d.Base == nil {
				tc.d.Base = scratch(t, amd64)
			}
			assertRefused(t, tc.d, tc.reason, tc.want)
		})
	}
}

// Python and Node.js packages can contain machine code, for one or several platforms.
// FromDir compares it with the platform of the base image.
func TestFromDirPrograms(t *testing.T) {
	const header = "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	x86, arm, object := header+"\x03\x00\x3e\x00", header+"\x03\x00\xb7\x00", header+"\x01\x00\x3e\x00"
	cases := map[string]struct {
		reason    string
		files     map[string]string
		platforms []v1.Platform
		want      string
	}{
		"Fits":    {"a program for the platform is accepted", map[string]string{"a.so": x86}, []v1.Platform{amd64}, ""},
		"Several": {"one of several programs for the platform is enough", map[string]string{"a.so": x86, "b.so": arm}, []v1.Platform{amd64, arm64}, ""},
		"Object":  {"object files are ignored", map[string]string{"a.o": object}, []v1.Platform{arm64}, ""},
		"Text":    {"other files are ignored", map[string]string{"a.so": "\x7fELF"}, []v1.Platform{arm64}, ""},
		"Other":   {"a program for another platform is an error", map[string]string{"d/a.so": x86}, []v1.Platform{arm64}, `"d/a.so" is for linux/amd64, but the base image is for linux/arm64`},
		"OneOf":   {"a program for one of two platforms is an error", map[string]string{"a.so": arm}, []v1.Platform{amd64, arm64}, `"a.so" is for linux/arm64, but the base image is for linux/amd64`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := runtimeimage.Dir{Path: files(t, tc.files), Base: scratch(t, tc.platforms...), Entrypoint: python}
			if tc.want == "" {
				fromDir(t, d)
				return
			}
			assertRefused(t, d, tc.reason, tc.want)
		})
	}
	d := runtimeimage.Dir{Path: files(t, map[string]string{"a.so": x86}), Base: scratch(t, arm64), Entrypoint: python}
	e2e.Has(t, "the hint names the platform of the program", string(hint.Of(e2e.Err(runtimeimage.FromDir(t.Context(), d, options(t))))), "{platform} linux/amd64")
}

func TestFromDirWithoutBase(t *testing.T) {
	_, err := runtimeimage.FromDir(t.Context(), runtimeimage.Dir{Path: files(t, map[string]string{"a": ""}), Entrypoint: python}, options(t))
	e2e.ErrorHas(t, "a directory needs a base image", err, "no base image")
}

func TestFromDirStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	base := scratch(t, amd64)
	cancel()
	d := runtimeimage.Dir{Path: files(t, map[string]string{"a": ""}), Base: base, Entrypoint: python}
	e2e.ErrorIs(t, "FromDir returns the cause of its context", e2e.Err(runtimeimage.FromDir(ctx, d, options(t))), context.Canceled)
}
