package registry

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/proc"
)

var (
	errRepository = refuse(http.StatusNotFound, "NAME_UNKNOWN", "the repository does not exist")
	errManifest   = refuse(http.StatusNotFound, "MANIFEST_UNKNOWN", "the manifest does not exist")
	errDigest     = refuse(http.StatusBadRequest, "DIGEST_INVALID", "the content does not have this digest")

	// tagName matches valid tags: OCI distribution spec, "Pulling manifests".
	tagName = proc.Regexp(`^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$`)
)

// A store has the tags, the manifests and the digests of the blobs of all repositories in
// memory. At start it is rebuilt from the journal.
type store struct {
	journal *journal

	// changing is locked while a change is written and applied, so that changes are in the same
	// order in the journal and in memory.
	changing sync.Mutex
	// mu guards repositories and blobs. It is not locked while the journal is written.
	mu           sync.RWMutex
	repositories map[string]*repository
	// blobs has the blobs of each repository. Its key "" has the blobs of all repositories.
	blobs map[string]map[v1.Hash]bool
}

// A repository has the tags and manifests of a repository.
type repository struct {
	tags map[string]v1.Hash
	// manifests has each manifest by the digest that the client used to push it.
	manifests map[v1.Hash]manifest
}

// A manifest has exactly the bytes that a client pushed.
type manifest struct {
	v1.Descriptor
	content []byte
	// subject is the digest of the manifest's subject, or the zero value if it has none.
	subject v1.Hash
}

// link is the Method of a change that adds an existing blob to a repository.
const link = "LINK"

// A change is a change of a repository: a line of the journal.
type change struct {
	// Method is PUT or DELETE for a manifest or tag, or link for a blob.
	Method     string `json:"method"`
	Repository string `json:"repository"`
	// Reference is a tag or a digest.
	Reference string `json:"reference"`
	MediaType string `json:"mediaType,omitempty"`
	Manifest  []byte `json:"manifest,omitempty"`
}

// parseDigest returns the digest in a reference, or the zero value if the reference is a
// tag.
func parseDigest(reference string) (v1.Hash, error) {
	if !strings.Contains(reference, ":") {
		return v1.Hash{}, nil
	}
	h, err := v1.NewHash(reference)
	if err != nil {
		return h, refuse(http.StatusBadRequest, "DIGEST_INVALID", err.Error())
	}
	return h, nil
}

func (s *store) find(repository, reference string) (manifest, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.findLocked(repository, reference)
}

func (s *store) findLocked(repository, reference string) (manifest, error) {
	digest, err := parseDigest(reference)
	if err != nil {
		return manifest{}, err
	}
	in := s.repositories[repository]
	if in == nil {
		return manifest{}, errRepository
	}
	if digest == (v1.Hash{}) {
		digest = in.tags[reference]
	}
	m, ok := in.manifests[digest]
	if !ok {
		return m, errManifest
	}
	return m, nil
}

// holds reports whether a repository has a blob. For the name "", it reports whether any
// repository has it.
func (s *store) holds(repository string, h v1.Hash) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.blobs[repository][h]
}

// commit writes c to the journal, then applies it. If it applied c first, clients could see
// a change that a restart loses. The caller must have locked changing.
func (s *store) commit(c change) error {
	if err := s.journal.add(c); err != nil {
		return err
	}
	return s.apply(c)
}

func (s *store) apply(c change) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch c.Method {
	case link:
		h, err := v1.NewHash(c.Reference)
		if err != nil {
			return err
		}
		for _, name := range []string{c.Repository, ""} {
			if s.blobs[name] == nil {
				s.blobs[name] = map[v1.Hash]bool{}
			}
			s.blobs[name][h] = true
		}
		return nil
	case http.MethodPut:
		return s.put(c)
	case http.MethodDelete:
		return s.remove(c)
	default:
		return fmt.Errorf("unknown method %q in the journal", c.Method)
	}
}

