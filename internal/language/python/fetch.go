package python

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/language"
	"github.com/xfn-dev/xfn/internal/language/python/resolve"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
)

const (
	// defaultIndex is the index that pip and uv use by default.
	defaultIndex = "https://pypi.org/simple"
	// maxWheel and maxPage limit the bytes of a wheel and of a page of an index.
	maxWheel = 1 << 30
	maxPage  = 64 << 20
)

// A store gets wheels: from the cache, by the URL in a lock file, or from an index. In the
// cache, the name of a wheel is its SHA-256 sum.
type store struct {
	dir      string
	lockDir  string
	root     string
	client   *http.Client
	offline  bool
	index    *url.URL
	always   bool // use the index instead of the URLs in the lock file
	netrc    netrc
	progress progress.Func
}

func newStore(src language.Source, index string, opts runtimeimage.Options) (_ *store, err error) {
	s := &store{
		dir: filepath.Join(src.Artifacts.Dir, Cache().Name), lockDir: src.Dir, root: cmp.Or(src.Root, src.Dir),
		client: src.Artifacts.Client, offline: src.Artifacts.Offline, always: src.Artifacts.Index != "", progress: opts.Progress,
	}
	s.client = cmp.Or(s.client, http.DefaultClient)
	if s.index, err = url.Parse(cmp.Or(src.Artifacts.Index, index, defaultIndex)); err != nil || s.index.Host == "" {
		return nil, errors.New("the URL of the package index is invalid") // it may have a password
	}
	s.netrc, err = readNetrc(opts.Env)
	return s, err
}

// get returns the wheel of a choice as an open file, and its description.
func (s *store) get(ctx context.Context, c resolve.Choice, t resolve.Target) (file resolve.File, _ *os.File, err error) {
	file = c.Wheel
	if file.Name == "" || s.always {
		hashes := c.Hashes
		if file.Name != "" {
			hashes = []string{file.SHA256}
		}
		files, err := s.find(ctx, c.Name, c.Version, hashes)
		if err != nil {
			return file, nil, err
		}
		if file, err = resolve.Best(files, c.Name, c.Version, t); err != nil {
			return file, nil, hint.Wrap(err, resolve.ElsewhereHint)
		}
	}
	path := filepath.Join(s.dir, wheelsFolder, file.SHA256)
	if f, err := openVerified(path, file.SHA256); err == nil {
		_ = fsx.Touch(path) // only a prune of the cache reads the time
		return file, f, nil
	}
	if err := s.fetch(ctx, file, path); err != nil {
		return file, nil, err
	}
	f, err := openVerified(path, file.SHA256)
	return file, f, err
}

// openVerified opens a file whose content has this SHA-256 sum.
func openVerified(path, sum string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fsx.Cause(err)
	}
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return nil, errors.Join(fsx.Cause(err), f.Close())
	}
	if fmt.Sprintf("%x", h.Sum(nil)) != sum {
		return nil, errors.Join(fmt.Errorf("file %q is damaged", path), f.Close())
	}
	return f, nil
}

// fetch adds a wheel to the cache.
func (s *store) fetch(ctx context.Context, file resolve.File, path string) (err error) {
	from, err := s.open(ctx, file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("opening the cache: %w", fsx.Cause(err))
	}
	return fsx.Write(path, 0o600, func(w io.Writer) error {
		h := sha256.New()
		n, err := io.Copy(io.MultiWriter(w, h), io.LimitReader(oci.Reader(ctx, from), maxWheel+1))
		if err != nil {
			return withoutURL(err)
		}
		if n > maxWheel {
			return fmt.Errorf("wheel %q is larger than %d MiB", file.Name, maxWheel>>20)
		}
		if sum := fmt.Sprintf("%x", h.Sum(nil)); sum != file.SHA256 {
			return fmt.Errorf("wheel %q has the digest sha256:%s, but the lock file has sha256:%s", file.Name, sum, file.SHA256)
		}
		return nil
	})
}

// open returns the content of a wheel that is not in the cache.
func (s *store) open(ctx context.Context, file resolve.File) (io.ReadCloser, error) {
	if file.URL == "" {
		dir, err := inside(s.root, s.lockDir, filepath.ToSlash(filepath.Dir(file.Path)))
		if err != nil {
			return nil, err
		}
		f, err := os.Open(filepath.Join(dir, filepath.Base(file.Path)))
		return f, fsx.Cause(err)
	}
	u, err := url.Parse(file.URL)
	if err != nil {
		return nil, fmt.Errorf("the URL of wheel %q is invalid", file.Name)
	}
	s.progress.Step("fetching " + file.Name)
	resp, err := s.request(ctx, u, "application/octet-stream")
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// request sends a GET request, with credentials if the URL, the index or the netrc file has
// some for its host. The error of a response other than 200 names only the host.
func (s *store) request(ctx context.Context, u *url.URL, accept string) (*http.Response, error) {
	if s.offline {
		return nil, hint.Wrap(errors.New("the cache does not have the file, and downloads are forbidden"), "run once without "+hint.Offline)
	}
	if u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return nil, fmt.Errorf("expected a URL of https, got the scheme %q", u.Scheme)
	}
	user := u.User
	if user == nil && u.Host == s.index.Host && u.Scheme == s.index.Scheme {
		user = s.index.User
	}
	if user == nil {
		user = s.netrc[u.Hostname()]
	}
	plain := *u
	plain.User = nil
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, plain.String(), nil)
	if err != nil {
		return nil, withoutURL(err)
	}
	req.Header.Set("Accept", accept)
	if user != nil {
		if u.Scheme != "https" && !isLoopback(u.Hostname()) {
			return nil, fmt.Errorf("credentials for %q are not sent by plain HTTP", u.Host)
		}
		password, _ := user.Password()
		req.SetBasicAuth(user.Username(), password)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, withoutURL(err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, errors.Join(explainStatus(u.Host, resp.StatusCode, user != nil), resp.Body.Close())
	}
	return resp, nil
}

func explainStatus(host string, code int, authorized bool) error {
	err := fmt.Errorf("server %q answers %d %s", host, code, http.StatusText(code))
	if code != http.StatusUnauthorized && code != http.StatusForbidden {
		return err
	}
	if authorized {
		return hint.Wrap(fmt.Errorf("%w: it does not accept the credentials", err), hint.Hint("renew the password of "+host+" in the URL of the index or in .netrc"))
	}
	return hint.Wrap(fmt.Errorf("%w: it requires credentials", err), hint.Hint("add a line for machine "+host+" to .netrc"))
}

// withoutURL returns the cause of an error without the URL, which may have a signature.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		if u, parseErr := url.Parse(e.URL); parseErr == nil {
			return fmt.Errorf("sending a request to %q: %w", u.Host, e.Err)
		}
		return e.Err
	}
	return err
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
