package registry_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/registry"
)

// start serves the registry of dir. It returns HOST:PORT and a function that
// stops the registry before the test ends.
func start(t *testing.T, dir string) (host string, stop func()) {
	t.Helper()
	reg := e2e.Must(registry.Open(dir))(t)
	s := httptest.NewServer(reg)
	stop = sync.OnceFunc(func() {
		s.Close()
		e2e.NoError(t, reg.Close())
	})
	t.Cleanup(stop)
	return s.Listener.Addr().String(), stop
}

func tag(t *testing.T, host, rest string) name.Tag {
	t.Helper()
	return e2e.Must(name.NewTag(host+"/"+rest, name.StrictValidation))(t)
}

func image(t *testing.T) v1.Image {
	t.Helper()
	return e2e.Must(random.Image(1<<14, 2))(t)
}

func digest(t *testing.T, a partial.Describable) string {
	t.Helper()
	return e2e.Must(a.Digest())(t).String()
}

// TestPushPull: an image and an index are equal after push and pull.
func TestPushPull(t *testing.T) {
	host, _ := start(t, t.TempDir())
	img := image(t)
	ref := tag(t, host, "a/image:v1")
	e2e.NoError(t, remote.Write(ref, img))
	got := e2e.Must(remote.Image(ref))(t)
	e2e.NoError(t, validate.Image(got))
	e2e.Equal(t, "the image is stored unchanged", digest(t, img), digest(t, got))
	idx := e2e.Must(random.Index(1<<12, 2, 2))(t)
	ref = tag(t, host, "a/index:v1")
	e2e.NoError(t, remote.WriteIndex(ref, idx))
	gotIndex := e2e.Must(remote.Index(ref))(t)
	e2e.NoError(t, validate.Index(gotIndex))
	e2e.Equal(t, "the index is stored unchanged", digest(t, idx), digest(t, gotIndex))
}

// TestRestart: pushes, moved tags and deletions survive a restart.
func TestRestart(t *testing.T) {
	dir := t.TempDir()
	host, stop := start(t, dir)
	old, img := image(t), image(t)
	idx := e2e.Must(random.Index(1<<12, 1, 2))(t)
	e2e.NoError(t, remote.Write(tag(t, host, "a/image:v1"), old))
	e2e.NoError(t, remote.Write(tag(t, host, "a/image:gone"), old))
	e2e.NoError(t, remote.Write(tag(t, host, "a/image:v1"), img))
	e2e.NoError(t, remote.Delete(tag(t, host, "a/image:gone")))
	e2e.NoError(t, remote.WriteIndex(tag(t, host, "b:v2"), idx))
	signature := attach(t, host, img)
	child := children(t, idx)[0]
	e2e.NoError(t, remote.Delete(tag(t, host, "b:v2").Digest(child)))
	before := state(t, host)
	stop()

	host, _ = start(t, dir)
	e2e.Equal(t, "a restart does not change the registry", before, state(t, host))
	got := e2e.Must(remote.Image(tag(t, host, "a/image:v1")))(t)
	e2e.NoError(t, validate.Image(got))
	e2e.Equal(t, "the tag did not stay where it was moved", digest(t, img), digest(t, got))
	e2e.WantError(t, "an image without a tag is lost", e2e.Err(remote.Image(tag(t, host, "a/image:v1").Digest(digest(t, old)))), "")
	refs := e2e.Must(remote.Referrers(tag(t, host, "a/image:v1").Digest(digest(t, img))))(t)
	if got := children(t, refs); len(got) != 1 || got[0] != signature {
		t.Errorf("got referrers %v, want %s", got, signature)
	}
	e2e.Error(t, "a deleted manifest exists after a restart", e2e.Err(remote.Get(tag(t, host, "b:v2").Digest(child))))
}

// TestReferrersOfClients: clients with the referrers API find referrers without
// the fallback tag of older clients.
func TestReferrersOfClients(t *testing.T) {
	host, _ := start(t, t.TempDir())
	img := image(t)
	e2e.NoError(t, remote.Write(tag(t, host, "a/image:v1"), img))
	want := []string{attach(t, host, img), attach(t, host, img)}
	slices.Sort(want)
	e2e.Equal(t, "a registry with the referrers API gets no fallback tag", []string{"v1"}, state(t, host)["a/image"])
	to := tag(t, host, "a/image:v1").Digest(digest(t, img))
	for filter, want := range map[string][]string{string(types.DockerConfigJSON): want, string(types.OCIConfigJSON): nil} {
		refs := e2e.Must(remote.Referrers(to, remote.WithFilter("artifactType", filter)))(t)
		e2e.Equal(t, "referrers are filtered by "+filter, want, children(t, refs))
	}
}

