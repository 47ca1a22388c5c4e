package registry

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// tags answers with a page of tags: OCI distribution spec, "Listing Tags".
func (m *manifests) tags(w http.ResponseWriter, r *http.Request, repository string) {
	if !allowed(w, r, http.MethodGet, http.MethodHead) {
		return
	}
	m.mu.RLock()
	in := m.repositories[repository]
	if in == nil {
		m.mu.RUnlock()
		unknown(w, errRepository)
		return
	}
	all := slices.Collect(maps.Keys(in.tags))
	m.mu.RUnlock()
	if tags, ok := page(w, r, all); ok {
		answer(w, map[string]any{"name": repository, "tags": tags}, "application/json")
	}
}

// catalog answers with a page of repositories, as Docker's registry does. The
// OCI distribution spec does not define it.
func (m *manifests) catalog(w http.ResponseWriter, r *http.Request) {
	if !allowed(w, r, http.MethodGet, http.MethodHead) {
		return
	}
	m.mu.RLock()
	all := slices.Collect(maps.Keys(m.repositories))
	m.mu.RUnlock()
	if names, ok := page(w, r, all); ok {
		answer(w, map[string]any{"repositories": names}, "application/json")
	}
}

// lexical is the order of the spec, which ignores case. Case decides between
// names that differ in nothing else.
func lexical(a, b string) int {
	return cmp.Or(cmp.Compare(strings.ToLower(a), strings.ToLower(b)), cmp.Compare(a, b))
}

// page sorts all and returns at most "n" names after "last", with a link to the
// next page if there is one. It refuses an invalid "n".
func page(w http.ResponseWriter, r *http.Request, all []string) ([]string, bool) {
	slices.SortFunc(all, lexical)
	query := r.URL.Query()
	if last := query.Get("last"); last != "" {
		at, found := slices.BinarySearchFunc(all, last, lexical)
		if found {
			at++
		}
		all = all[at:]
	}
	if !query.Has("n") {
		return nonNil(all), true
	}
	n, err := strconv.ParseUint(query.Get("n"), 10, 31)
	if err != nil {
		refuse(w, http.StatusBadRequest, "UNSUPPORTED", "n is not a valid count")
		return nil, false
	}
	if uint64(len(all)) <= n {
		return nonNil(all), true
	}
	all = all[:n]
	if n > 0 {
		next := url.Values{"n": {strconv.FormatUint(n, 10)}, "last": {all[n-1]}}
		w.Header().Set("Link", fmt.Sprintf("<%s?%s>; rel=\"next\"", r.URL.Path, next.Encode()))
	}
	return nonNil(all), true
}

// nonNil returns an empty list for nil, so that JSON has [] and not null.
func nonNil(list []string) []string { return append([]string{}, list...) }

// referrers answers with the manifests whose subject is a digest: OCI
// distribution spec, "Listing Referrers".
func (m *manifests) referrers(w http.ResponseWriter, r *http.Request, repository, subject string) {
	if !allowed(w, r, http.MethodGet, http.MethodHead) {
		return
	}
	if _, err := v1.NewHash(subject); err != nil {
		refuse(w, http.StatusBadRequest, "DIGEST_INVALID", err.Error())
		return
	}
	found := m.referring(repository, subject)
	if wanted := r.URL.Query().Get("artifactType"); wanted != "" {
		w.Header().Set("OCI-Filters-Applied", "artifactType")
		found = slices.DeleteFunc(found, func(d v1.Descriptor) bool { return d.ArtifactType != wanted })
	}
	answer(w, v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: found}, string(types.OCIImageIndex))
}

// referring returns the descriptors of referrers, sorted by digest.
func (m *manifests) referring(repository, subject string) []v1.Descriptor {
	m.mu.RLock()
	defer m.mu.RUnlock()
	out := []v1.Descriptor{}
	in := m.repositories[repository]
	if in == nil {
		return out
	}
	for _, digest := range slices.Sorted(maps.Keys(in.manifests)) {
		if got := in.manifests[digest]; got.subject == subject {
			out = append(out, got.descriptor(digest))
		}
	}
	return out
}

func (m manifest) descriptor(digest string) v1.Descriptor {
	var d document
	_ = json.Unmarshal(m.content, &d)
	h, _ := v1.NewHash(digest)
	return v1.Descriptor{
		MediaType:    types.MediaType(m.mediaType),
		Size:         int64(len(m.content)),
		Digest:       h,
		ArtifactType: d.artifact(),
		Annotations:  d.Annotations,
	}
}
