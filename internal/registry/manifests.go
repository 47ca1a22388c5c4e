package registry

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/oci"
)

// manifests has the contents of all repositories in memory. The journal
// restores it.
type manifests struct {
	journal *journal

	// changing serializes changes, so that the journal has the order in
	// which they apply.
	changing sync.Mutex
	// mu guards the fields below. Readers do not wait for the disk.
	mu           sync.RWMutex
	repositories map[string]*contents
	// linked has the blobs of each repository, and of all repositories
	// under "".
	linked map[string]map[v1.Hash]bool
}

func newManifests(j *journal) *manifests {
	return &manifests{journal: j, repositories: map[string]*contents{}, linked: map[string]map[v1.Hash]bool{}}
}

// contents are the tags and manifests of one repository.
type contents struct {
	// tags has the digest of each tag.
	tags map[string]string
	// manifests has each manifest by the digest with which it was pushed.
	manifests map[string]manifest
}

// A manifest is stored byte for byte as it was pushed.
type manifest struct {
	mediaType string
	content   []byte
	// subject is the digest of its subject, or "".
	subject string
}

// link is the method of a change that adds a blob to a repository.
const link = "LINK"

// A change is a change of a repository: a line of the journal.
type change struct {
	// Method is the HTTP method of the request for a manifest, or link.
	Method     string `json:"method"`
	Repository string `json:"repository"`
	// Reference is a tag or a digest.
	Reference string `json:"reference"`
	MediaType string `json:"mediaType,omitempty"`
	Manifest  []byte `json:"manifest,omitempty"`
}

func (m *manifests) serve(w http.ResponseWriter, r *http.Request, repository, reference string) {
	if !allowed(w, r, http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete) {
		return
	}
	if isDigest(reference) {
		if _, err := v1.NewHash(reference); err != nil {
			refuse(w, http.StatusBadRequest, "DIGEST_INVALID", err.Error())
			return
		}
	}
	switch r.Method {
	case http.MethodPut:
		m.put(w, r, repository, reference)
	case http.MethodDelete:
		m.remove(w, repository, reference)
	default:
		m.get(w, r, repository, reference)
	}
}

func isDigest(reference string) bool { return strings.Contains(reference, ":") }

func (m *manifests) get(w http.ResponseWriter, r *http.Request, repository, reference string) {
	digest, got, err := m.find(repository, reference)
	if err != nil {
		unknown(w, err)
		return
	}
	w.Header().Set("Content-Type", got.mediaType)
	w.Header().Set("Content-Length", fmt.Sprint(len(got.content)))
	w.Header().Set("Docker-Content-Digest", digest)
	w.Header().Set("Etag", `"`+digest+`"`)
	if r.Method == http.MethodGet {
		_, _ = w.Write(got.content)
	}
}

var (
	errRepository = errors.New("the repository does not exist")
	errManifest   = errors.New("the manifest does not exist")
)

// unknown answers with the error of find.
func unknown(w http.ResponseWriter, err error) {
	code := "MANIFEST_UNKNOWN"
	if errors.Is(err, errRepository) {
		code = "NAME_UNKNOWN"
	}
	refuse(w, http.StatusNotFound, code, err.Error())
}

// find returns a manifest and its digest.
func (m *manifests) find(repository, reference string) (string, manifest, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	in := m.repositories[repository]
	if in == nil {
		return "", manifest{}, errRepository
	}
	digest := reference
	if !isDigest(reference) {
		digest = in.tags[reference]
	}
	got, ok := in.manifests[digest]
	if !ok {
		return "", manifest{}, errManifest
	}
	return digest, got, nil
}

func (m *manifests) put(w http.ResponseWriter, r *http.Request, repository, reference string) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, oci.MaxManifest))
	if err != nil {
		refuseBody(w, err)
		return
	}
	c := change{Method: r.Method, Repository: repository, Reference: reference, Manifest: body}
	parsed, err := c.check(r.Header.Get("Content-Type"))
	switch {
	case errors.Is(err, errDigest):
		refuse(w, http.StatusBadRequest, "DIGEST_INVALID", err.Error())
		return
	case err != nil:
		refuse(w, http.StatusBadRequest, "MANIFEST_INVALID", err.Error())
		return
	}
	c.MediaType = parsed.MediaType
	m.changing.Lock()
	defer m.changing.Unlock()
	if missing := m.missing(repository, parsed); len(missing) > 0 {
		refuseAll(w, http.StatusBadRequest, missing)
		return
	}
	if err := m.commit(c); err != nil {
		refuseBody(w, err)
		return
	}
	w.Header().Set("Location", fmt.Sprintf("/v2/%s/manifests/%s", repository, reference))
	w.Header().Set("Docker-Content-Digest", c.digest())
	if parsed.Subject != nil {
		w.Header().Set("OCI-Subject", parsed.Subject.Digest.String())
	}
	w.WriteHeader(http.StatusCreated)
}