func children(t *testing.T, idx v1.ImageIndex) []string {
	t.Helper()
	m := e2e.Must(idx.IndexManifest())(t)
	var out []string
	for _, d := range m.Manifests {
		out = append(out, d.Digest.String())
	}
	return out
}

// attach pushes an image with a subject, and returns its digest.
func attach(t *testing.T, host string, to v1.Image) string {
	t.Helper()
	desc := e2e.Must(partial.Descriptor(to))(t)
	img, ok := mutate.Subject(mutate.MediaType(image(t), types.OCIManifestSchema1), *desc).(v1.Image)
	if !ok {
		t.Fatal("not an image")
	}
	e2e.NoError(t, remote.Write(tag(t, host, "a/image:x").Digest(digest(t, img)), img))
	return digest(t, img)
}

// state returns everything that clients can list.
func state(t *testing.T, host string) map[string][]string {
	t.Helper()
	reg := e2e.Must(name.NewRegistry(host))(t)
	repos := e2e.Must(remote.Catalog(t.Context(), reg))(t)
	out := map[string][]string{}
	for _, repo := range repos {
		tags := e2e.Must(remote.List(reg.Repo(repo)))(t)
		out[repo] = tags
	}
	return out
}

func TestConcurrentPushes(t *testing.T) {
	dir := t.TempDir()
	host, stop := start(t, dir)
	same := image(t)
	images := []v1.Image{same, same, same, image(t), image(t), image(t)}
	var wg sync.WaitGroup
	for i, img := range images {
		wg.Go(func() {
			ref := tag(t, host, fmt.Sprintf("r%d:moving", i%4))
			if err := remote.Write(ref, img); err != nil {
				t.Error(err)
			}
			if err := remote.Write(ref.Tag(fmt.Sprintf("v%d", i)), img); err != nil {
				t.Error(err)
			}
		})
	}
	e2e.Wait(t, &wg)
	before := heads(t, host)
	stop()
	host, _ = start(t, dir)
	e2e.Equal(t, "the journal has another order than the registry had", before, heads(t, host))
	for i, img := range images {
		got := e2e.Must(remote.Image(tag(t, host, fmt.Sprintf("r%d:v%d", i%4, i))))(t)
		e2e.NoError(t, validate.Image(got))
		e2e.Equal(t, fmt.Sprintf("image %d differs", i), digest(t, img), digest(t, got))
	}
}

func heads(t *testing.T, host string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for repo, tags := range state(t, host) {
		for _, tagged := range tags {
			ref := tag(t, host, repo+":"+tagged)
			desc := e2e.Must(remote.Head(ref))(t)
			out[repo+":"+tagged] = desc.Digest.String()
		}
	}
	return out
}

func TestJournal(t *testing.T) {
	good := `{"method":"PUT","repository":"a","reference":"v1","mediaType":"x/y","manifest":"e30="}` + "\n"
	unlawful := `{"method":"DELETE","repository":"a","reference":"v0"}` + "\n"
	cases := map[string]struct {
		reason, journal string
		tags            []string
		err             string
	}{
		"Empty":    {"an empty journal has no changes", "", nil, ""},
		"Whole":    {"the changes of the journal are replayed", good, []string{"v1"}, ""},
		"Torn":     {"a partial last line is removed", good + `{"method":"PUT","repos`, []string{"v1"}, ""},
		"Unended":  {"a last line without a newline is removed", strings.TrimSpace(good), nil, ""},
		"Damaged":  {"a damaged line is an error that names it", good + "{\n" + good, nil, "line 2"},
		"Unlawful": {"a line that cannot be applied is an error", good + unlawful + good, nil, "line 2"},
		"Method":   {"a line with an unknown method is an error", strings.Replace(good, "PUT", "BREW", 1), nil, "line 1"},
		"Another":  {"a manifest with another digest is an error", strings.Replace(good, "v1", sum("x"), 1), nil, "line 1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "manifests.jsonl")
			e2e.NoError(t, os.WriteFile(path, []byte(tc.journal), 0o600))
			if tc.err != "" {
				e2e.ErrorHas(t, tc.reason, e2e.Err(registry.Open(dir)), tc.err)
				return
			}
			host, stop := start(t, dir)
			e2e.Equal(t, tc.reason, tc.tags, state(t, host)["a"])
			e2e.NoError(t, remote.Write(tag(t, host, "a:v2"), image(t)))
			stop()
			host, _ = start(t, dir)
			e2e.Equal(t, tc.reason+": after one more push: tags", append(tc.tags, "v2"), state(t, host)["a"])
		})
	}
}

