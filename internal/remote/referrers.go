package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	// maxReferrers limits how many manifests may refer to one, maxPages the pages on
	// which they are listed, and maxTags the tags of a repository.
	maxReferrers = 1000
	maxTags      = 100_000
	maxPages     = 100
)

// Referrers are the manifests that have another as their subject.
type Referrers struct {
	Manifests []v1.Descriptor
	// Listed says that the registry lists them by itself. Where it does not,
	// clients keep the list at a tag, which FallbackTag names.
	Listed bool
}

// FallbackTag is where the referrers of a manifest stand at a registry that does
// not list them: OCI distribution spec, "Referrers Tag Schema".
func FallbackTag(subject v1.Hash) string {
	const maxTag = 128
	tag := subject.Algorithm + "-" + subject.Hex
	return tag[:min(len(tag), maxTag)]
}

// Referrers returns what refers to a manifest, which need not be there: OCI
// distribution spec, "Listing Referrers", or else at the FallbackTag. More than
// 1000 are an error. Errors are for Explain.
func (b *Repository) Referrers(ctx context.Context, subject v1.Hash) (r Referrers, err error) {
	err = b.retry(ctx, func() error {
		r, err = getReferrers(ctx, b.client, b.repo, subject)
		return err
	})
	return r, err
}

func getReferrers(ctx context.Context, client *http.Client, repo name.Repository, subject v1.Hash) (r Referrers, err error) {
	from := urlOf(repo, "referrers/"+subject.String())
	for range maxPages {
		var page []v1.Descriptor
		if page, from, err = getPage(ctx, client, from); err != nil {
			return r, err
		}
		switch {
		case page == nil && r.Listed:
			return r, errors.New("the registry's list of referrers ends in its middle")
		case page == nil:
			return fallback(ctx, client, repo, subject)
		}
		r.Listed = true
		if r.Manifests = append(r.Manifests, page...); len(r.Manifests) > maxReferrers {
			break
		}
		if from == nil {
			return r, nil
		}
	}
	return r, fmt.Errorf("more than %d manifests refer to %s", maxReferrers, subject)
}

// Tags returns the tags of the repository: OCI distribution spec, "Listing Tags".
// More than 100,000 are an error. Errors are for Explain.
func (b *Repository) Tags(ctx context.Context) (all []string, err error) {
	for from := urlOf(b.repo, "tags/list"); from != nil; {
		var page struct{ Tags []string }
		err = b.retry(ctx, func() error {
			raw, resp, err := getDocument(ctx, b.client, from, nil, http.StatusOK)
			if err != nil {
				return err
			}
			if err := json.Unmarshal(raw, &page); err != nil {
				return errors.New("the registry's list of tags is not valid JSON")
			}
			from, err = nextPage(resp)
			return err
		})
		// A page without a tag ends the list, or a registry could send pages forever.
		if err != nil || len(page.Tags) == 0 {
			return all, err
		}
		if all = append(all, page.Tags...); len(all) > maxTags {
			return nil, fmt.Errorf("there are more than %d", maxTags)
		}
	}
	return all, nil
}

// unlisted are the answers of registries that do not list referrers. The spec
// has 404; older ones do not know the path.
var unlisted = []int{http.StatusNotFound, http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusNotAcceptable, http.StatusNotImplemented}

// getPage returns nil if the registry does not list referrers.
func getPage(ctx context.Context, client *http.Client, from *url.URL) (page []v1.Descriptor, next *url.URL, err error) {
	header := http.Header{"Accept": {string(types.OCIImageIndex)}}
	raw, resp, err := getDocument(ctx, client, from, header, append(unlisted, http.StatusOK)...)
	if err != nil {
		return nil, nil, err
	}
	if resp.StatusCode != http.StatusOK || types.MediaType(mediaTypeOf(resp)) != types.OCIImageIndex {
		return nil, nil, nil
	}
	m, err := v1.ParseIndexManifest(bytes.NewReader(raw))
	if err != nil {
		return nil, nil, errors.New("the registry's list of referrers is not valid")
	}
	if next, err = nextPage(resp); err != nil {
		return nil, nil, err
	}
	return append([]v1.Descriptor{}, m.Manifests...), next, nil
}

// nextPage is where the answer says that its list goes on (RFC 8288), which must
// be at the same registry.
func nextPage(resp *http.Response) (*url.URL, error) {
	for _, link := range resp.Header.Values("Link") {
		target, rest, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(link), "<"), ">")
		if !ok || !strings.Contains(strings.ReplaceAll(rest, `"`, ""), "rel=next") {
			continue
		}
		next, err := resp.Request.URL.Parse(target)
		if err != nil || next.Host != resp.Request.URL.Host || next.Scheme != resp.Request.URL.Scheme {
			return nil, errors.New("the registry's list goes on at an address outside of the registry")
		}
		return next, nil
	}
	return nil, nil
}

// fallback reads the list that clients keep.
func fallback(ctx context.Context, client *http.Client, repo name.Repository, subject v1.Hash) (Referrers, error) {
	m, err := getManifest(ctx, client, repo, FallbackTag(subject))
	if NotFound(err) {
		return Referrers{}, nil
	}
	if err != nil {
		return Referrers{}, err
	}
	list, err := v1.ParseIndexManifest(bytes.NewReader(m.Raw))
	if err != nil || len(list.Manifests) > maxReferrers {
		return Referrers{}, fmt.Errorf("what is at tag %q is not a list of at most %d referrers", FallbackTag(subject), maxReferrers)
	}
	return Referrers{Manifests: list.Manifests}, nil
}

func mediaTypeOf(resp *http.Response) string {
	t, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return t
}
