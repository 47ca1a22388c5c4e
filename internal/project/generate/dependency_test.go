package generate_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/image/lock"
	"github.com/xfn-dev/xfn/internal/project"
	"github.com/xfn-dev/xfn/internal/project/generate"
)

func TestParseDependency(t *testing.T) {
	const digest = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	for text, tc := range map[string]struct {
		options generate.DependencyOptions
		want    project.Dependency
	}{
		"registry.example.org/p":                {want: project.Dependency{Type: "xpkg", XPkg: &project.Package{Package: "registry.example.org/p", Version: ">=v0.0.0"}}},
		"registry.example.org:5000/a/p:v1":      {want: project.Dependency{Type: "xpkg", XPkg: &project.Package{Package: "registry.example.org:5000/a/p", Version: "v1"}}},
		"registry.example.org/p:>=v1.0.0, <v2":  {generate.DependencyOptions{APIOnly: true}, project.Dependency{Type: "xpkg", XPkg: &project.Package{Package: "registry.example.org/p", Version: ">=v1.0.0, <v2", APIOnly: true}}},
		"registry.example.org:5000/p@" + digest: {want: project.Dependency{Type: "xpkg", XPkg: &project.Package{Package: "registry.example.org:5000/p", Version: digest}}},
		"example.org:5000/p:v1@" + digest:       {want: project.Dependency{Type: "xpkg", XPkg: &project.Package{Package: "example.org:5000/p", Version: digest}}},
		"k8s:v1.33.0":                           {want: project.Dependency{Type: "k8s", K8s: &project.KubernetesAPI{Version: "v1.33.0"}}},
		"https://example.org/crd.yaml":          {want: project.Dependency{Type: "crd", HTTP: &project.HTTPSource{URL: "https://example.org/crd.yaml"}}},
		"https://example.org/crds":              {generate.DependencyOptions{GitRef: "main", GitPath: "a"}, project.Dependency{Type: "crd", Git: &project.GitSource{Repository: "https://example.org/crds", Ref: "main", Path: "a"}}},
	} {
		got, err := generate.ParseDependency(text, tc.options)
		e2e.WantError(t, text+" is a dependency", err, "")
		e2e.Equal(t, text+" is parsed with its options", tc.want, got, cmpopts.IgnoreFields(project.Package{}, "Key"))
	}
	for text, tc := range map[string]struct {
		options generate.DependencyOptions
		want    string
	}{
		"k8s:":            {want: "expected a release of Kubernetes, such as k8s:v1.33.0"},
		"k8s":             {want: "expected a release of Kubernetes, such as k8s:v1.33.0"},
		"k8s:latest":      {want: "expected a release of Kubernetes, such as k8s:v1.33.0"},
		"k8s:1.33":        {want: "did you mean k8s:v1.33.0?"},
		"k8s@v1.33.0":     {want: "did you mean k8s:v1.33.0?"},
		"k8s@x/a:v1":      {want: `"…@x/a:v1": it must not contain credentials`},
		"../a.xpkg":       {want: "is a path, expected the reference of a package"},
		"https://x/a:v1":  {want: `leave out the scheme: "x/a:v1"`},
		"u:secret@x/a:v1": {want: `"…@x/a:v1": it must not contain credentials`},
		"k8s:v1.33.0":     {generate.DependencyOptions{APIOnly: true}, "not a package"},
		"git://x/y":       {want: "neither a package nor an http URL hint: for a git repository, write its https or ssh URL, and name its branch, tag or commit with {git-ref}"},
		"x.org:5000/p:":   {want: `nothing follows the colon of "x.org:5000/p:" hint: name a tag, or quote a version constraint, because a shell redirects output to the file after >: 'x.org:5000/p:>=v1.0.0'`},
		"nosuch.yaml":     {want: "is a path, expected the reference of a package"},
		"https://x/y.git": {generate.DependencyOptions{GitPath: "a"}, "no branch, tag or commit"},
	} {
		if _, err := generate.ParseDependency(text, tc.options); err == nil || !strings.Contains(err.Error()+" hint: "+string(hint.Of(err)), tc.want) {
			t.Errorf("%s: got %v (hint %q), want %q", text, err, hint.Of(err), tc.want)
		}
	}
}