// TestJournalFails: a change that could not be written to the journal is not applied.
func TestJournalFails(t *testing.T) {
	dir := t.TempDir()
	host, stop := start(t, dir)
	v := visit{host: host, repository: "a"}
	obstacle := filepath.Join(dir, "manifests.jsonl")
	e2e.NoError(t, os.Mkdir(obstacle, 0o755))
	push := put("v1", "x/y", "{}")
	push.status, push.code = 500, "UNKNOWN"
	v.send(t, push)
	v.send(t, head("/v2/a/manifests/v1", 404, nil))
	e2e.NoError(t, os.Remove(obstacle))
	v.send(t, put("v1", "x/y", "{}"))
	before := state(t, host)
	stop()
	host, _ = start(t, dir)
	e2e.Equal(t, "a restart does not change the registry", before, state(t, host))
}

// TestRefusedChange: a refused change is not written to the journal.
func TestRefusedChange(t *testing.T) {
	dir := t.TempDir()
	host, stop := start(t, dir)
	v := visit{host: host, repository: "a"}
	v.send(t, put("v1", "x/y", "{}"))
	v.send(t, step{method: "DELETE", path: "/v2/a/manifests/v0", status: 404, code: "MANIFEST_UNKNOWN"})
	v.send(t, step{method: "PUT", path: "/v2/a/manifests/v3", status: 400, code: "MANIFEST_INVALID"})
	noConfig := put("v4", "application/vnd.oci.image.manifest.v1+json", "{}")
	noConfig.status, noConfig.code = 400, "MANIFEST_INVALID"
	v.send(t, noConfig)
	v.send(t, put("v2", "x/y", "{}"))
	stop()
	host, _ = start(t, dir)
	e2e.Equal(t, "the tags are there after the restart", []string{"v1", "v2"}, state(t, host)["a"])
}

// TestUnreadableManifest: the error for a manifest names its field, and no type of Go.
func TestUnreadableManifest(t *testing.T) {
	host, _ := start(t, t.TempDir())
	v := visit{host: host, repository: "a"}
	for manifest, want := range map[string]string{
		"[]":                    "the manifest cannot be read: it must not be a JSON array",
		`{"schemaVersion":"2"}`: "the manifest cannot be read: schemaVersion must not be a JSON string",
		"{":                     "the manifest cannot be read: unexpected end of JSON input",
	} {
		s := put("v1", "x/y", manifest)
		s.status, s.code, s.want = 400, "MANIFEST_INVALID", map[string]string{"body": `(?s).*"message":"` + want + `".*`}
		v.send(t, s)
	}
}

// FuzzHandler: each request gets a valid HTTP response, and no file is created
// outside the folders of the registry.
func FuzzHandler(f *testing.F) {
	for _, path := range []string{
		"/v2/", "/v2/a/manifests/v1", "/v2/a/manifests/sha256:" + strings.Repeat("0", 64), "/v2/../x/manifests/v1",
		"/v2/a/blobs/uploads/", "/v2/a/blobs/uploads/../../x", "/v2/a/blobs/uploads/" + "00000000-0000-4000-8000-000000000000",
		"/v2/a/blobs/sha256:" + strings.Repeat("0", 64), "/v2/a/tags/list?n=-1", "/v2/_catalog?n=x", "/v2/a/referrers/x",
	} {
		for _, method := range []string{"GET", "HEAD", "POST", "PATCH", "PUT", "DELETE"} {
			f.Add(method, path, []byte(`{"mediaType":"x"}`))
		}
	}
	outer := f.TempDir()
	h := e2e.Open(registry.Open(filepath.Join(outer, "dir")))(f)
	f.Fuzz(func(t *testing.T, method, path string, body []byte) {
		r, err := http.NewRequestWithContext(t.Context(), method, "http://registry"+path, bytes.NewReader(body))
		if err != nil || !strings.HasPrefix(r.URL.Path, "/") {
			return
		}
		h.ServeHTTP(httptest.NewRecorder(), r)
		entries := e2e.Must(os.ReadDir(outer))(t)
		e2e.Equal(t, fmt.Sprintf("%s %s left the directory", method, path), 1, len(entries))
	})
}
