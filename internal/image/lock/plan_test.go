package lock_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/random"
	ggcr "github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/image/lock"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

// A world is a registry, and files that refer to its images.
type world struct {
	host   string
	asked  *remotetest.Requests
	images map[string]string
	fsys   afero.Fs
	// depends are the dependencies of packages, by their digests.
	depends map[string][]lock.Dependency
}

func newWorld(t *testing.T) *world {
	t.Helper()
	asked := remotetest.Record(remotetest.Embedded(t))
	return &world{asked: asked, host: remotetest.Serve(t, asked), images: map[string]string{}, depends: map[string][]lock.Dependency{}, fsys: afero.NewMemMapFs()}
}

// push moves a tag to a new image.
func (w *world) push(t *testing.T, tag string) {
	t.Helper()
	img := e2e.Must(random.Image(16, 1))(t)
	e2e.NoError(t, ggcr.Write(e2e.Must(w.parse(tag))(t), img))
	w.images[tag] = e2e.Must(img.Digest())(t).String()
	w.asked.Clear()
}

func (w *world) parse(s string) (name.Reference, error) { return remote.ParseReference(s, w.host) }

func (w *world) sources() lock.Sources {
	return lock.Sources{Reader: manifest.Reader{FS: w.fsys}, Parse: w.parse, ImageAnnotation: "image"}
}

// wants collects the wants of a file and base images.
func (w *world) wants(t *testing.T, text string, bases ...string) []lock.Want {
	t.Helper()
	e2e.NoError(t, afero.WriteFile(w.fsys, "file.yaml", []byte(text), 0o600))
	wants := e2e.Must(w.sources().Collect(t.Context(), "file.yaml"))(t)
	for _, b := range bases {
		wants = append(wants, e2e.Must(w.sources().Base(b))(t))
	}
	return wants
}

func (w *world) resolve(t *testing.T, p lock.Plan) (*lock.Lock, error) {
	t.Helper()
	store := e2e.Must(image.Open(t.TempDir()))(t)
	defer store.Close()
	client := remote.New(remote.Options{RetryWait: time.Millisecond})
	dependencies := func(_ context.Context, ref name.Reference) ([]lock.Dependency, error) {
		return w.depends[ref.Identifier()], nil
	}
	return lock.Resolver{Store: store, Pull: image.Options{Remote: client}, Tags: image.Tags{Remote: client}, Parse: w.parse, Dependencies: dependencies}.Resolve(t.Context(), p)
}

func function(pkg string) string {
	return "---\napiVersion: pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: f}\nspec: {package: '" + pkg + "'}\n"
}

func metadata(pkg, version string) string {
	return "---\napiVersion: meta.pkg.crossplane.io/v1beta1\nkind: Function\nspec:\n  dependsOn:\n  - {function: '" + pkg + "', version: '" + version + "'}\n"
}

// lines returns a lock as "reference constraint digest" lines, without the host.
func (w *world) lines(l *lock.Lock) []string {
	lines := []string{}
	for _, list := range [][]lock.Image{l.Functions, l.BaseImages, l.Packages, l.APIs} {
		for _, i := range list {
			lines = append(lines, strings.ReplaceAll(strings.Join(strings.Fields(i.Reference+" "+i.Constraint+" "+i.Digest), " "), w.host+"/", ""))
		}
	}
	return lines
}

