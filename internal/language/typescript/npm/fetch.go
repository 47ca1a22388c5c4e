package npm

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/language"
	"github.com/xfn-dev/xfn/internal/oci"
)

const maxRedirects = 10

// explainIntegrity adds the next action to an error of parseIntegrity.
func explainIntegrity(p *Package, err error) error {
	err = fmt.Errorf("checking %s: %w", p, err)
	if u, e := url.Parse(p.Resolved); e == nil && (u.Scheme == "git" || u.Scheme == "git+ssh" || u.Scheme == "git+https") {
		return hint.Wrap(fmt.Errorf("checking %s: %q is a git repository, which has no digest", p, redacted(p.Resolved)), "depend on a published version of the package")
	}
	return hint.Wrap(err, "remove "+LockFile+" and node_modules, and "+regenerate)
}

// fetch writes the tarball of a package to f, and verifies its digest.
func (s *Store) fetch(ctx context.Context, f *os.File, p *Package, digest v1.Hash, local locals) error {
	path, isLocal, err := local.path(p.Resolved)
	if err != nil {
		return err
	}
	if isLocal {
		in, err := os.Open(path)
		if err != nil {
			return fsx.Cause(err)
		}
		return errors.Join(fill(f, in, digest), in.Close())
	}
	u, err := s.Config.tarball(p)
	if err != nil {
		return err
	}
	if s.Offline {
		return errors.New("the cache has a damaged copy, and downloads are forbidden")
	}
	s.Progress.Step("fetching " + p.String())
	return language.Retry(ctx, s.Tries, s.Wait, func() error { return s.try(ctx, f, u, digest) })
}

func (s *Store) try(ctx context.Context, f *os.File, u *url.URL, digest v1.Hash) (err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/octet-stream")
	auth := s.Config.authorization(u)
	if auth != "" {
		if err := language.CheckPlain(u); err != nil {
			return err
		}
		req.Header.Set("Authorization", auth)
	}
	resp, err := s.client().Do(req)
	if err != nil {
		return language.WithoutURL(err)
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	if resp.StatusCode != http.StatusOK {
		return explainStatus(&language.StatusError{Host: u.Host, Code: resp.StatusCode}, u, auth != "")
	}
	return fill(f, oci.Reader(ctx, resp.Body), digest)
}

func explainStatus(err *language.StatusError, u *url.URL, authorized bool) error {
	switch {
	case err.Code == http.StatusUnauthorized || err.Code == http.StatusForbidden:
		if authorized {
			return hint.Wrap(fmt.Errorf("%w: it does not accept the credentials in .npmrc", err), hint.Hint("renew //"+u.Host+"/:_authToken in .npmrc"))
		}
		return hint.Wrap(fmt.Errorf("%w: it requires credentials, and .npmrc has none", err), hint.Hint("set //"+u.Host+"/:_authToken in .npmrc"))
	case err.Code == http.StatusNotFound && !authorized:
		return hint.Wrap(err, hint.Hint("check the version in "+LockFile+"; if the package is private, set //"+u.Host+"/:_authToken in .npmrc"))
	}
	return err
}

// client returns a copy of s.Client that sends credentials only to their host.
func (s *Store) client() *http.Client {
	c := http.Client{}
	if s.Client != nil {
		c = *s.Client
	}
	c.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if len(via) >= maxRedirects {
			return fmt.Errorf("stopped after %d redirects", maxRedirects)
		}
		from := via[0].URL
		if from.Scheme == "https" && req.URL.Scheme != "https" {
			return fmt.Errorf("%q redirects from https to %q", from.Host, req.URL.Scheme)
		}
		if req.URL.Host != from.Host || req.URL.Scheme != from.Scheme {
			req.Header.Del("Authorization")
		}
		return nil
	}
	return &c
}

// fill replaces the content of f by the content of r, which must have this digest. It
// sets the offset of f to 0.
func fill(f *os.File, r io.Reader, digest v1.Hash) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return fsx.Cause(err)
	}
	if err := f.Truncate(0); err != nil {
		return fsx.Cause(err)
	}
	sum := hashOf(digest)
	n, err := io.Copy(io.MultiWriter(f, sum), io.LimitReader(r, maxTarball+1))
	if err != nil {
		return fsx.Cause(err)
	}
	if n > maxTarball {
		return fmt.Errorf("the tarball is larger than %d MiB", maxTarball>>20)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != digest.Hex {
		err := fmt.Errorf("the tarball has the digest %s:%s, but %s has %s", digest.Algorithm, got, LockFile, digest)
		return hint.Wrap(err, "if the registry replaced the version, remove its entry from "+LockFile+", and "+regenerate)
	}
	_, err = f.Seek(0, io.SeekStart)
	return err
}