// A render generates schemas only if a function imports them. It does without a dependency that
// cannot be read.
func TestSchemasForRender(t *testing.T) {
	const (
		provider = "  dependencies:\n  - {type: crd, http: {url: \"http://127.0.0.1:1/crd.yaml\"}}\n"
		function = "  dependencies:\n  - {type: xpkg, xpkg: {apiVersion: pkg.crossplane.io/v1, kind: Function, package: 127.0.0.1:1/fn, version: v1}}\n"
		module   = "module a\nreplace dev.crossplane.io/models => ../../schemas/go\n"
	)
	for name, tc := range map[string]struct {
		reason, file string
		files        map[string]string
		generated    bool
		skipped      string
	}{
		"Imported":   {"the source imports schemas that a new clone does not have", crossplane, map[string]string{"functions/fn/go.mod": module}, true, ""},
		"Python":     {"a Python function names the directory as a path", crossplane, map[string]string{"functions/fn/pyproject.toml": `"crossplane-models @ file:./../../schemas/python"`}, true, ""},
		"KCL":        {"a KCL function has a link to the schemas", crossplane, map[string]string{"functions/fn/kcl.mod": "", "functions/fn/model": "-> ../../schemas/kcl"}, true, ""},
		"Templates":  {"templates import no schemas", crossplane, map[string]string{"functions/fn/a.gotmpl": "a"}, false, ""},
		"Unread":     {"a render continues without a dependency", crossplane + provider, map[string]string{"functions/fn/go.mod": module}, true, `:7: the APIs of "http://127.0.0.1:1/crd.yaml" have no models`},
		"Kubernetes": {"a render continues without the API of Kubernetes", crossplane + "  dependencies:\n  - {type: k8s, k8s: {version: v1.33.0}}\n", map[string]string{"functions/fn/go.mod": module}, true, `:7: the APIs of "k8s:v1.33.0" have no models`},
		"NoRequest":  {"no dependency is read without an import", crossplane + provider, map[string]string{"functions/fn/a.gotmpl": "a"}, false, ""},
		"Inputs":     {"the inputs of functions have no models in a render", crossplane + function, map[string]string{"functions/fn/go.mod": module}, true, ""},
		"Others":     {"the schemas of another program, which has no lock file, stay", crossplane, map[string]string{"functions/fn/go.mod": module, "schemas/go/go.mod": "module dev.crossplane.io/models\n"}, false, ""},
		"OutOfDate":  {"schemas of an older version of the APIs are generated again", crossplane, map[string]string{"functions/fn/go.mod": module, "schemas/.lock.json": `{"packages": {"fs://apis": "old"}}`}, true, ""},
		"NoFunction": {"a project without functions imports nothing", crossplane, nil, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			all := map[string]string{project.File: tc.file, "apis/x.yaml": xrd}
			maps.Copy(all, tc.files)
			dir := e2e.Dir(t, all)
			store, err := image.Open(t.TempDir())
			e2e.NoError(t, err)
			skipped := ""
			err = generate.Schemas(t.Context(), open(t, filepath.Join(dir, project.File)), generate.SchemaOptions{
				ForRender: true,
				Open: func() (*generate.Fetcher, error) {
					return &generate.Fetcher{Store: store, HTTP: http.DefaultClient, Kubernetes: "http://127.0.0.1:1"}, nil
				},
				Skipped: func(text string) { skipped += text },
			})
			if err != nil || !strings.Contains(skipped, tc.skipped) || (skipped == "") != (tc.skipped == "") {
				t.Errorf("%s: got %v, and skipped %q, want %q", tc.reason, err, skipped, tc.skipped)
			}
			e2e.Equal(t, tc.reason, tc.generated, e2e.Err(os.Stat(filepath.Join(dir, "schemas", "json", "index.schema.json"))) == nil)
		})
	}
}

// With a lock, a package that it lacks is an error in a render, too, and nothing is read.
func TestSchemasNotLocked(t *testing.T) {
	text := crossplane + "  dependencies:\n  - {type: xpkg, xpkg: {apiVersion: pkg.crossplane.io/v1, kind: Provider, package: 127.0.0.1:1/p, version: v1}}\n"
	dir := e2e.Dir(t, map[string]string{project.File: text, "functions/fn/go.mod": "replace dev.crossplane.io/models => ../../schemas/go\n"})
	err := generate.Schemas(t.Context(), open(t, filepath.Join(dir, project.File)), generate.SchemaOptions{
		ForRender: true, Lock: &lock.Lock{Path: "l"},
		Open:    func() (*generate.Fetcher, error) { return nil, errors.New("a dependency is read") },
		Skipped: func(text string) { t.Errorf("skipped: %s", text) },
	})
	e2e.ErrorHas(t, "a package that is not locked is an error on its line", err, `:7: "127.0.0.1:1/p v1" is not in the lock file "l"`)
}