// APIs that are not packages are kept and resolved as images are, and never as packages.
func TestLockAPIs(t *testing.T) {
	w := newWorld(t)
	crds, k8s := lock.Dependency{Package: lock.GitPrefix + "https://git.example.org/acme/crds", Version: "main"}, lock.Dependency{Package: lock.KubernetesPrefix + "v1.33.0"}
	url := lock.Dependency{Package: "https://example.org/crd.yaml", Path: "p", Line: 7}
	digests := map[lock.Dependency]string{crds: commit, k8s: one}
	resolver := lock.Resolver{Parse: w.parse, API: func(_ context.Context, d lock.Dependency) (string, error) {
		if digest, ok := digests[d]; ok {
			return digest, nil
		}
		return "", errors.New("unavailable")
	}}
	first, err := resolver.Resolve(t.Context(), (&lock.Lock{Path: "l", Files: []string{"conf"}}).Plan([]lock.Want{lock.API(crds), lock.API(k8s)}, nil))
	e2e.NoError(t, err)
	want := []string{crds.Package + " main " + commit, k8s.Package + " " + one}
	if diff := cmp.Diff(want, w.lines(first)); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	digests[crds], digests[k8s] = strings.Repeat("b", 40), two
	first.Path = "l"
	got := e2e.Must(resolver.Resolve(t.Context(), first.Plan([]lock.Want{lock.API(crds), lock.API(k8s)}, func(i lock.Image) bool { return i.Named("https://git.example.org/acme/crds") })))(t)
	e2e.Equal(t, "a named API is resolved again, and others are kept", []string{crds.Package + " main " + digests[crds], want[1]}, w.lines(got))
	if c := lock.Compare(first, got); len(c.Updated) != 1 || c.Kept != 1 {
		t.Errorf("got the changes %+v", c)
	}
	e2e.Equal(t, "the error of an API has its position", `locking "https://example.org/crd.yaml": p:7: unavailable`, fmt.Sprint(e2e.Err(resolver.Resolve(t.Context(), first.Plan([]lock.Want{lock.API(url)}, nil)))))
	e2e.ErrorIs(t, "other content must be refused", first.CheckAPI(k8s, two), lock.ErrChanged)
	e2e.WantError(t, "the locked content must be accepted", first.CheckAPI(k8s, one), "")
	_, err = first.APIDigest(url)
	e2e.Equal(t, "an API that is not locked is an error with the name of the lock file", `p:7: "https://example.org/crd.yaml" is not in the lock file "l"`, fmt.Sprint(err))
	e2e.Equal(t, "the hint must name the files of the lock, and the file that it lacks", "run xfn lock conf p, and review its changes", string(hint.Of(err)))
	first.Files = append(first.Files, "p")
	if _, err := first.APIDigest(url); string(hint.Of(err)) != "run xfn lock, and review its changes" {
		t.Errorf("the lock is about the file, got the hint %q", hint.Of(err))
	}
}

