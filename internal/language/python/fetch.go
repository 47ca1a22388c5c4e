package python

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/language"
	"github.com/xfn-dev/xfn/internal/language/python/resolve"
	"github.com/xfn-dev/xfn/internal/proc"
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
	indexes  []*url.URL
	always   bool // use the index instead of the URLs in the lock file
	netrc    netrc
	progress progress.Func
	// locks has a *sync.Mutex for the SHA-256 sum of each wheel. Builds for several platforms
	// fetch a wheel once.
	locks sync.Map
}

func newStore(src language.Source, lock *resolve.Lock, opts runtimeimage.Options) (_ *store, err error) {
	s := &store{
		dir: filepath.Join(src.Artifacts.Dir, Cache().Name), lockDir: filepath.Join(src.Dir, lock.Above()), root: cmp.Or(src.Root, src.Dir),
		client: src.Artifacts.Client, offline: src.Artifacts.Offline, always: src.Artifacts.Index != "", progress: opts.Progress,
	}
	s.client = cmp.Or(s.client, http.DefaultClient)
	indexes := []string{src.Artifacts.Index}
	if !s.always {
		indexes = append([]string{cmp.Or(lock.Index, defaultIndex)}, lock.ExtraIndexes...)
	}
	for _, text := range indexes {
		// Like pip, keep references to variables that do not exist.
		text = variable().ReplaceAllStringFunc(text, func(ref string) string { return cmp.Or(proc.Getenv(opts.Env, ref[2:len(ref)-1]), ref) })
		u, err := url.Parse(text)
		if err != nil || u.Host == "" {
			return nil, errors.New("the URL of the package index is invalid") // it may have a password
		}
		s.indexes = append(s.indexes, u)
	}
	s.netrc, err = readNetrc(opts.Env)
	return s, err
}

// variable matches a reference to an environment variable in a requirements.txt.
var variable = proc.Regexp(`\$\{[A-Z0-9_]+\}`)

// get returns the wheel of a choice as an open file, and its description.
func (s *store) get(ctx context.Context, c resolve.Choice, t resolve.Target) (file resolve.File, _ *os.File, err error) {
	file = c.Wheel
	if file.Name == "" || s.always && file.URL != "" && !file.Direct {
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
	lock, _ := s.locks.LoadOrStore(file.SHA256, &sync.Mutex{})
	mu := lock.(*sync.Mutex)
	mu.Lock()
	defer mu.Unlock()
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

// cached returns the value that a JSON file in the cache has, if it is valid. Otherwise it adds the
// value that find returns.
func cached[T any](file string, valid func(T) bool, find func() (T, error)) (v T, err error) {
	if data, err := os.ReadFile(file); err == nil && json.Unmarshal(data, &v) == nil && valid(v) {
		_ = fsx.Touch(file) // only a prune of the cache reads the time
		return v, nil
	}
	if v, err = find(); err != nil {
		return v, err
	}
	data, _ := json.Marshal(v) // It can be read from JSON.
	return v, errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), fsx.WriteFile(file, 0o600, data))
}

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

// indexUser returns the credentials of the index on the host of u whose path has most in common
// with the path of u, or nil.
func (s *store) indexUser(u *url.URL) (user *url.Userinfo) {
	longest := -1
	for _, index := range s.indexes {
		if u.Host != index.Host || u.Scheme != index.Scheme {
			continue
		}
		n := 0
		for n < min(len(u.Path), len(index.Path)) && u.Path[n] == index.Path[n] {
			n++
		}
		if n > longest {
			longest, user = n, index.User
		}
	}
	return user
}

// request sends a GET request, with credentials if the URL, the index or the netrc file has
// some for its host. A response other than 200, or 206 for a range, is a StatusError.
func (s *store) request(ctx context.Context, u *url.URL, header http.Header) (*http.Response, error) {
	if s.offline {
		return nil, hint.Wrap(errors.New("the cache does not have the file, and downloads are forbidden"), "run once without "+hint.Offline)
	}
	if u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return nil, fmt.Errorf("expected a URL of https, got the scheme %q", u.Scheme)
	}
	user := cmp.Or(u.User, s.indexUser(u), s.netrc[u.Hostname()])
	plain := *u
	plain.User = nil
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, plain.String(), nil)
	if err != nil {
		return nil, language.WithoutURL(err)
	}
	req.Header = header
	if user != nil {
		if err := language.CheckPlain(u); err != nil {
			return nil, err
		}
		password, _ := user.Password()
		req.SetBasicAuth(user.Username(), password)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, language.WithoutURL(err)
	}
	if part := header.Get("Range") != "" && resp.StatusCode == http.StatusPartialContent; resp.StatusCode != http.StatusOK && !part {
		return nil, errors.Join(explainStatus(&language.StatusError{Host: u.Host, Code: resp.StatusCode}, user != nil), resp.Body.Close())
	}
	return resp, nil
}

// explainStatus adds a hint about credentials to an error for status 401 or 403.
func explainStatus(err *language.StatusError, authorized bool) error {
	if err.Code != http.StatusUnauthorized && err.Code != http.StatusForbidden {
		return err
	}
	if authorized {
		return hint.Wrap(fmt.Errorf("%w: it does not accept the credentials", err), hint.Hint("renew the password of "+err.Host+" in the URL of the index or in .netrc"))
	}
	return hint.Wrap(fmt.Errorf("%w: it requires credentials", err), hint.Hint("add a line for machine "+err.Host+" to .netrc"))
}