func (s *store) put(c change) error {
	m, d, err := c.parse()
	if err != nil {
		return err
	}
	m.Annotations, m.ArtifactType = d.Annotations, d.ArtifactType
	if m.ArtifactType == "" && d.Config != nil {
		m.ArtifactType = string(d.Config.MediaType) // OCI distribution spec, "Listing Referrers"
	}
	if d.Subject != nil {
		m.subject = d.Subject.Digest
	}
	in := s.repositories[c.Repository]
	if in == nil {
		in = &repository{map[string]v1.Hash{}, map[v1.Hash]manifest{}}
		s.repositories[c.Repository] = in
	}
	in.manifests[m.Digest] = m
	if c.Reference != m.Digest.String() {
		in.tags[c.Reference] = m.Digest
	}
	return nil
}

func (s *store) remove(c change) error {
	m, err := s.findLocked(c.Repository, c.Reference)
	if err != nil {
		return err
	}
	in := s.repositories[c.Repository]
	if _, ok := in.tags[c.Reference]; ok {
		delete(in.tags, c.Reference)
		return nil
	}
	delete(in.manifests, m.Digest)
	maps.DeleteFunc(in.tags, func(_ string, digest v1.Hash) bool { return digest == m.Digest })
	return nil
}

// A document has the fields of a manifest that the registry needs: OCI image
// spec, "Image Manifest" and "Image Index".
type document struct {
	// SchemaVersion is 2 in all images and indexes of OCI and of Docker.
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     types.MediaType   `json:"mediaType"`
	ArtifactType  string            `json:"artifactType"`
	Config        *v1.Descriptor    `json:"config"`
	Layers        []v1.Descriptor   `json:"layers"`
	Manifests     []v1.Descriptor   `json:"manifests"`
	Subject       *v1.Descriptor    `json:"subject"`
	Annotations   map[string]string `json:"annotations"`
}

// parse decodes the manifest in c. It returns an error if the reference, the digest or the
// JSON is not valid.
func (c change) parse() (m manifest, d *document, err error) {
	m.content, m.Size, m.MediaType = c.Manifest, int64(len(c.Manifest)), types.MediaType(c.MediaType)
	want, err := parseDigest(c.Reference)
	if err != nil {
		return m, nil, err
	}
	isTag := want == (v1.Hash{})
	if isTag && !tagName().MatchString(c.Reference) {
		return m, nil, invalid("the tag's name is invalid")
	}
	m.Digest = oci.Sum(cmp.Or(want.Algorithm, "sha256"), c.Manifest)
	if !isTag && want != m.Digest {
		return m, nil, errDigest
	}
	if err := json.Unmarshal(c.Manifest, &d); err != nil {
		return m, nil, invalid("the manifest cannot be read: " + hint.JSONError(err).Error())
	}
	if d == nil {
		return m, nil, invalid("the manifest is not a JSON object")
	}
	return m, d, nil
}

// check returns an error if the manifest is not valid, or does not match the Content-Type of
// the request. Otherwise it returns the media type.
func (d *document) check(contentType string) (types.MediaType, error) {
	if contentType != "" {
		sent, _, err := mime.ParseMediaType(contentType)
		if err != nil {
			return "", invalid(fmt.Sprintf("the media type %q cannot be read", contentType))
		}
		if d.MediaType != "" && string(d.MediaType) != sent {
			return "", invalid(fmt.Sprintf("the manifest was sent as %q, but its media type is %q", sent, d.MediaType))
		}
		d.MediaType = types.MediaType(sent)
	}
	if d.MediaType == "" {
		return "", invalid("the manifest has no media type")
	}
	if (d.MediaType.IsImage() || d.MediaType.IsIndex()) && d.SchemaVersion != 2 {
		return "", invalid(fmt.Sprintf("the manifest's schemaVersion is %d, but must be 2", d.SchemaVersion))
	}
	if d.MediaType.IsImage() && d.Config == nil {
		return "", invalid("the manifest is of an image, but has no config")
	}
	all := slices.Concat(d.Layers, d.Manifests)
	for _, one := range []*v1.Descriptor{d.Config, d.Subject} {
		if one != nil {
			all = append(all, *one)
		}
	}
	for _, of := range all {
		if of.Digest == (v1.Hash{}) {
			return "", invalid("the manifest has a descriptor without a digest")
		}
		if of.Size < 0 {
			return "", invalid(fmt.Sprintf("the manifest has a descriptor with a size of %d bytes", of.Size))
		}
	}
	return d.MediaType, nil
}

func invalid(message string) error {
	return refuse(http.StatusBadRequest, "MANIFEST_INVALID", message)
}