// Locked images are kept until they are updated or no longer wanted.
func TestLock(t *testing.T) {
	w := newWorld(t)
	for _, tag := range []string{"acme/f:v1.0.0", "acme/f:v1.1.0", "acme/g:v1", "base:v1"} {
		w.push(t, tag)
	}
	was := maps.Clone(w.images)
	text := function("acme/g:v1") + function("acme/g:v1") + function("./source") + function("acme/f:v1.1.0") + metadata("acme/f", ">=v1.0.0")
	first := e2e.Must(w.resolve(t, (&lock.Lock{}).Plan(w.wants(t, text, "base:v1", "acme/g:v1"), nil)))(t)
	want := []string{
		"acme/g:v1 " + was["acme/g:v1"], "acme/f:v1.1.0 " + was["acme/f:v1.1.0"], "acme/f:v1.1.0 >=v1.0.0 " + was["acme/f:v1.1.0"],
		"base:v1 " + was["base:v1"], "acme/g:v1 " + was["acme/g:v1"],
	}
	if diff := cmp.Diff(want, w.lines(first)); diff != "" {
		t.Fatalf("made (-want +got):\n%s", diff)
	}
	for _, tag := range []string{"acme/f:v1.1.0", "acme/f:v1.2.0", "acme/g:v1", "acme/h:v1", "base:v1"} {
		w.push(t, tag)
	}
	now := w.images
	cases := map[string]struct {
		reason, text string
		bases        []string
		again        func(lock.Image) bool
		want         []string
		asks         bool
	}{
		"Same":     {"nothing is resolved again", text, []string{"base:v1", "acme/g:v1"}, nil, want, false},
		"Unused":   {"unwanted images are removed", function("acme/g:v1"), nil, nil, want[:1], false},
		"Missing":  {"new images are added, and others are kept", function("acme/g:v1") + function("acme/h:v1"), nil, nil, []string{want[0], "acme/h:v1 " + now["acme/h:v1"]}, true},
		"Changed":  {"another constraint is another image", metadata("acme/f", ">=v1.0.0, <v1.1.0"), nil, nil, []string{"acme/f:v1.0.0 >=v1.0.0, <v1.1.0 " + was["acme/f:v1.0.0"]}, true},
		"Again":    {"all images are resolved again", metadata("acme/f", ">=v1.0.0"), []string{"base:v1"}, func(lock.Image) bool { return true }, []string{"acme/f:v1.2.0 >=v1.0.0 " + now["acme/f:v1.2.0"], "base:v1 " + now["base:v1"]}, true},
		"Named":    {"a named image is resolved again", function("acme/g:v1"), []string{"base:v1"}, func(i lock.Image) bool { return i.Named("base") }, []string{want[0], "base:v1 " + now["base:v1"]}, true},
		"OneImage": {"a reference has one digest, also where it was locked before", function("acme/f:v1.1.0") + metadata("acme/f", "v1.1.0"), nil, nil, []string{"acme/f:v1.1.0 " + now["acme/f:v1.1.0"], "acme/f:v1.1.0 v1.1.0 " + now["acme/f:v1.1.0"]}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w.asked.Clear()
			wants := w.wants(t, tc.text, tc.bases...)
			got := e2e.Must(w.resolve(t, first.Plan(wants, tc.again)))(t)
			e2e.Equal(t, tc.reason, tc.want, w.lines(got))
			e2e.Equal(t, tc.reason+": the registry was asked", tc.asks, len(w.asked.Find("")) > 0)
			text := e2e.Must(got.Encode())(t)
			e2e.WantError(t, "the encoded lock cannot be parsed", e2e.Err(lock.Parse("l", text)), "")
		})
	}
}

// The packages that dependencies of a project depend on are locked with them, and are removed
// with them.
func TestLockPackages(t *testing.T) {
	w := newWorld(t)
	for _, tag := range []string{"acme/c:v1.0.0", "acme/p:v1.0.0", "acme/q:v1.0.0"} {
		w.push(t, tag)
	}
	c, p, q := w.images["acme/c:v1.0.0"], w.images["acme/p:v1.0.0"], w.images["acme/q:v1.0.0"]
	w.depends[c] = []lock.Dependency{{Package: "acme/p", Version: ">=v1"}}
	w.depends[p] = []lock.Dependency{{Package: "acme/q", Version: q}, {Package: "acme/c", Version: ">=v1"}} // A cycle.
	of := func(pkg, version string) []lock.Want {
		return []lock.Want{e2e.Must(w.sources().Package(lock.Dependency{Package: pkg, Version: version}))(t)}
	}
	first := e2e.Must(w.resolve(t, (&lock.Lock{}).Plan(of("acme/c", ">=v1"), nil)))(t)
	wantC, wantP, wantQ := "acme/c:v1.0.0 >=v1 "+c, "acme/p:v1.0.0 >=v1 "+p, "acme/q@"+q+" "+q+" "+q
	if diff := cmp.Diff([]string{wantC, wantP, wantQ}, w.lines(first)); diff != "" {
		t.Fatalf("made (-want +got):\n%s", diff)
	}
	w.push(t, "acme/p:v1.1.0")
	w.push(t, "acme/c:v1.0.0")
	newC, newP := w.images["acme/c:v1.0.0"], w.images["acme/p:v1.1.0"]
	w.depends[newC] = w.depends[c]
	nowC, nowP := "acme/c:v1.0.0 >=v1 "+newC, "acme/p:v1.1.0 >=v1 "+newP
	cases := map[string]struct {
		reason string
		wants  []lock.Want
		again  func(lock.Image) bool
		want   []string
		asks   bool
	}{
		"Same":      {"nothing is resolved again", of("acme/c", ">=v1"), nil, []string{wantC, wantP, wantQ}, false},
		"Unused":    {"a package that nothing depends on is removed", of("acme/q", q), nil, []string{wantQ}, false},
		"All":       {"dependencies are resolved again, too", of("acme/c", ">=v1"), func(lock.Image) bool { return true }, []string{nowC, nowP}, true},
		"Named":     {"the dependencies of a package that is resolved again are kept", of("acme/c", ">=v1"), func(i lock.Image) bool { return i.Named("c") }, []string{nowC, wantP, wantQ}, true},
		"OneImage":  {"a reference has one digest, also where it was locked before", append(of("acme/c", "v1.0.0"), of("acme/c", ">=v1")...), nil, []string{"acme/c:v1.0.0 v1.0.0 " + newC, nowC, wantP, wantQ}, true},
		"Dependent": {"a named dependency is resolved again", of("acme/c", ">=v1"), func(i lock.Image) bool { return i.Named("p") }, []string{wantC, nowP}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w.asked.Clear()
			e2e.Equal(t, tc.reason, tc.want, w.lines(e2e.Must(w.resolve(t, first.Plan(tc.wants, tc.again)))(t)))
			e2e.Equal(t, tc.reason+": the registry was asked", tc.asks, len(w.asked.Find("")) > 0)
		})
	}
}

