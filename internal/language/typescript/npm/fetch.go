package npm

import (
	"context"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/proc"
)

const (
	defaultTries = 3
	defaultWait  = time.Second
	maxRedirects = 10
)

// explainIntegrity adds the next action to an error of parseIntegrity.
func explainIntegrity(p *Package, err error) error {
	err = fmt.Errorf("checking %s: %w", p, err)
	if u, e := url.Parse(p.Resolved); e == nil && (u.Scheme == "git" || u.Scheme == "git+ssh" || u.Scheme == "git+https") {
		return hint.Wrap(fmt.Errorf("checking %s: %q is a git repository, which has no digest", p, redacted(p.Resolved)), "depend on a published version of the package")
	}
	return hint.Wrap(err, "remove "+LockFile+" and node_modules, and "+regenerate)
}

// fetch writes the tarball of a package to f, and verifies its digest.
func (s *Store) fetch(ctx context.Context, f *os.File, p *Package, digest Digest, local locals) error {
	path, isLocal, err := local.path(p.Resolved)
	if err != nil {
		return err
	}
	if isLocal {
		return copyFile(f, path, digest)
	}
	u, err := s.Config.tarball(p)
	if err != nil {
		return err
	}
	if s.Offline {
		return errors.New("the cache has a damaged copy, and downloads are forbidden")
	}
	s.Progress.Step("fetching " + p.String())
	return s.download(ctx, f, u, digest)
}

func copyFile(f *os.File, path string, digest Digest) error {
	in, err := os.Open(path)
	if err != nil {
		return fsx.Cause(err)
	}
	return errors.Join(fill(f, in, digest), in.Close())
}

// download writes the response for a URL to f. It tries again after failures that may be
// temporary.
func (s *Store) download(ctx context.Context, f *os.File, u *url.URL, digest Digest) error {
	tries, wait := s.Tries, s.Wait
	if tries == 0 {
		tries, wait = defaultTries, defaultWait
	}
	for {
		err := s.try(ctx, f, u, digest)
		if tries--; err == nil || tries <= 0 || !isTemporary(err) || ctx.Err() != nil {
			return err
		}
		if err := proc.Sleep(ctx, wait); err != nil {
			return err
		}
		wait *= 3
	}
}

// A statusError says that a registry did not send a tarball.
type statusError struct {
	host string
	code int
}

func (e *statusError) Error() string {
	return fmt.Sprintf("registry %q answers %d %s", e.host, e.code, http.StatusText(e.code))
}

func isTemporary(err error) bool {
	if status, ok := errors.AsType[*statusError](err); ok {
		return status.code >= 500 || status.code == http.StatusTooManyRequests || status.code == http.StatusRequestTimeout
	}
	_, isNet := errors.AsType[net.Error](err)
	_, isOp := errors.AsType[*net.OpError](err)
	return isNet || isOp || errors.Is(err, io.ErrUnexpectedEOF)
}

func (s *Store) try(ctx context.Context, f *os.File, u *url.URL, digest Digest) (err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/octet-stream")
	auth := s.Config.authorization(u)
	if auth != "" {
		if u.Scheme != "https" && !isLoopback(u.Hostname()) {
			return fmt.Errorf("credentials for %q are not sent by plain HTTP", u.Host)
		}
		req.Header.Set("Authorization", auth)
	}
	resp, err := s.client().Do(req)
	if err != nil {
		return withoutURL(err)
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	if resp.StatusCode != http.StatusOK {
		return explainStatus(&statusError{u.Host, resp.StatusCode}, u, auth != "")
	}
	return fill(f, oci.Reader(ctx, resp.Body), digest)
}

// withoutURL returns the cause of an error of http.Client, without the URL, which can have
// a signature of the server that a registry redirects to.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		if u, parseErr := url.Parse(e.URL); parseErr == nil {
			err = fmt.Errorf("sending a request to %q: %w", u.Host, e.Err)
		}
	}
	if _, unknown := errors.AsType[x509.UnknownAuthorityError](err); unknown {
		return hint.Wrap(err, "trust the CA of the registry with "+hint.CAFile)
	}
	return err
}

func explainStatus(err *statusError, u *url.URL, authorized bool) error {
	switch {
	case err.code == http.StatusUnauthorized || err.code == http.StatusForbidden:
		if authorized {
			return hint.Wrap(fmt.Errorf("%w: it does not accept the credentials in .npmrc", err), hint.Hint("renew //"+u.Host+"/:_authToken in .npmrc"))
		}
		return hint.Wrap(fmt.Errorf("%w: it requires credentials, and .npmrc has none", err), hint.Hint("set //"+u.Host+"/:_authToken in .npmrc"))
	case err.code == http.StatusNotFound && !authorized:
		return hint.Wrap(err, hint.Hint("check the version in "+LockFile+"; if the package is private, set //"+u.Host+"/:_authToken in .npmrc"))
	}
	return err
}

// isLoopback reports whether a host is this machine.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
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

// fill replaces the content of f by that of r, which must have this digest. It sets the
// offset of f to 0.
func fill(f *os.File, r io.Reader, digest Digest) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return fsx.Cause(err)
	}
	if err := f.Truncate(0); err != nil {
		return fsx.Cause(err)
	}
	sum := digest.hash()
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
