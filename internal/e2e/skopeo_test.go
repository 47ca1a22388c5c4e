package e2e_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/registry"
)

// skopeoCommand returns a function that runs skopeo, which must succeed, and returns its
// output. Without skopeo the test is skipped, or fails if XFN_REQUIRE requires it.
func skopeoCommand(t *testing.T) func(args ...string) []byte {
	t.Helper()
	program, err := exec.LookPath("skopeo")
	if err != nil {
		e2e.Missing(t, "skopeo", "skopeo is not installed: %v", err)
	}
	return func(args ...string) []byte {
		t.Helper()
		// No trust policy is needed, and the platform may differ from this machine's.
		args = append([]string{"--insecure-policy", "--override-os", "linux", "--override-arch", "amd64"}, args...)
		cmd := exec.CommandContext(e2e.Context(t), program, args...)
		return []byte(e2e.Output(t, cmd))
	}
}

// TestSkopeo: skopeo reads a package file as an OCI archive and as a Docker
// archive, and copies it with its annotations.
func TestSkopeo(t *testing.T) {
	t.Parallel()
	skopeo := skopeoCommand(t)
	dir := writeInputs(t)
	for name, tc := range builtPackages {
		if runtime.GOARCH != "amd64" && name == "tarball" {
			continue // The runtime is for this machine's architecture, but skopeo selects amd64.
		}
		t.Run(name, func(t *testing.T) {
			file := buildPackage(t, dir, name, tc)
			unpacked := e2e.Untar(t, file)
			images, top := layoutImages(t, unpacked), topManifest(t, unpacked)
			assertInspected(t, skopeo("inspect", "oci-archive:"+file), images[0], top)
			assertInspected(t, skopeo("inspect", "docker-archive:"+file), images[0], "")

			// Copy one image from the file, as an OCI archive and as a Docker archive.
			one := filepath.Join(t.TempDir(), "one")
			skopeo("copy", "oci-archive:"+file, "oci:"+one+":v1")
			assertSame(t, images[:1], layoutImages(t, one))
			loaded := filepath.Join(t.TempDir(), "loaded")
			skopeo("copy", "docker-archive:"+file, "oci:"+loaded+":v1")
			e2e.Equal(t, tc.reason+": the Docker archive", string(core(t, images[0])), string(core(t, layoutImages(t, loaded)[0])))

			// Copy all images of the OCI archive. Their bytes must not change.
			all := filepath.Join(t.TempDir(), "all")
			skopeo("copy", "--all", "oci-archive:"+file, "oci:"+all+":v1")
			assertSame(t, images, layoutImages(t, all))
			again := filepath.Join(t.TempDir(), "again.tar")
			skopeo("copy", "--all", "oci:"+all+":v1", "oci-archive:"+again+":v1")
			assertSame(t, images, layoutImages(t, e2e.Untar(t, again)))
			raw := filepath.Join(t.TempDir(), "raw")
			skopeo("copy", "--all", "oci-archive:"+file, "dir:"+raw)
			e2e.Equal(t, tc.reason+": the manifest changed", top, e2e.ReadFile(t, filepath.Join(raw, "manifest.json")))
		})
	}
}

// TestSkopeoWithRegistry: skopeo copies packages to and from the registry of
// xfn without changes, lists their tags, and deletes them.
func TestSkopeoWithRegistry(t *testing.T) {
	t.Parallel()
	skopeo := skopeoCommand(t)
	reg := e2e.Must(registry.Open(t.TempDir()))(t)
	defer func() { _ = reg.Close() }()
	s := httptest.NewServer(reg)
	defer s.Close()
	dir := writeInputs(t)
	for name, tc := range builtPackages {
		t.Run(name, func(t *testing.T) {
			file := buildPackage(t, dir, name, tc)
			images := layoutImages(t, e2e.Untar(t, file))
			ref := "docker://" + s.Listener.Addr().String() + "/acme/" + strings.ToLower(name)
			skopeo("copy", "--all", "--dest-tls-verify=false", "oci-archive:"+file, ref+":v1")
			skopeo("copy", "--all", "--src-tls-verify=false", "--dest-tls-verify=false", ref+":v1", ref+"-copy:v2")
			out := filepath.Join(t.TempDir(), "out")
			skopeo("copy", "--all", "--src-tls-verify=false", ref+"-copy:v2", "oci:"+out+":v1")
			assertSame(t, images, layoutImages(t, out))
			skopeo("copy", "--all", "--src-tls-verify=false", "--dest-tls-verify=false", ref+":v1", ref+":v2")
			e2e.Equal(t, tc.reason, []string{"v1", "v2"}, tagsOf(t, skopeo("list-tags", "--tls-verify=false", ref)))
			skopeo("delete", "--tls-verify=false", ref+":v1") // This deletes both tags, because they have the same digest.
			e2e.Equal(t, tc.reason, 0, len(tagsOf(t, skopeo("list-tags", "--tls-verify=false", ref))))
		})
	}
}

func tagsOf(t *testing.T, out []byte) []string {
	t.Helper()
	var got struct{ Tags []string }
	e2e.NoError(t, json.Unmarshal(out, &got))
	return got.Tags
}

// assertInspected compares the output of skopeo inspect with an image. top is the
// top manifest, whose digest skopeo prints, or "" for a Docker archive, for which
// skopeo computes another digest.
func assertInspected(t *testing.T, out []byte, want v1.Image, top string) {
	t.Helper()
	var got struct {
		Digest, Os, Architecture string
		Labels                   map[string]string
		Layers                   []v1.Hash
	}
	e2e.NoError(t, json.Unmarshal(out, &got))
	c := e2e.Must(want.ConfigFile())(t)
	if diff := cmp.Diff(c.Config.Labels, got.Labels); diff != "" || got.Os != c.OS || got.Architecture != c.Architecture || len(got.Layers) != len(c.RootFS.DiffIDs) {
		t.Errorf("got %s, want %+v", out, c)
	}
	if digest := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(top))); top != "" && got.Digest != digest {
		t.Errorf("got digest %s, want %s", got.Digest, digest)
	}
}

// assertSame compares images by their manifests, annotations included.
func assertSame(t *testing.T, want, got []v1.Image) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %d images, want %d", len(got), len(want))
	}
	for i := range want {
		e2e.NoError(t, validate.Image(got[i]))
		was := e2e.Must(want[i].Manifest())(t)
		is := e2e.Must(got[i].Manifest())(t)
		e2e.Equal(t, fmt.Sprintf("image %d keeps its manifest", i), was, is)
		if is.Annotations["org.example.note"] != "one, two" || !strings.HasPrefix(is.Annotations["org.opencontainers.image.source"], "https://example.org/") {
			t.Errorf("image %d has annotations %v", i, is.Annotations)
		}
	}
}

// topManifest returns the only manifest in the index of an OCI layout.
func topManifest(t *testing.T, dir string) string {
	t.Helper()
	idx := e2e.Must(layout.ImageIndexFromPath(dir))(t)
	m := e2e.Must(idx.IndexManifest())(t)
	return e2e.ReadFile(t, filepath.Join(dir, "blobs", "sha256", m.Manifests[0].Digest.Hex))
}