// check validates a manifest and its media type.
func (c change) check(contentType string) (*document, error) {
	if !isDigest(c.Reference) && !tagName().MatchString(c.Reference) {
		return nil, errors.New("the tag's name is invalid")
	}
	if c.digest() == "" {
		return nil, errDigest
	}
	return parse(c.Manifest, contentType)
}

// digest returns the digest under which the manifest of c is stored, or "" if c
// has a digest that does not match.
func (c change) digest() string {
	want := v1.Hash{Algorithm: "sha256"}
	if isDigest(c.Reference) {
		var err error
		if want, err = v1.NewHash(c.Reference); err != nil {
			return ""
		}
	}
	hasher, err := v1.Hasher(want.Algorithm)
	if err != nil {
		return ""
	}
	hasher.Write(c.Manifest)
	got := v1.Hash{Algorithm: want.Algorithm, Hex: hex.EncodeToString(hasher.Sum(nil))}
	if isDigest(c.Reference) && got != want {
		return ""
	}
	return got.String()
}

// missing returns the parts of a manifest that its repository does not have.
// The subject may be missing: OCI distribution spec, "Pushing Manifests with
// Subject".
func (m *manifests) missing(repository string, d *document) []failure {
	var out []failure
	for _, h := range d.blobs() {
		if !m.holds(repository, h) {
			out = append(out, missing(h, "blob"))
		}
	}
	for _, h := range d.children() {
		if _, _, err := m.find(repository, h.String()); err != nil {
			out = append(out, missing(h, "manifest"))
		}
	}
	return out
}

func missing(h v1.Hash, what string) failure {
	return failure{
		Code:    "MANIFEST_BLOB_UNKNOWN",
		Message: fmt.Sprintf("the manifest names a %s that is not in the repository", what),
		Detail:  map[string]string{"digest": h.String()},
	}
}

func (m *manifests) remove(w http.ResponseWriter, repository, reference string) {
	m.changing.Lock()
	defer m.changing.Unlock()
	if _, _, err := m.find(repository, reference); err != nil {
		unknown(w, err)
		return
	}
	if err := m.commit(change{Method: http.MethodDelete, Repository: repository, Reference: reference}); err != nil {
		refuseBody(w, err)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// holds reports whether a repository has a blob, or, if the name is "", any
// repository.
func (m *manifests) holds(repository string, h v1.Hash) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.linked[repository][h]
}

// link adds an existing blob to a repository.
func (m *manifests) link(repository string, h v1.Hash) error {
	m.changing.Lock()
	defer m.changing.Unlock()
	if m.holds(repository, h) {
		return nil
	}
	return m.commit(change{Method: link, Repository: repository, Reference: h.String()})
}

// commit writes c to the journal before it applies c: clients must not see a
// change that a restart would lose.
func (m *manifests) commit(c change) error {
	if err := m.journal.add(c); err != nil {
		return err
	}
	return m.apply(c)
}

// apply applies c in memory.
func (m *manifests) apply(c change) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	in := m.repositories[c.Repository]
	switch c.Method {
	case link:
		h, err := v1.NewHash(c.Reference)
		if err != nil {
			return err
		}
		m.give(c.Repository, h)
		return nil
	case http.MethodPut:
		if in == nil {
			in = &contents{tags: map[string]string{}, manifests: map[string]manifest{}}
			m.repositories[c.Repository] = in
		}
		return in.put(c)
	case http.MethodDelete:
		if in == nil {
			return errRepository
		}
		return in.remove(c.Reference)
	}
	return fmt.Errorf("unknown method %s", c.Method)
}

// give records that a repository has a blob.
func (m *manifests) give(repository string, h v1.Hash) {
	for _, name := range []string{repository, ""} {
		if m.linked[name] == nil {
			m.linked[name] = map[v1.Hash]bool{}
		}
		m.linked[name][h] = true
	}
}

func (in *contents) put(c change) error {
	digest := c.digest()
	if digest == "" {
		return errDigest
	}
	in.manifests[digest] = manifest{mediaType: c.MediaType, content: c.Manifest, subject: subjectOf(c.Manifest)}
	if !isDigest(c.Reference) {
		in.tags[c.Reference] = digest
	}
	return nil
}

// remove removes a tag, or a manifest with all its tags.
func (in *contents) remove(reference string) error {
	if !isDigest(reference) {
		if _, ok := in.tags[reference]; !ok {
			return errManifest
		}
		delete(in.tags, reference)
		return nil
	}
	if _, ok := in.manifests[reference]; !ok {
		return errManifest
	}
	delete(in.manifests, reference)
	for tag, digest := range in.tags {
		if digest == reference {
			delete(in.tags, tag)
		}
	}
	return nil
}

// replay applies the changes of the journal.
func (m *manifests) replay() error {
	return m.journal.read(func(c change) error {
		if err := m.apply(c); err != nil {
			return fmt.Errorf("%s of %s in %s: %w", c.Method, c.Reference, c.Repository, err)
		}
		return nil
	})
}
