package e2e_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/language/languages"
	"github.com/xfn-dev/xfn/internal/language/python"
	"github.com/xfn-dev/xfn/internal/language/typescript"
)

// A bundled is a bundled template, and how its function is built.
type bundled struct {
	template, source, root string
	// files are added to the scaffold: a lock file.
	files map[string]string
	// flags are added to builds and renders.
	flags []string
	// renders is part of the rendered example.
	renders string
}

// scaffolds returns the templates of languages with a base image, a cache with these images, and the
// registry of npm. Users get other images, which need a network. In these images, Python and Node.js
// are Debian's, the SDK of Python is a small one of testdata, and a function in Go is in the place of
// function-go-templating and function-kcl.
func scaffolds(t *testing.T) (all []bundled, cache, npm string) {
	t.Helper()
	npm, cache = npmRegistry(t), t.TempDir()
	pullBase(t, cache, typescript.Language().Base, debianNode(t))
	root, w := debianPython(t), wheels{}
	pullBase(t, cache, python.Language().Base, debianPythonBase(t))
	sdk := generated(t, root, "crossplane/function/proto/v1")
	e2e.NoError(t, os.CopyFS(sdk, os.DirFS("testdata/sdk-python")))
	w["crossplane_function_sdk_python-0.14.0-py3-none-any.whl"] = wheelOf(t, sdk, "crossplane_function_sdk_python", "0.14.0", "py3-none-any", "grpcio protobuf pydantic", ".")
	w.add(t, root, "click", "8.4.1", false, "click")
	w.add(t, root, "grpcio", "1.80.0", true, "grpc")
	w.add(t, root, "protobuf", "7.34.1", true, "google")
	w.add(t, root, "pydantic", "1.10.4", false, "pydantic", "typing_extensions.py")
	stand := layoutOfGo(t)
	for _, reference := range []string{languages.GoTemplating().Base, languages.KCL().Base} {
		pullBase(t, cache, reference, stand)
	}
	return []bundled{
		{template: "go-templating", source: "function", root: "package", renders: "kind: Deployment"},
		{template: "kcl", source: "function", root: "package", renders: "kind: Deployment"},
		{template: "typescript", source: ".", root: "package-function", renders: "url: http://shop"},
		{template: "python", source: ".", root: "package", renders: "url: http://shop", files: map[string]string{"requirements.txt": w.lock()}, flags: []string{"--index-url", w.serve(t)}},
	}, cache, npm
}

// layoutOfGo returns an OCI layout with the function of the template go-minimal.
func layoutOfGo(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	env := pageEnvironment(t, t.TempDir(), "")
	for _, args := range []string{"xpkg init function-hello go-minimal -d .", "xpkg build -f package --embed-runtime-source . -o fn.xpkg"} {
		cmd := e2e.Command(t, strings.Fields(args)...)
		cmd.Dir, cmd.Env = dir, env
		e2e.Output(t, cmd)
	}
	layout := t.TempDir()
	mustExec(t, "tar", "-C", layout, "-xf", filepath.Join(dir, "fn.xpkg"))
	return layout
}

// A user runs xfn in a directory.
type user struct {
	dir, cache string
	// id is an ordinary user, or 0 for the user of the tests. Only root can have an id.
	id uint32
	// online keeps the network. Without it, root's xfn runs without network devices.
	online bool
	bin    string
	// umask is the umask of xfn, and npm the npm registry that xfn uses.
	umask, npm string
}

// owner returns the owner of the user's files, or -1 for the owner of this process.
func (u user) owner() int {
	if u.id == 0 {
		return -1
	}
	return int(u.id)
}

func (u user) run(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(e2e.Context(t), e2e.Binary(t), args...)
	if u.bin != "" {
		cmd.Path = u.bin
	}
	withUmask(cmd, u.umask)
	cmd.Dir = u.dir
	cmd.Env = append(os.Environ(), "XFN_CACHE_DIR="+u.cache, "npm_config_registry="+u.npm)
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if u.id != 0 {
		cmd.Env = append(cmd.Env, "HOME="+u.dir, "TMPDIR="+u.dir)
		setUser(cmd, u.id)
	}
	if os.Geteuid() == 0 && !u.online {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWNET
	}
	return e2e.Output(t, cmd)
}

// make creates a function, builds its package without a network, and renders its example. It
// returns the digest of the package.
func (u user) make(t *testing.T, s bundled) string {
	t.Helper()
	u.run(t, "xpkg", "init", "function-hello", s.template, "-d", filepath.Join(u.dir, "fn"))
	for name, text := range s.files {
		file := filepath.Join(u.dir, "fn", name)
		e2e.NoError(t, errors.Join(os.WriteFile(file, []byte(text), 0o600), os.Lchown(file, u.owner(), -1)))
	}
	in := u
	in.dir = filepath.Join(u.dir, "fn")
	build := append([]string{"xpkg", "build", "-f", s.root, "--embed-runtime-source", s.source, "-o", "fn.xpkg"}, s.flags...)
	if u.online {
		return in.run(t, build...)
	}
	digest := in.run(t, append(build, "--offline")...)
	for _, pkg := range []string{"fn.xpkg", s.source} {
		out := in.run(t, append([]string{
			"render", "example/xr.yaml", "example/composition.yaml", "example/functions.yaml", "--package", "function-hello=" + pkg, "--offline", "--timeout", "5m",
		}, s.flags...)...)
		if !strings.Contains(out, s.renders) {
			t.Errorf("the render with %s lacks %q:\n%s", pkg, s.renders, out)
		}
	}
	return digest
}

