package registry

import (
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/xfn-dev/xfn/internal/oci"
)

func (reg *Registry) serveManifest(w http.ResponseWriter, r *http.Request, repository, reference string) error {
	switch r.Method {
	case http.MethodPut:
		return reg.putManifest(w, r, repository, reference)
	case http.MethodDelete:
		return reg.deleteManifest(w, repository, reference)
	}
	m, err := reg.store.find(repository, reference)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", string(m.MediaType))
	w.Header().Set("Content-Length", fmt.Sprint(m.Size))
	setDigest(w, m.Digest)
	if r.Method == http.MethodGet {
		_, _ = w.Write(m.content)
	}
	return nil
}

func setDigest(w http.ResponseWriter, h v1.Hash) {
	w.Header().Set("Docker-Content-Digest", h.String())
	w.Header().Set("Etag", `"`+h.String()+`"`)
}

func (reg *Registry) putManifest(w http.ResponseWriter, r *http.Request, repository, reference string) error {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, oci.MaxManifest))
	if err != nil {
		return err
	}
	c := change{Method: r.Method, Repository: repository, Reference: reference, Manifest: body}
	m, d, err := c.parse()
	if err != nil {
		return err
	}
	mediaType, err := d.check(r.Header.Get("Content-Type"))
	if err != nil {
		return err
	}
	c.MediaType = string(mediaType)
	reg.store.changing.Lock()
	defer reg.store.changing.Unlock()
	if faults := reg.checkContent(repository, d); len(faults) > 0 {
		return &refusal{http.StatusBadRequest, faults}
	}
	if err := reg.store.commit(c); err != nil {
		return err
	}
	w.Header().Set("Location", fmt.Sprintf("/v2/%s/manifests/%s", repository, reference))
	w.Header().Set("Docker-Content-Digest", m.Digest.String())
	if d.Subject != nil {
		w.Header().Set("OCI-Subject", d.Subject.Digest.String())
	}
	w.WriteHeader(http.StatusCreated)
	return nil
}

// checkContent returns a failure for each blob or manifest that a manifest refers to and
// that its repository does not have, or has with another size. The subject may be missing
// (OCI distribution spec, "Pushing Manifests with Subject"). Layers that are
// nondistributable or have URLs may be missing too.
func (reg *Registry) checkContent(repository string, d *document) (out []failure) {
	add := func(of v1.Descriptor, what string, size int64, err error) {
		detail := map[string]string{"digest": of.Digest.String()}
		switch {
		case err != nil:
			out = append(out, failure{"MANIFEST_BLOB_UNKNOWN", fmt.Sprintf("the manifest names a %s that is not in the repository", what), detail})
		case size != of.Size:
			out = append(out, failure{"SIZE_INVALID", fmt.Sprintf("the manifest names a %s of %d bytes, but its size is %d bytes", what, of.Size, size), detail})
		}
	}
	if d.MediaType.IsImage() {
		for _, b := range append([]v1.Descriptor{*d.Config}, d.Layers...) {
			if b.MediaType.IsDistributable() && len(b.URLs) == 0 {
				size, err := reg.blobSize(repository, b.Digest)
				add(b, "blob", size, err)
			}
		}
	}
	if d.MediaType.IsIndex() {
		for _, child := range d.Manifests {
			m, err := reg.store.find(repository, child.Digest.String())
			add(child, "manifest", m.Size, err)
		}
	}
	return out
}

func (reg *Registry) blobSize(repository string, h v1.Hash) (int64, error) {
	if !reg.store.holds(repository, h) {
		return 0, fs.ErrNotExist
	}
	info, err := os.Stat(reg.blobPath(h))
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (reg *Registry) deleteManifest(w http.ResponseWriter, repository, reference string) error {
	reg.store.changing.Lock()
	defer reg.store.changing.Unlock()
	if _, err := reg.store.find(repository, reference); err != nil {
		return err
	}
	if err := reg.store.commit(change{Method: http.MethodDelete, Repository: repository, Reference: reference}); err != nil {
		return err
	}
	w.WriteHeader(http.StatusAccepted)
	return nil
}

// listTags responds with a page of tags: OCI distribution spec, "Listing Tags".
func (reg *Registry) listTags(w http.ResponseWriter, r *http.Request, repository, _ string) error {
	reg.store.mu.RLock()
	in := reg.store.repositories[repository]
	if in == nil {
		reg.store.mu.RUnlock()
		return errRepository
	}
	all := slices.AppendSeq([]string{}, maps.Keys(in.tags))
	reg.store.mu.RUnlock()
	return writePage(w, r, map[string]any{"name": repository}, "tags", all)
}

// listRepositories responds with a page of repositories, as Docker's registry does. The
// OCI distribution spec does not define it.
func (reg *Registry) listRepositories(w http.ResponseWriter, r *http.Request, _, _ string) error {
	reg.store.mu.RLock()
	all := slices.AppendSeq([]string{}, maps.Keys(reg.store.repositories))
	reg.store.mu.RUnlock()
	return writePage(w, r, map[string]any{}, "repositories", all)
}

// writePage sorts all and responds with one page: at most "n" names after "last", two
// parameters of the request. field is the name of the list in the body. If there are more
// names, the response links to the next page. The order ignores case, as the spec requires,
// unless names differ only in case.
func writePage(w http.ResponseWriter, r *http.Request, body map[string]any, field string, all []string) error {
	lexical := func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.ToLower(a), strings.ToLower(b)), cmp.Compare(a, b))
	}
	slices.SortFunc(all, lexical)
	query := r.URL.Query()
	if last := query.Get("last"); last != "" {
		at, found := slices.BinarySearchFunc(all, last, lexical)
		if found {
			at++
		}
		all = all[at:]
	}
	if query.Has("n") {
		n, err := strconv.ParseUint(query.Get("n"), 10, 31)
		if err != nil {
			return refuse(http.StatusBadRequest, "UNSUPPORTED", "n is not a valid count")
		}
		more := uint64(len(all)) > n
		all = all[:min(uint64(len(all)), n)]
		if more && n > 0 {
			next := url.Values{"n": {strconv.FormatUint(n, 10)}, "last": {all[n-1]}}
			w.Header().Set("Link", fmt.Sprintf("<%s?%s>; rel=\"next\"", r.URL.Path, next.Encode()))
		}
	}
	body[field] = all
	return writeJSON(w, "application/json", body)
}

// listReferrers responds with the manifests whose subject is a digest, sorted by digest:
// OCI distribution spec, "Listing Referrers".
func (reg *Registry) listReferrers(w http.ResponseWriter, r *http.Request, repository, reference string) error {
	subject, err := v1.NewHash(reference)
	if err != nil {
		return refuse(http.StatusBadRequest, "DIGEST_INVALID", err.Error())
	}
	artifactType := r.URL.Query().Get("artifactType")
	if artifactType != "" {
		w.Header().Set("OCI-Filters-Applied", "artifactType")
	}
	found := []v1.Descriptor{}
	reg.store.mu.RLock()
	if in := reg.store.repositories[repository]; in != nil {
		for _, m := range in.manifests {
			if m.subject == subject && (artifactType == "" || artifactType == m.ArtifactType) {
				found = append(found, m.Descriptor)
			}
		}
	}
	reg.store.mu.RUnlock()
	slices.SortFunc(found, func(a, b v1.Descriptor) int { return cmp.Compare(a.Digest.String(), b.Digest.String()) })
	list := v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: found}
	return writeJSON(w, string(types.OCIImageIndex), list)
}
