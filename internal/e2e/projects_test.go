package e2e_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/language/languages"
	"github.com/xfn-dev/xfn/internal/oci/archive"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

// projectsDir has projects with the layouts of public ones.
const projectsDir = "../../testdata/projects"

// TestProjects lints, builds, renders, tests and pushes each project of projectsDir. The file
// that is pulled must equal the built one, and the registry must have the digests that push
// prints. No engine is available. The Docker registry gets the same projects.
func TestProjects(t *testing.T) {
	t.Parallel()
	address := remotetest.Serve(t, remotetest.Embedded(t))
	pushBases(t, address)
	pushLanguageBases(t, address)
	pushDependencies(t, address)
	addresses := strings.NewReplacer("mirror.example.org", address, "crds.example.org", serveCRD(t), "https://git.example.org/acme/crds", gitRepository(t))
	offline := []string{"--offline"}
	cases := map[string]struct {
		packages int
		// example has the arguments of render, whose output must contain the text composes.
		// The base images of functions in KCL, Python and TypeScript have no program that can
		// run: the suites mock these functions. TestScaffoldsOffline renders projects with
		// functions in Python and TypeScript.
		example, composes string
		// operation is an operation that is rendered, too.
		operation string
		tarballs  []string
		// bases are the base images that the lock file must have, besides the dependencies.
		bases []string
		// validate has the flags of validate. Without --offline, it reads the dependencies.
		validate []string
	}{
		"all-languages": {packages: 6, validate: offline},
		"go-models":     {packages: 2, example: "examples/app.yaml", composes: "size: large", validate: offline},
		"image-configs": {packages: 2, example: "examples/app.yaml", composes: "size: small"},
		"kcl":           {packages: 2, validate: offline},
		"no-functions":  {packages: 1, example: "examples/bucket.yaml", composes: "region: eu-west-1", validate: offline},
		"operations":    {packages: 3, example: "examples/backup.yaml", composes: "target: orders", operation: "operations/nightly/cron.yaml", validate: offline},
		"other-paths":   {packages: 2, example: "package/examples/xr.yaml", composes: `nodes: "2"`, validate: offline},
		"platform":      {packages: 4, example: "examples/environment.yaml", composes: "engine: postgres", validate: offline},
		"python":        {packages: 2, validate: offline},
		"tarballs":      {packages: 4, example: "examples/deployment.yaml", composes: "replicas: 2", tarballs: []string{"build/schedule", "build/serve"}, validate: offline},
		"templates":     {packages: 2, example: "examples/app.yaml", composes: `count: "3"`, validate: offline},
		"typescript":    {packages: 2, validate: offline},
		"up-apis":       {packages: 3, example: "examples/store.yaml apis/stores/composition.yaml", composes: "region: eu-west-1", bases: []string{languages.GoTemplating().Base, languages.KCL().Base}},
		"up-old":        {packages: 2, example: "examples/app.yaml", composes: "region: small", validate: offline},
	}
	found := e2e.Must(os.ReadDir(projectsDir))(t)
	for _, d := range found {
		tc, ok := cases[d.Name()]
		if !ok {
			t.Errorf("%s is not in the table", d.Name())
			continue
		}
		t.Run(d.Name(), func(t *testing.T) {
			t.Parallel()
			p := newProjectSite(t, d.Name(), addresses)
			for _, prefix := range tc.tarballs {
				for _, arch := range []string{"amd64", "arm64"} {
					p.writeTarball(t, prefix+"-"+arch+".tar", arch)
				}
			}
			e2e.Has(t, "a valid project has no problems", p.mustRun(t, "project", "lint"), "nothing is wrong")
			if tc.example != "" && (tc.tarballs == nil || runtime.GOOS == "linux") { // A new clone has no models: the render writes those that functions import.
				e2e.Has(t, "the render has the resource of the example", p.mustRun(t, append([]string{"render"}, strings.Fields(tc.example)...)...), tc.composes)
			}
			if tc.operation != "" {
				e2e.Has(t, "the render of the operation lacks its resource", p.mustRun(t, "operation", "render", tc.operation), "kind: ConfigMap")
			}
			if out := p.mustRun(t, append([]string{"validate"}, tc.validate...)...); !strings.Contains(out, " 0 missing schemas, ") || !strings.Contains(out, " 0 failure cases") {
				t.Errorf("validate: %s", out)
			}
			p.mustRun(t, "project", "build")
			if tc.bases != nil {
				p.lock(t, tc.bases)
			}
			e2e.Has(t, "the tests of the project pass", p.mustRun(t, "test"), "ok (1 case")
			p.push(t, address+"/acme/"+d.Name(), tc.packages)
			t.Run("docker-registry", func(t *testing.T) {
				p.push(t, remotetest.Distribution{}.Start(t)+"/acme/"+d.Name(), tc.packages)
			})
		})
	}
	if len(found) != len(cases) {
		t.Errorf("the table has %d projects, %s has %d", len(cases), projectsDir, len(found))
	}
}