// renderProjects renders the examples of projects with functions in Python and TypeScript,
// without a network, with the base images and the packages that the templates have in the cache.
// The base images are Debian's. No machine of the tests has an interpreter of KCL.
func (u user) renderProjects(t *testing.T, all []bundled) {
	t.Helper()
	template := all[slices.IndexFunc(all, func(b bundled) bool { return b.template == "python" })]
	for name, tc := range map[string]struct {
		python, typescript string
		args               []string
		want               string
	}{
		"python":        {python: "topic", args: []string{"render", "examples/topic.yaml", "--timeout", "5m"}, want: `partitions: "3"`},
		"typescript":    {typescript: "queue", args: []string{"render", "examples/queue.yaml", "--timeout", "5m"}, want: "suffix: .fifo"},
		"all-languages": {"python", "typescript", []string{"test", "--case-timeout", "5m"}, "ok (1 case"},
	} {
		t.Run(name, func(t *testing.T) {
			in := u
			in.dir = t.TempDir()
			e2e.NoError(t, os.CopyFS(in.dir, os.DirFS(filepath.Join(projectsDir, name))))
			in.change(t, "crossplane-project.yaml", func(s string) string { return s[:strings.Index(s, "  imageConfigs:")] })
			if tc.python != "" {
				dir := filepath.Join("functions", tc.python)
				in.change(t, filepath.Join(dir, "requirements.txt"), func(string) string { return template.files["requirements.txt"] })
				in.change(t, filepath.Join(dir, "pyproject.toml"), func(s string) string {
					return strings.Replace(s, "dependencies = []", `dependencies = ["crossplane-function-sdk-python==0.14.0", "click==8.4.1", "grpcio>=1.73.1"]`, 1)
				})
			}
			if tc.typescript != "" {
				dir := filepath.Join("functions", tc.typescript)
				for _, file := range []string{"package.json", "package-lock.json", "src/main.ts"} {
					in.change(t, filepath.Join(dir, file), func(string) string { return e2e.ReadFile(t, filepath.Join("../../templates/_typescript", file)) })
				}
				in.change(t, filepath.Join(dir, "src/function.ts"), func(string) string {
					return e2e.ReadFile(t, filepath.Join(projectsDir, "typescript/functions/queue/src/function.ts"))
				})
			}
			if name == "all-languages" {
				in.change(t, "tests/app.yaml", func(s string) string {
					s = strings.NewReplacer("    python: {response: {}}\n", "", "    typescript: {response: {}}\n", "").Replace(s)
					return s + "      python:\n        data.size: small\n      queue:\n        data.suffix: \"\"\n"
				})
			}
			out := in.run(t, append(append(tc.args, "--offline"), template.flags...)...)
			if !strings.Contains(out, tc.want) {
				t.Errorf("%s lacks %q:\n%s", strings.Join(tc.args, " "), tc.want, out)
			}
			if tc.args[0] == "render" { // The base image of Go is not in the cache.
				in.run(t, append([]string{"project", "build", "--offline", "--platform", "linux/" + runtime.GOARCH}, template.flags...)...)
			}
		})
	}
}

// change writes a file in the directory of the user, from its text or "".
func (u user) change(t *testing.T, file string, text func(string) string) {
	t.Helper()
	path := filepath.Join(u.dir, file)
	was, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	e2e.WriteFile(t, path, text(string(was)))
}

// TestScaffoldsOffline goes from an empty directory to a package and a render: first with a network,
// and then without it, as an ordinary user with another umask, who gets the cache. Both get the
// same package. Go needs no base image: TestBuildIsTheSameAnywhere and the scripts have it.
func TestScaffoldsOffline(t *testing.T) {
	t.Parallel()
	const ordinary, none = 54321, "http://127.0.0.1:1"
	all, cache, npm := scaffolds(t)
	bin := e2e.Must(copyBinary(filepath.Join(t.TempDir(), "bin"), e2e.Binary(t)))(t)
	digests := map[string]string{}
	for _, s := range all {
		digests[s.template] = user{dir: t.TempDir(), cache: cache, online: true, umask: "022", npm: npm}.make(t, s)
	}
	u := user{dir: t.TempDir(), cache: cache, umask: "022", npm: none}
	u.renderProjects(t, all)
	if os.Geteuid() == 0 {
		home := t.TempDir()
		mustExec(t, "mv", cache, filepath.Join(home, "cache"))
		own(t, home, ordinary)
		u = user{dir: home, cache: filepath.Join(home, "cache"), id: ordinary, bin: bin, umask: "077", npm: none}
	}
	for _, s := range all {
		t.Run(s.template, func(t *testing.T) {
			in := u
			in.dir = filepath.Join(u.dir, s.template)
			e2e.NoError(t, errors.Join(os.Mkdir(in.dir, 0o700), os.Lchown(in.dir, u.owner(), -1)))
			e2e.Equal(t, "the package is the same without a network", digests[s.template], in.make(t, s))
		})
	}
}