func TestLockFails(t *testing.T) {
	w := newWorld(t)
	w.push(t, "acme/f:v1.0.0")
	for name, tc := range map[string]struct{ reason, text, want string }{
		"Vanished": {"a missing tag is an error", "# a comment\n" + function("acme/f:v2.0.0"), `/acme/f:v2.0.0": file.yaml:6: pulling "`},
		"NoFit":    {"a constraint without a matching tag is an error", metadata("acme/f", ">=v2"), `/acme/f >=v2": file.yaml:6: finding a version of "acme/f": none of the 1 tags matches ">=v2"`},
		"NoSuch":   {"a missing repository is an error", metadata("acme/z", ">=v2"), `/acme/z >=v2": file.yaml:6: listing the tags of "`},
		"NoRange":  {"an invalid version is an error", metadata("acme/f", "newest"), `file.yaml:6: reading the version "newest"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := w.resolve(t, (&lock.Lock{}).Plan(w.wants(t, tc.text), nil))
			if err == nil || !strings.HasPrefix(err.Error(), `locking "`+w.host) || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: got %v, want %q", tc.reason, err, tc.want)
			}
		})
	}
}

func TestCollect(t *testing.T) {
	w := newWorld(t)
	files := map[string]string{
		"functions/a.yaml": function("acme/a:v1"), "functions/b.yml": function("acme/b:v1"), "functions/c.txt": function("acme/c:v1"),
		"root/crossplane.yaml": metadata("acme/d", ">=v1"), "root/other.yaml": function("acme/e:v1"),
		"annotated.yaml": "apiVersion: pkg.crossplane.io/v1\nkind: Function\nmetadata: {annotations: {image: 'acme/x:v1'}}\nspec: {package: f.xpkg}\n",
		"nothing.yaml":   "apiVersion: v1\nkind: ConfigMap\n", "provider.yaml": "apiVersion: pkg.crossplane.io/v1\nkind: Provider\nspec: {package: 'acme/p:v1'}\n",
		"odd.yaml": strings.Replace(function("acme/a:v1"), "'acme/a:v1'", "[acme/a]", 1), "empty.yaml": function(""),
		"bad.yaml": function("acme/a"), "broken.yaml": "a: [\n", "wrong.yaml": metadata("", "v1"), "bad-package.yaml": metadata("a b", "v1"),
	}
	for path, text := range files {
		e2e.NoError(t, afero.WriteFile(w.fsys, path, []byte(text), 0o600))
	}
	cases := map[string]struct{ reason, path, want, err string }{
		"Folder":     {"a folder means its YAML files", "functions", "acme/a:v1, acme/b:v1", ""},
		"Root":       {"a package root means its metadata", "root", "acme/d >=v1", ""},
		"Annotation": {"the image of the annotation is locked for a file", "annotated.yaml", "acme/x:v1", ""},
		"Nothing":    {"a file with nothing to lock is an error", "nothing.yaml", "", "nothing.yaml: expected a Function or package metadata, found neither"},
		"Provider":   {"Providers are not locked", "provider.yaml", "", "expected a Function or package metadata"},
		"Odd":        {"a package must be a string", "odd.yaml", "", "odd.yaml:5: spec.package must be the reference or path of a package"},
		"Empty":      {"a package must not be empty", "empty.yaml", "", "empty.yaml:5: spec.package must be"},
		"NoTag":      {"a repository without a tag is an error", "bad.yaml", "", "bad.yaml:5: parsing reference \"acme/a\": it has no tag"},
		"Broken":     {"an error has its line", "broken.yaml", "", "broken.yaml:1"},
		"NoPackage":  {"a dependency must name a package", "wrong.yaml", "", "wrong.yaml:6: spec.dependsOn[0] names no package"},
		"NoName":     {"a dependency must be a valid name", "bad-package.yaml", "", "bad-package.yaml:6: parsing repository"},
		"Absent":     {"a missing file is an error", "absent.yaml", "", `reading "absent.yaml": `},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			wants, err := w.sources().Collect(t.Context(), tc.path)
			e2e.WantError(t, tc.reason, err, tc.err)
			var got []string
			for _, w := range wants {
				got = append(got, w.String())
			}
			e2e.Equal(t, tc.reason, tc.want, strings.ReplaceAll(strings.Join(got, ", "), w.host+"/", ""))
		})
	}
	e2e.Error(t, "a base image without a tag may be any", e2e.Err(w.sources().Base("python")))
}