// pushLanguageBases pushes the base images of functions in Python and TypeScript.
func pushLanguageBases(t *testing.T, address string) {
	t.Helper()
	for base, files := range map[string]map[string][]byte{
		"python": {"usr/bin/python3.13": []byte("\x7fELF"), "usr/lib/libc.so.6": []byte("GNU C Library (Debian GLIBC) stable release version 2.36.\n")},
		"node":   {"nodejs/bin/node": []byte("\x7fELF")},
	} {
		layer := e2e.Must(remotetest.Layer(files))(t)
		config := v1.Config{Entrypoint: []string{"/nodejs/bin/node"}}
		pushBase(t, address+"/base/"+base+":latest", func(arch string) v1.Image {
			return remotetest.Configured(t, remotetest.Image(t, v1.Config{}, layer), v1.Platform{OS: "linux", Architecture: arch}, config)
		})
	}
}

// A projectSite is a copy of a project with a cache of its own.
type projectSite struct{ dir, home string }

// newProjectSite copies a project, and replaces the addresses in its files.
func newProjectSite(t *testing.T, project string, addresses *strings.Replacer) projectSite {
	t.Helper()
	p := projectSite{dir: filepath.Join(t.TempDir(), "project"), home: t.TempDir()}
	e2e.NoError(t, os.CopyFS(p.dir, os.DirFS(filepath.Join(projectsDir, project))))
	replaceAll(t, p.dir, addresses)
	return p
}

// writeTarball writes a runtime image that another tool has built. The image for this machine
// has a program that answers as its input says.
func (p projectSite) writeTarball(t *testing.T, file, arch string) {
	t.Helper()
	img := baseImage(t, arch, false)
	if arch == runtime.GOARCH {
		program := e2e.Must(functiontest.BuildChild())(t)
		layer := e2e.Must(remotetest.Layer(map[string][]byte{"function": program}))(t)
		config := v1.Config{Entrypoint: append([]string{"/function"}, functiontest.ChildArgs(functiontest.Serves, "")...)}
		img = remotetest.Configured(t, remotetest.Image(t, v1.Config{}, layer), v1.Platform{OS: "linux", Architecture: arch}, config)
	}
	path := filepath.Join(p.dir, file)
	e2e.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	tagged := []archive.Tagged{{Tag: "runtime:latest", Image: img}}
	e2e.NoError(t, archive.WriteTagged(t.Context(), path, tagged, nil))
}

// mustRun runs xfn in the project and returns its output. There is no engine.
func (p projectSite) mustRun(t *testing.T, args ...string) string {
	t.Helper()
	cmd := e2e.Command(t, args...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "XFN_CACHE_DIR="+p.home, "DOCKER_CONFIG="+p.home, "DOCKER_HOST=unix://"+p.home+"/no-engine.sock")
	code, stdout, stderr := runCommand(t, cmd)
	if code != done {
		t.Fatalf("xfn %s: exit code %d: %s%s", strings.Join(args, " "), code, stdout, stderr)
	}
	return stdout
}

// lock locks the project and base images, whose references the project rewrites, and builds it
// with --locked. Models of the locked dependencies stay.
func (p projectSite) lock(t *testing.T, bases []string) {
	t.Helper()
	args := []string{"lock", "."}
	for _, b := range bases {
		args = append(args, "--base-image", b)
	}
	out := p.mustRun(t, args...)
	for _, want := range []string{"added git+", "added http://", "added " + bases[0]} {
		if !strings.Contains(out, want) {
			t.Errorf("lock: %q is not in\n%s", want, out)
		}
	}
	const schemas = ".up/.lock.json"
	before := e2e.ReadFile(t, filepath.Join(p.dir, schemas))
	p.mustRun(t, "project", "build", "--locked", "-o", "locked")
	e2e.Equal(t, "the locked build is the same", e2e.ReadFile(t, filepath.Join(p.dir, "_output/up-apis.xpkg")), e2e.ReadFile(t, filepath.Join(p.dir, "locked/up-apis.xpkg")))
	e2e.Equal(t, "models of locked dependencies were generated again", before, e2e.ReadFile(t, filepath.Join(p.dir, schemas)))
}

// push builds the project for a repository, and pushes it twice. It compares the digests that
// push prints, those in the registry, and the file that pull writes.
func (p projectSite) push(t *testing.T, repository string, packages int) {
	t.Helper()
	p.mustRun(t, "project", "build", "--repository", repository)
	args := []string{"project", "push", "--repository", repository, "--tag", "v0.1.0", "--format", "json"}
	var pushed struct {
		Packages []struct {
			Reference, Digest string
			Sent              int64
		}
	}
	for _, reason := range []string{"the first push", "the second push"} {
		e2e.NoError(t, json.Unmarshal([]byte(p.mustRun(t, args...)), &pushed))
		e2e.Equal(t, reason, packages, len(pushed.Packages))
	}
	for _, pkg := range pushed.Packages {
		ref := e2e.Must(name.ParseReference(pkg.Reference))(t)
		a := e2e.Must(image.Artifact(t.Context(), ref, image.Options{}))(t)
		if got, err := a.Digest(); err != nil || got.String() != pkg.Digest {
			t.Errorf("%s: the registry has digest %s, %v, push printed %s", ref, got, err, pkg.Digest)
		}
		if pkg.Sent != 0 {
			t.Errorf("%s: the second push sent %d bytes", ref, pkg.Sent)
		}
	}
	p.mustRun(t, "project", "pull", repository+":v0.1.0", "-o", "pulled.xpkg")
	built := filepath.Join(p.dir, "_output", filepath.Base(repository)+".xpkg")
	e2e.Equal(t, "the pulled file differs from the built one", e2e.ReadFile(t, built), e2e.ReadFile(t, filepath.Join(p.dir, "pulled.xpkg")))
}
