package xpkg_test

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	cmd "github.com/xfn-dev/xfn/cmd/xfn/xpkg"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/remote/dockerengine/dockerenginetest"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
	"github.com/xfn-dev/xfn/push"
	"github.com/xfn-dev/xfn/xpkg"
)

const golden = "../../../testdata/golden/xpkg"

// TestGoldenExtract runs the cases of xpkg extract of the crossplane CLI. It
// compares success, and the names and content of files.
func TestGoldenExtract(t *testing.T) {
	cases, err := os.ReadDir(filepath.Join(golden, "extract"))
	if err != nil || len(cases) == 0 {
		t.Fatalf("found no cases: %v", err)
	}
	goldenDir := e2e.Must(filepath.Abs(golden))(t)
	for _, c := range cases {
		t.Run(c.Name(), func(t *testing.T) {
			dir := filepath.Join(goldenDir, "extract", c.Name())
			host := ""
			if strings.HasPrefix(c.Name(), "registry") {
				host = goldenRegistry(t, goldenDir)
			}
			if strings.HasPrefix(c.Name(), "daemon-") {
				giveEngine(t, "gold.test/rt:amd64")
			}
			work := workDir(t, goldenDir, c.Name())
			t.Chdir(work)
			args := strings.Split(strings.TrimSpace(strings.ReplaceAll(e2e.ReadFile(t, dir, "args"), "127.0.0.1:5055", host)), "\n")
			if args[0] == "" {
				args = nil
			}
			_, err := extract(t, args...)
			if want := strings.TrimSpace(e2e.ReadFile(t, dir, "exit")) == "0"; (err == nil) != want {
				t.Fatalf("got %v, want success %t", err, want)
			}
			if err != nil {
				t.Logf("error: %v", err)
			}
			for _, name := range matches(t, filepath.Join(dir, "*.content")) {
				file := strings.TrimSuffix(filepath.Base(name), ".content")
				e2e.Equal(t, file+" has the content that the crossplane CLI extracts", e2e.ReadFile(t, name), unzipped(t, filepath.Join(work, file)))
			}
			e2e.Equal(t, "each recorded file is extracted", len(matches(t, filepath.Join(dir, "*.content"))), len(matches(t, filepath.Join(work, "*.gz"))))
		})
	}
}

// extract runs the command with arguments.
func extract(t *testing.T, args ...string) (stdout string, err error) {
	t.Helper()
	c := &cmd.ExtractCmd{}
	parser := e2e.Must(kong.New(c))(t)
	if _, err := parser.Parse(args); err != nil {
		return "", err
	}
	stdout = printed(t, 0, func(term *terminal.Terminal) error {
		err = c.Run(t.Context(), term, terminal.Program{Name: "xfn", Version: "test"})
		return nil
	})
	return stdout, err
}

// workDir creates the working directory of a case, with the packages of other cases.
func workDir(t *testing.T, goldenDir, name string) string {
	t.Helper()
	dir := t.TempDir()
	maker := map[string]string{"xpkg-runtime": "runtime-tar-docker-save", "xpkg-runtime-package-yaml": "runtime-tar-has-package-yaml", "xpkg-none": ""}
	build, ok := maker[name]
	if !ok {
		build = "meta-fn-v1"
	}
	if build != "" {
		writeCase(t, goldenDir, build, filepath.Join(dir, "a.xpkg"))
	}
	if name == "xpkg-two" {
		writeCase(t, goldenDir, "meta-fn-v1", filepath.Join(dir, "b.xpkg"))
	}
	return dir
}

// writeCase builds the package of a case.
func writeCase(t *testing.T, goldenDir, name, path string) {
	t.Helper()
	e2e.NoError(t, xpkg.WriteFile(t.Context(), path, buildCase(t, goldenDir, name), nil))
}

func buildCase(t *testing.T, goldenDir, name string) xpkg.Artifact {
	t.Helper()
	in := filepath.Join(goldenDir, "build", name, "in")
	pkg := e2e.Must(xpkg.Read(t.Context(), afero.NewOsFs(), filepath.Join(in, "package"), xpkg.ReadOptions{}))(t)
	var runtimes []v1.Image
	if tar := filepath.Join(in, "rt.tar"); len(matches(t, tar)) > 0 {
		all := e2e.Open(runtimeimage.FromTarball(t.Context(), tar, runtimeimage.Options{TempDir: t.TempDir()}))(t)
		runtimes = all.All
	}
	return e2e.Must(xpkg.Build(pkg, runtimes, xpkg.BuildOptions{}))(t)
}

// goldenRegistry serves a registry with the packages of the extract cases, and returns
// its address. It builds the packages, because their original builders are not available.
func goldenRegistry(t *testing.T, goldenDir string) string {
	t.Helper()
	host := remotetest.Serve(t, remotetest.Handler())
	function := buildCase(t, goldenDir, "meta-fn-v1").(v1.Image)
	for name, a := range map[string]xpkg.Artifact{
		"p-single":             buildCase(t, goldenDir, "meta-cfg-v1"),
		"p-multi-two-arch":     indexOf(function, "linux/amd64", "linux/arm64"),
		"p-multi-arm-variants": indexOf(function, "linux/arm/v6", "linux/arm/v7"),
		"p-multi-no-platform":  indexOf(function, "", ""),
		"p-file-plain-image":   plain(t),
	} {
		e2e.Must(push.Artifact(t.Context(), e2e.Must(remote.ParseTag("gold/"+name+":v1.0.0", host))(t), a, push.Options{}))(t)
	}
	return host
}

// indexOf returns an index of img for platforms. An empty platform is left out.
func indexOf(img v1.Image, platforms ...string) v1.ImageIndex {
	idx := v1.ImageIndex(empty.Index)
	for _, name := range platforms {
		p := &v1.Platform{}
		if name != "" {
			p, _ = v1.ParsePlatform(name)
		}
		config, _ := img.ConfigFile()
		config = config.DeepCopy()
		config.OS, config.Architecture, config.Variant = p.OS, p.Architecture, p.Variant
		child, _ := mutate.ConfigFile(img, config)
		idx = mutate.AppendManifests(idx, mutate.IndexAddendum{Add: child, Descriptor: v1.Descriptor{Platform: p}})
	}
	return idx
}

// plain returns an image that is not a package.
func plain(t *testing.T) v1.Image {
	t.Helper()
	return e2e.Must(random.Image(1024, 2))(t)
}

// giveEngine loads an image that is not a package into the Docker engine.
func giveEngine(t *testing.T, name string) {
	t.Helper()
	t.Setenv("DOCKER_HOST", dockerenginetest.Environment(t).Host)
	dockerenginetest.Load(t, dockerenginetest.Open(t), name, plain(t))
}

func matches(t *testing.T, pattern string) []string {
	t.Helper()
	return e2e.Must(filepath.Glob(pattern))(t)
}

func unzipped(t *testing.T, path string) string {
	t.Helper()
	f := e2e.Must(os.Open(path))(t)
	defer f.Close()
	return string(e2e.Must(io.ReadAll(e2e.Must(gzip.NewReader(f))(t)))(t))
}
