package e2e_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/push"
	"github.com/xfn-dev/xfn/xpkg"
)

// dependencyCRD returns a CRD of the packages that the README of the cases describes.
func dependencyCRD(group, kind, plural string) string {
	return fmt.Sprintf(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: %[3]s.%[1]s
spec:
  group: %[1]s
  names: {kind: %[2]s, listKind: %[2]sList, plural: %[3]s}
  scope: Cluster
  versions:
  - name: v1beta1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              region: {type: string}
`, group, kind, plural)
}

// pushDependencies pushes the packages of the cases of dependencies.
func pushDependencies(t *testing.T, address string) {
	t.Helper()
	bucket, config := dependencyCRD("s3.example.org", "Bucket", "buckets"), dependencyCRD("example.org", "ProviderConfig", "providerconfigs")
	const depends = "  dependsOn:\n  - {provider: registry.example.org/dep/family, version: \">=v1.0.0\"}\n"
	for reference, content := range map[string][2]string{
		"prov-a:v1.0.0":      {"Provider", depends + "---\n" + bucket},
		"prov-a:v1.1.0":      {"Provider", depends + "---\n" + bucket},
		"prov-a:v2.0.0-rc.1": {"Provider", depends + "---\n" + bucket},
		"family:v1.2.0":      {"Provider", "---\n" + config},
		"fn-ready:v0.3.0":    {"Function", ""},

		"function-auto-ready:v0.7.0":           {"Function", ""},
		"function-patch-and-transform:v0.10.8": {"Function", ""},
	} {
		text := fmt.Sprintf("apiVersion: meta.pkg.crossplane.io/v1\nkind: %s\nmetadata: {name: %.6s}\nspec:\n  crossplane: {version: \">=v1.0.0\"}\n%s", content[0], reference, content[1])
		fsys := afero.NewMemMapFs()
		e2e.NoError(t, afero.WriteFile(fsys, "package/crossplane.yaml", []byte(text), 0o644))
		pkg := e2e.Must(xpkg.Read(t.Context(), fsys, "package", xpkg.ReadOptions{}))(t)
		artifact := e2e.Must(xpkg.Build(pkg, nil, xpkg.BuildOptions{}))(t)
		ref := e2e.Must(name.NewTag(address + "/dep/" + reference))(t)
		e2e.NoError(t, e2e.Err(push.Artifact(t.Context(), ref, artifact, push.Options{})))
	}
}

// serveCRD returns the address of a web server that has /crd.yaml.
func serveCRD(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/crd.yaml" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(dependencyCRD("s3.example.org", "Bucket", "buckets")))
	}))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// gitRepository returns the path of a git repository with a CRD in the folder crds.
func gitRepository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	repo := e2e.Must(git.PlainInitWithOptions(dir, &git.PlainInitOptions{InitOptions: git.InitOptions{DefaultBranch: plumbing.Main}}))(t)
	e2e.NoError(t, os.Mkdir(filepath.Join(dir, "crds"), 0o755))
	e2e.WriteFile(t, filepath.Join(dir, "crds", "config.yaml"), dependencyCRD("example.org", "ProviderConfig", "providerconfigs"))
	tree := e2e.Must(repo.Worktree())(t)
	e2e.Must(tree.Add("crds"))(t)
	e2e.Must(tree.Commit("CRDs", &git.CommitOptions{Author: &object.Signature{Name: "a", Email: "a@example.org", When: time.Unix(0, 0)}}))(t)
	return filepath.ToSlash(dir)
}