// With a lock, APIs are read from the locked commit and only with the locked content, in a render,
// too. Models of other content are generated again.
func TestSchemasLockedAPIs(t *testing.T) {
	content := map[string]string{"/crd.yaml": xrd, "/v1.33.0": pod}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, _, _ := strings.Cut(r.URL.Path, "/api/")
		_, _ = w.Write([]byte(content[path]))
	}))
	defer server.Close()
	repository := t.TempDir()
	first := commit(t, repository, "spec")
	text := crossplane + "  dependencies:\n  - {type: crd, git: {repository: " + filepath.ToSlash(repository) + ", ref: main}}\n  - {type: crd, http: {url: \"" + server.URL + "/crd.yaml\"}}\n  - {type: k8s, k8s: {version: v1.33.0}}\n"
	dir := e2e.Dir(t, map[string]string{project.File: text, "functions/fn/go.mod": "replace dev.crossplane.io/models => ../../schemas/go\n"})
	p := open(t, filepath.Join(dir, project.File))
	fetcher := func() (*generate.Fetcher, error) {
		store, err := image.Open(t.TempDir())
		return &generate.Fetcher{Store: store, HTTP: server.Client(), Kubernetes: server.URL}, err
	}
	f := e2e.Must(fetcher())(t)
	defer f.Store.Close()
	l := &lock.Lock{Path: "l"}
	for _, d := range p.Dependencies {
		api := generate.LockedDependency(p, d)
		digest := e2e.Must(f.APIDigest(t.Context(), api))(t)
		l.APIs = append(l.APIs, lock.Image{Reference: api.Package, Constraint: api.Version, Digest: digest})
	}
	e2e.Equal(t, "the lock has the commit of the branch", first, l.APIs[0].Digest)
	schemas := func(l *lock.Lock) error {
		return generate.Schemas(t.Context(), p, generate.SchemaOptions{ForRender: true, Lock: l, Open: fetcher, Skipped: func(text string) { t.Errorf("skipped: %s", text) }})
	}
	commit(t, repository, "other")
	e2e.NoError(t, schemas(nil))
	const model = "schemas/json/org-example-v1-Config.schema.json"
	e2e.Has(t, "without a lock, the newest commit counts", e2e.ReadFile(t, dir, model), `"other"`)
	e2e.NoError(t, schemas(l))
	if got := e2e.ReadFile(t, dir, model); strings.Contains(got, `"other"`) {
		t.Errorf("with a lock, the locked commit counts, got %s", got)
	}
	for path, want := range map[string]string{"/crd.yaml": "crd.yaml", "/v1.33.0": "k8s:v1.33.0"} {
		was := content[path]
		content[path] = strings.Replace(was, "Pod is", "Pods are", 1) + "\n"
		e2e.NoError(t, generate.CleanSchemas(p))
		if err := schemas(l); !errors.Is(err, lock.ErrChanged) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), project.File+":") {
			t.Errorf("%s: other content must be refused, got %v", path, err)
		}
		content[path] = was
	}
	l.APIs = l.APIs[:2]
	e2e.ErrorHas(t, "an API that is not locked is an error on its line", schemas(l), `:9: "k8s:v1.33.0" is not in the lock file "l"`)
}

// commit adds a CRD with a field to a git repository, on the branch main, and returns the commit.
func commit(t *testing.T, dir, field string) string {
	t.Helper()
	repo, err := git.PlainOpen(dir)
	if err != nil {
		repo = e2e.Must(git.PlainInitWithOptions(dir, &git.PlainInitOptions{InitOptions: git.InitOptions{DefaultBranch: plumbing.Main}}))(t)
	}
	text := "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: configs.example.org}\nspec:\n  group: example.org\n  names: {kind: Config, plural: configs}\n  scope: Cluster\n  versions:\n  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {" + field + ": {type: string}}}}}\n"
	e2e.WriteFile(t, filepath.Join(dir, "crd.yaml"), text)
	e2e.NoError(t, os.Chmod(filepath.Join(dir, "crd.yaml"), 0o755)) // An executable file counts, too.
	tree := e2e.Must(repo.Worktree())(t)
	e2e.Must(tree.Add("crd.yaml"))(t)
	hash := e2e.Must(tree.Commit(field, &git.CommitOptions{Author: &object.Signature{Name: "a", Email: "a@example.org", When: time.Unix(0, 0)}}))(t)
	return hash.String()
}