func TestCompare(t *testing.T) {
	before, after := full(), full()
	after.Functions[0].Reference, after.Functions[0].Digest = "registry.example.org/acme/f:v1.3.0", two
	after.Functions[1].Reference = "registry.example.org/acme/e:v2"
	got := lock.Compare(before, after)
	want := lock.Changes{
		Added:   []lock.Image{after.Functions[1]},
		Removed: []lock.Image{before.Functions[1]},
		Updated: []lock.Update{{Image: after.Functions[0], Was: before.Functions[0]}},
		Kept:    9,
	}
	e2e.Equal(t, "a changed digest is an update, and a changed reference is an addition and a removal", want, got)
}

func TestNamed(t *testing.T) {
	i := full().Functions[0]
	for _, name := range []string{"f", "acme/f", "acme-f", "registry.example.org/acme/f", i.Reference} {
		if !i.Named(name) {
			t.Errorf("Named(%q) is false, want true", name)
		}
	}
	if i.Named("acme") || i.Named("") {
		t.Error("Named returned true for a wrong name")
	}
}

// TestCollectCanceled checks that Collect returns while it reads a large file.
func TestCollectCanceled(t *testing.T) {
	why := errors.New("the process received a signal")
	ctx, cancel := context.WithCancelCause(t.Context())
	end := make(chan struct{})
	defer close(end)
	stuck := func(string) ([]manifest.Document, bool) { cancel(why); <-end; return nil, true }
	s := lock.Sources{Reader: manifest.Reader{FS: afero.NewMemMapFs(), Documents: stuck}}
	e2e.ErrorIs(t, "Collect returns the cause of its context", e2e.Err(s.Collect(ctx, "functions.yaml")), why)
}
