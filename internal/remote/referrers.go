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
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	// maxReferrers limits the number of referrers of a manifest, maxTags the number of tags of
	// a repository, and maxPages and maxTagPages the number of pages of their lists. Quay, whose
	// pages are the smallest, sends 50 tags in a page.
	maxReferrers = 1000
	maxTags      = 100_000
	maxPages     = 100
	maxTagPages  = maxTags / 50
	// maxTag is the length of the longest tag.
	maxTag = 128
)

// Referrers are the manifests whose subject is a given manifest, such as signatures.
type Referrers struct {
	Manifests []v1.Descriptor
	// Listed is true if the registry has the referrers API. If it is false, clients store the
	// list of referrers at the tag that FallbackTag returns.
	Listed bool
}

// FallbackTag returns the tag at which clients store the list of a manifest's referrers, if
// the registry has no referrers API (OCI distribution spec, "Referrers Tag Schema").
func FallbackTag(subject v1.Hash) string {
	tag := subject.Algorithm + "-" + subject.Hex
	return tag[:min(len(tag), maxTag)]
}

// unlisted are the status codes of registries that lack the referrers API. The OCI
// distribution spec requires 404. Older registries do not know the path and return other
// codes.
var unlisted = []int{http.StatusNotFound, http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusNotAcceptable, http.StatusNotImplemented}

// Referrers returns the referrers of the manifest subject, which need not exist (OCI
// distribution spec, "Listing Referrers"). If the registry lacks the referrers API,
// Referrers reads the list at the FallbackTag. More than 1000 referrers, or 100 pages,
// are an error.
func (b *Repository) Referrers(ctx context.Context, subject v1.Hash) (r Referrers, err error) {
	from := urlOf(b.repo, "referrers/"+subject.String())
	for range maxPages {
		raw, resp, err := b.getPage(ctx, from, string(types.OCIImageIndex), append(unlisted, http.StatusOK)...)
		if err != nil {
			return r, err
		}
		if resp.StatusCode != http.StatusOK || mediaTypeOf(resp) != types.OCIImageIndex {
			if r.Listed {
				return r, errors.New("the registry's list of referrers ends before its last page")
			}
			return b.fallback(ctx, subject)
		}
		page, err := v1.ParseIndexManifest(bytes.NewReader(raw))
		if err != nil {
			return r, errors.New("the registry's list of referrers is not valid")
		}
		r.Listed = true
		if r.Manifests = append(r.Manifests, page.Manifests...); len(r.Manifests) > maxReferrers {
			return r, fmt.Errorf("more than %d manifests refer to %s", maxReferrers, subject)
		}
		if from, err = nextPage(resp); err != nil || from == nil {
			return r, err
		}
	}
	return r, fmt.Errorf("the registry's list of referrers has more than %d pages", maxPages)
}

func (b *Repository) fallback(ctx context.Context, subject v1.Hash) (Referrers, error) {
	m, err := b.Manifest(ctx, FallbackTag(subject))
	if NotFound(err) {
		return Referrers{}, nil
	}
	if err != nil {
		return Referrers{}, err
	}
	list, err := v1.ParseIndexManifest(bytes.NewReader(m.Raw))
	if err != nil || len(list.Manifests) > maxReferrers {
		return Referrers{}, fmt.Errorf("expected a list of at most %d referrers at tag %q", maxReferrers, FallbackTag(subject))
	}
	return Referrers{Manifests: list.Manifests}, nil
}

// Tags returns the tags of the repository (OCI distribution spec, "Listing Tags"). More
// than 100,000 tags, or 2,000 pages, are an error. Names that are too long for tags are left out.
func (b *Repository) Tags(ctx context.Context) (all []string, err error) {
	from := urlOf(b.repo, "tags/list")
	for range maxTagPages {
		raw, resp, err := b.getPage(ctx, from, "", http.StatusOK)
		if err != nil {
			return all, err
		}
		var page struct{ Tags []string }
		if err := json.Unmarshal(raw, &page); err != nil {
			return all, errors.New("the registry's list of tags is not valid JSON")
		}
		// A page without tags ends the list. Otherwise a registry could send pages forever.
		if from, err = nextPage(resp); err != nil || len(page.Tags) == 0 {
			return all, err
		}
		all = append(all, slices.DeleteFunc(page.Tags, func(tag string) bool { return len(tag) > maxTag })...)
		if len(all) > maxTags {
			return nil, fmt.Errorf("the repository has more than %d tags", maxTags)
		}
		if from == nil {
			return all, nil
		}
	}
	return nil, fmt.Errorf("the registry's list of tags has more than %d pages", maxTagPages)
}

func (b *Repository) getPage(ctx context.Context, from *url.URL, accept string, status ...int) (raw []byte, resp *http.Response, err error) {
	err = b.retry(ctx, func() error {
		raw, resp, err = b.get(ctx, from, accept, status...)
		return err
	})
	return raw, resp, err
}

// nextPage returns the URL of the next page of a list (RFC 8288, "Link"), or nil after the
// last page. A URL outside of the registry is an error.
func nextPage(resp *http.Response) (*url.URL, error) {
	for _, link := range resp.Header.Values("Link") {
		target, rest, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(link), "<"), ">")
		if !ok || !strings.Contains(strings.ReplaceAll(rest, `"`, ""), "rel=next") {
			continue
		}
		next, err := resp.Request.URL.Parse(target)
		if err != nil || next.Host != resp.Request.URL.Host || next.Scheme != resp.Request.URL.Scheme {
			return nil, errors.New("the registry's list continues at an address outside of the registry")
		}
		return next, nil
	}
	return nil, nil
}

func mediaTypeOf(resp *http.Response) types.MediaType {
	t, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return types.MediaType(t)
}