const pod = `{"components":{"schemas":{
"io.k8s.api.core.v1.Pod":{"type":"object","description":"Pod is a collection of containers.","properties":{
 "apiVersion":{"type":"string"},"kind":{"type":"string"},
 "metadata":{"default":{},"allOf":[{"$ref":"#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}]},
 "port":{"$ref":"#/components/schemas/io.k8s.apimachinery.pkg.util.intstr.IntOrString"}},
 "x-kubernetes-group-version-kind":[{"group":"","kind":"Pod","version":"v1"}]},
"io.k8s.apimachinery.pkg.util.intstr.IntOrString":{"format":"int-or-string","oneOf":[{"type":"integer"},{"type":"string"}]},
"io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta":{"type":"object","properties":{"name":{"type":"string"}}}}}}`

// In a project of Upbound, dependencies that are not packages are in another list than
// packages. The file keeps its comments.
func TestAddDependencyOnAPIs(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/deployment.yaml":
			_, _ = w.Write([]byte("# comment\nkind: Deployment\n"))
		case r.URL.Path == "/values.yaml":
			_, _ = w.Write([]byte("replicas: 1\n"))
		case r.URL.Path == "/page.yaml", r.URL.Path == "/blob/page.yaml":
			_, _ = w.Write([]byte("<!DOCTYPE html><html></html>"))
		case r.URL.Path == "/comment.yaml":
			_, _ = w.Write([]byte("# nothing"))
		case r.URL.Path == "/crd.yaml":
			_, _ = w.Write([]byte(xrd))
		case strings.HasPrefix(r.URL.Path, "/v1.33.0/api/openapi-spec/v3/api"):
			_, _ = w.Write([]byte(pod))
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	dir := e2e.Dir(t, map[string]string{project.UpboundFile: "# mine\n" + upbound + "  # more\n  apiDependencies:\n  - {type: k8s, k8s: {version: v1.32.0}} # old\n"})
	path := filepath.Join(dir, project.UpboundFile)
	d := e2e.Must(generate.ParseDependency(server.URL+"/crd.yaml", generate.DependencyOptions{}))(t)
	silent := &generate.Fetcher{HTTP: &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return nil, os.ErrDeadlineExceeded
	}}}}
	e2e.ErrorHas(t, "a silent server is named", generate.AddDependency(t.Context(), open(t, path), d, silent), `/crd.yaml": the server does not answer: `)
	f := &generate.Fetcher{HTTP: server.Client(), Kubernetes: server.URL}
	for file, want := range map[string]string{
		"/blob/page.yaml":  `reading the dependency "URL": URL:1: the file is a web page in HTML`,
		"/deployment.yaml": `reading the dependency "URL": URL:2: expected a CRD or XRD, got kind Deployment`,
		"/values.yaml":     `reading the dependency "URL": URL:1: expected a CRD or XRD, got a document without a kind`,
		"/page.yaml":       `reading the dependency "URL": URL:1: the file is a web page in HTML`,
		"/comment.yaml":    `reading the dependency "URL": it has no CRD or XRD`,
	} {
		d, err := generate.ParseDependency(server.URL+file, generate.DependencyOptions{})
		e2e.NoError(t, err)
		err = generate.AddDependency(t.Context(), open(t, path), d, f)
		e2e.ErrorHas(t, "a file without definitions is not a dependency", err, strings.ReplaceAll(want, "URL", server.URL+file))
		if next := string(hint.Of(err)); !strings.Contains(next, "the raw URL, if this is a web page") && !strings.Contains(next, "/raw/page.yaml?") {
			t.Errorf("%s: got hint %q", file, next)
		}
	}
	for _, text := range []string{"k8s:v1.33.0", server.URL + "/crd.yaml"} {
		d := e2e.Must(generate.ParseDependency(text, generate.DependencyOptions{}))(t)
		e2e.NoError(t, generate.AddDependency(t.Context(), open(t, path), d, f))
	}
	apiOnly := project.Dependency{Type: "xpkg", XPkg: &project.Package{Package: "registry.example.org/p", APIOnly: true}}
	e2e.ErrorHas(t, "a package that upbound.yaml would install was added", generate.AddDependency(t.Context(), open(t, path), apiOnly, f), "for their APIs only")
	want := "# mine\n" + upbound + "  # more\n  apiDependencies:\n  - k8s:\n      version: v1.33.0\n    type: k8s\n  - http:\n      url: " + server.URL + "/crd.yaml\n    type: crd\n"
	e2e.Equal(t, "the dependencies are in the list of APIs, and comments are kept", want, e2e.ReadFile(t, path))
	for file, want := range map[string]string{
		"go/models/io/k8s/core/v1/pod.go": "Metadata *metav1.ObjectMeta", "python/models/io/k8s/api/core/v1.py": "class Pod(BaseModel):",
		"kcl/models/k8s/api/core/v1/pod.k": "schema Pod:", "json/models/index.schema.json": `"io-k8s-api-core-v1-Pod.schema.json"`,
		"json/models/org-example-platform-v1alpha1-App.schema.json": `"platform.example.org/v1alpha1"`,
		".lock.json": `"k8s://v1.33.0": "v1.33.0"`,
	} {
		e2e.Has(t, file+" has the model", strings.Join(strings.Fields(e2e.ReadFile(t, dir, ".up", file)), " "), want)
	}
	// All dependencies are in the lock file, so a build fetches nothing.
	server.Close()
	e2e.NoError(t, generate.Schemas(t.Context(), open(t, path), generate.SchemaOptions{Open: func() (*generate.Fetcher, error) { return nil, errors.New("a dependency is read") }}))
	e2e.ErrorHas(t, "an update must fetch the file again", generate.UpdateSchemas(t.Context(), open(t, path), f), "crd.yaml")
}

