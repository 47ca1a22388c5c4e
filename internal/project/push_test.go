package project_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/project"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/push"
	"github.com/xfn-dev/xfn/xpkg"
)

// at returns the files of a project whose repository is in a registry.
func at(registry string) map[string]string {
	return files(map[string]string{project.File: strings.Replace(crossplane, "registry.example.org", registry, 1)})
}

func fetch(ctx context.Context, ref name.Reference) (xpkg.Artifact, error) {
	return image.Artifact(ctx, ref, image.Options{})
}

func open(t *testing.T, file, repository string) *project.Set {
	t.Helper()
	return e2e.Open(project.Open(t.Context(), file, repository))(t)
}

func tag(t *testing.T, ref string) name.Tag {
	t.Helper()
	return e2e.Must(name.NewTag(ref))(t)
}

func digest(t *testing.T, ref name.Reference) string {
	t.Helper()
	return e2e.Must(e2e.Must(fetch(t.Context(), ref))(t).Digest())(t).String()
}

// A registry has the same manifests after a push of xfn as after a push of the crossplane
// CLI, and a pull returns the file that was pushed. A copy keeps all digests.
func TestPushPullAndCopy(t *testing.T) {
	address := remotetest.Serve(t, remotetest.Embedded(t))
	repository := address + "/acme/demo"
	file := built(t, lay(t, at(address), false))
	want, _ := pushCLI(t, file, repository)
	results, err := project.Push(t.Context(), open(t, file, repository), "v1", 2, push.Options{Prove: true})
	if err != nil || len(results) != 2 {
		t.Fatalf("got %v, %v, want the results of two packages", results, err)
	}
	for of, m := range want {
		e2e.Equal(t, of+":v1", digestOf(m.raw), digest(t, tag(t, of+":v1")))
	}
	again, err := project.Push(t.Context(), open(t, file, ""), "v1", 2, push.Options{})
	if err != nil || again[0].Sent+again[1].Sent != 0 {
		t.Errorf("a second push sent %v, %v, want nothing", again, err)
	}

	copied := address + "/mirror/demo"
	set := e2e.Must(project.Fetched(t.Context(), tag(t, repository+":v1"), fetch))(t)
	e2e.Must(project.Copy(t.Context(), set, tag(t, repository+":v1"), tag(t, copied+":v2"), 2, push.CopyOptions{}))(t)
	for of, m := range want {
		e2e.Equal(t, "the copy of "+of, digestOf(m.raw), digest(t, tag(t, copied+strings.TrimPrefix(of, repository)+":v2")))
	}
	bytes := e2e.Must(os.ReadFile(file))(t)
	for _, from := range []string{repository + ":v1", copied + ":v2"} {
		set := e2e.Must(project.Fetched(t.Context(), tag(t, from), fetch))(t)
		path := filepath.Join(t.TempDir(), "pulled.xpkg")
		e2e.NoError(t, set.WriteFile(t.Context(), path, nil))
		e2e.Equal(t, "the file pulled from "+from, string(bytes), e2e.ReadFile(t, path))
	}
}

// If the registry fails in the middle, the Configuration is not moved, and the next push
// sends only the rest.
func TestPushFails(t *testing.T) {
	handler := remotetest.Embedded(t)
	failing := true
	address := remotetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if failing && r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/acme/demo_compose/manifests/") {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	repository := address + "/acme/demo"
	file := built(t, lay(t, at(address), false))
	_, err := project.Push(t.Context(), open(t, file, repository), "v1", 2, push.Options{})
	e2e.ErrorHas(t, "the error says that the Configuration was not changed", err, "the Configuration was not changed")
	e2e.ErrorHas(t, "the error names the package that was not pushed", err, "demo_compose:v1")
	if tags, err := (image.Tags{Remote: remote.New(remote.Options{})}).List(t.Context(), tag(t, repository+":v1").Context()); err == nil {
		t.Errorf("the Configuration has the tags %q, want none", tags)
	}
	failing = false
	results, err := project.Push(t.Context(), open(t, file, repository), "v1", 2, push.Options{})
	if err != nil || results[0].Sent != 0 || results[0].Skipped == 0 || results[1].Sent == 0 {
		t.Errorf("got %+v, %v, want only the Configuration to be sent", results, err)
	}
}

// Open explains which file it needs.
func TestOpenRefuses(t *testing.T) {
	file := built(t, lay(t, files(nil), false))
	other := filepath.Join(t.TempDir(), "function.xpkg")
	set := open(t, file, "")
	e2e.NoError(t, xpkg.WriteFile(t.Context(), other, set.Functions[0].Index, nil))
	cases := map[string]struct {
		reason, file, repository, want string
	}{
		"Other":   {"the repository is part of the packages", file, "registry.example.org/acme/other", "the project was built for the repository registry.example.org/acme/demo, not for registry.example.org/acme/other"},
		"Single":  {"a package file is not a project file", other, "", "it is not the file of a project"},
		"Missing": {"the file must exist", file + "x", "", "no such file"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := project.Open(t.Context(), tc.file, tc.repository)
			e2e.ErrorHas(t, tc.reason, err, tc.want, tc.file)
		})
	}
}

// A package that is not of a project has no functions to pull.
func TestFetchedRefuses(t *testing.T) {
	address := remotetest.Serve(t, remotetest.Embedded(t))
	set := open(t, built(t, lay(t, at(address), false)), "")
	plain := e2e.Must(xpkg.Build(&xpkg.Package{Meta: xpkg.Object{Kind: "Configuration", Name: "c"}, YAML: []byte("apiVersion: meta.pkg.crossplane.io/v1\nkind: Configuration\nmetadata: {name: c}\n")}, nil, xpkg.BuildOptions{}))(t)
	for _, tc := range []struct {
		reason   string
		artifact xpkg.Artifact
		want     string
	}{
		{"a function has no functions", set.Functions[0].Images[0], "it is a Function"},
		{"a Configuration that xfn xpkg build wrote is one package", plain, "it has neither functions of a project nor the annotations"},
	} {
		ref := tag(t, address+"/a/b:v1")
		e2e.Must(push.Artifact(t.Context(), ref, tc.artifact, push.Options{}))(t)
		_, err := project.Fetched(t.Context(), ref, fetch)
		e2e.ErrorHint(t, tc.reason, err, tc.want, "xfn xpkg pull")
	}
}
