package push_test

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	ggcr "github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/xfn-dev/xfn/internal/e2e"
)

type object = map[string]any

// A shelf stores artifacts in a registry, without package push.
type shelf struct {
	t     *testing.T
	repo  name.Repository
	blobs []string // digests
	// at are the digests of the manifests by their tags or digests.
	at map[string]v1.Hash
}

func newShelf(t *testing.T, host string) *shelf {
	return &shelf{t: t, repo: parse(t, host).Context(), at: map[string]v1.Hash{}}
}

func descriptor(mediaType, content string) object {
	return object{"mediaType": mediaType, "size": len(content), "digest": digestOf(content)}
}

func digestOf(content string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(content))) }

// blob uploads a blob and returns its descriptor.
func (s *shelf) blob(mediaType, content string) object {
	s.t.Helper()
	put(s.t, http.MethodPost, s.repo, "blobs/uploads/?digest="+digestOf(content), "application/octet-stream", content)
	s.blobs = append(s.blobs, digestOf(content))
	return descriptor(mediaType, content)
}

// manifest writes a manifest to a tag, or to its digest, and returns its descriptor.
func (s *shelf) manifest(tag string, o object) object {
	s.t.Helper()
	raw := e2e.Must(json.MarshalIndent(o, "", " "))(s.t) // Indented: a copy that encodes it again has another digest.
	mediaType := fmt.Sprint(o["mediaType"])
	at := cmp.Or(tag, digestOf(string(raw)))
	put(s.t, http.MethodPut, s.repo, "manifests/"+at, mediaType, string(raw))
	h := e2e.Must(v1.NewHash(digestOf(string(raw))))(s.t)
	s.at[at], s.at[h.String()] = h, h
	return descriptor(mediaType, string(raw))
}

func put(t *testing.T, method string, repo name.Repository, path, mediaType, body string) {
	t.Helper()
	url := "http://" + repo.RegistryStr() + "/v2/" + repo.RepositoryStr() + "/" + path
	req := e2e.Must(http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body)))(t)
	req.Header.Set("Content-Type", mediaType)
	resp := e2e.Must(http.DefaultClient.Do(req))(t)
	defer func() { _ = resp.Body.Close() }()
	if text, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusCreated {
		t.Fatalf("%s %s: %s %s", method, path, resp.Status, text)
	}
}

// with returns o with the fields of more.
func with(o object, more object) object {
	o = maps.Clone(o)
	maps.Copy(o, more)
	return o
}

func (s *shelf) image(tag, what string, more object) object {
	s.t.Helper()
	return s.manifest(tag, with(object{
		"schemaVersion": 2, "mediaType": types.OCIManifestSchema1,
		"config": s.blob(string(types.OCIConfigJSON), `{"for":"`+what+`"}`),
		"layers": []object{s.blob(string(types.OCILayer), "layer of "+what), s.blob("application/x-strange", "strange "+what)},
	}, more))
}

func (s *shelf) index(tag string, more object, children ...object) object {
	s.t.Helper()
	return s.manifest(tag, with(object{"schemaVersion": 2, "mediaType": types.OCIImageIndex, "manifests": children}, more))
}

func (s *shelf) cosign(subject object, suffix string) object {
	s.t.Helper()
	digest, _ := subject["digest"].(string)
	tag := strings.Replace(digest, ":", "-", 1) + suffix
	return s.image(tag, tag, object{})
}

func (s *shelf) referrer(subject object, artifactType string) object {
	s.t.Helper()
	d := s.image("", fmt.Sprint(artifactType, " of ", subject["digest"]), object{"subject": subject, "artifactType": artifactType})
	return with(d, object{"artifactType": artifactType})
}

// fill stores an artifact with all kinds of attachments at v1.0.0. If listed is
// false, it also stores the list of referrers.
func (s *shelf) fill(listed bool) {
	s.t.Helper()
	amd := with(s.image("", "amd64", object{}), object{"platform": object{"os": "linux", "architecture": "amd64"}})
	docker := s.manifest("", object{
		"schemaVersion": 2, "mediaType": types.DockerManifestSchema2,
		"config": s.blob(string(types.DockerConfigJSON), `{"for":"docker"}`),
		"layers": []object{
			s.blob(string(types.DockerLayer), "docker layer"),
			with(descriptor(string(types.DockerForeignLayer), "elsewhere"), object{"urls": []string{"https://example.org/layer"}}),
		},
	})
	nested := s.index("", object{}, with(docker, object{"platform": object{"os": "windows", "architecture": "amd64", "os.version": "10.0"}}))
	attestation := with(s.image("", "attestation", object{"artifactType": "application/x-attestation"}),
		object{"platform": object{"os": "unknown", "architecture": "unknown"}})
	root := s.index("v1.0.0", object{"annotations": object{"a": "b"}, "x-later": 12345678901234567}, amd, nested, attestation)
	sig := s.cosign(root, ".sig")
	s.cosign(root, ".att")
	sbom := s.cosign(amd, ".sbom")
	s.cosign(sbom, ".sig")
	s.cosign(docker, ".sig")
	lists := map[string][]object{}
	refer := func(subject object, artifactType string) object {
		d := s.referrer(subject, artifactType)
		digest, _ := subject["digest"].(string)
		lists[digest] = append(lists[digest], d)
		return d
	}
	first := refer(root, "application/x-notes")
	refer(root, "application/x-more-notes")
	refer(first, "application/x-signature")
	refer(sig, "application/x-time")
	if listed {
		return
	}
	for digest, list := range lists {
		put := maps.Clone(s.at)
		s.index(strings.Replace(digest, ":", "-", 1), object{}, list...)
		s.at = put // Copy does not copy the list, so check must not expect it.
	}
}

// check fails unless another registry has the same artifacts.
func (s *shelf) check(repo name.Repository, rename map[string]string) {
	s.t.Helper()
	for at, h := range s.at {
		if to, ok := rename[at]; ok {
			at = to
		}
		ref := name.Reference(repo.Tag(at))
		if strings.Contains(at, ":") {
			ref = repo.Digest(at)
		}
		desc, err := ggcr.Get(ref)
		if err != nil {
			s.t.Errorf("%s is missing: %v", at, err)
			continue
		}
		original := e2e.Must(ggcr.Get(s.repo.Digest(h.String())))(s.t)
		if desc.Digest != h || desc.MediaType != original.MediaType || !bytes.Equal(desc.Manifest, original.Manifest) {
			s.t.Errorf("%s is at %s, want %s", at, desc.Digest, h)
		}
	}
	for _, h := range s.blobs {
		l, err := ggcr.Layer(repo.Digest(h))
		if err == nil {
			var rc io.ReadCloser
			if rc, err = l.Compressed(); err == nil {
				_, err = io.Copy(io.Discard, rc)
				_ = rc.Close()
			}
		}
		if err != nil {
			s.t.Errorf("blob %s: %v", h, err)
		}
	}
}