// The hint of an error of a server is about the server.
func TestAddDependencyRefuses(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	p := open(t, filepath.Join(e2e.Dir(t, map[string]string{project.File: crossplane}), project.File))
	for _, tc := range []struct{ reason, text, ref, want, hint string }{
		{"the CA of a web server has a flag", server.URL + "/crd.yaml", "", "the certificate of the server cannot be trusted: x509: ", "give the file of its CA with {ca-file}"},
		{"the CA of a git server has no flag", server.URL + "/crds", "main", "the certificate of the server cannot be trusted: x509: ", "name the file of the CA with SSL_CERT_FILE"},
		{"a path may be a URL without its scheme", "example.org/acme/crds", "main", "there is no git repository at ", "did you mean https://example.org/acme/crds?"},
		{"a path may be a path", "./example.org", "main", "there is no git repository at ", ""},
	} {
		d, err := generate.ParseDependency(tc.text, generate.DependencyOptions{GitRef: tc.ref})
		e2e.NoError(t, err)
		err = generate.AddDependency(t.Context(), p, d, &generate.Fetcher{HTTP: &http.Client{Transport: &http.Transport{}}})
		e2e.ErrorHas(t, tc.reason, err, tc.want)
		if next := string(hint.Of(err)); !strings.Contains(next, tc.hint) || (next == "") != (tc.hint == "") {
			t.Errorf("%s: got hint %q", tc.reason, next)
		}
	}
}

// The schemas of APIs are read from files of the project only.
func TestAPIsRefuse(t *testing.T) {
	for name, tc := range map[string]struct{ reason, link, to, want string }{
		"Outside":   {"a link that leads out of the project is an error", "apis/x.yaml", filepath.Join(e2e.Dir(t, map[string]string{"x.yaml": xrd}), "x.yaml"), `apis/x.yaml": the link leads out of the project`},
		"Loop":      {"a loop of links is an error", "apis/x.yaml", "x.yaml", `apis/x.yaml": `},
		"Device":    {"a device is not read", "apis/x.yaml", os.DevNull, `apis/x.yaml": `},
		"Directory": {"links to directories are not followed", "apis/more.yaml", "..", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := e2e.Dir(t, map[string]string{project.File: crossplane, "apis/a.yaml": xrd})
			e2e.NoError(t, os.Symlink(tc.to, filepath.Join(dir, tc.link)))
			_, err := generate.APIs(open(t, filepath.Join(dir, project.File))).Definitions(t.Context())
			if got := fmt.Sprint(err); tc.want == "" && err != nil || !strings.Contains(got, tc.want) {
				t.Errorf("%s: got %v, want %q", tc.reason, err, tc.want)
			}
		})
	}
}
