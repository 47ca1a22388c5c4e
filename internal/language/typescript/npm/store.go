package npm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sync/errgroup"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/language"
	"github.com/xfn-dev/xfn/internal/progress"
)

// The limits of a package.
const (
	maxTarball  = 512 << 20
	maxUnpacked = 2 << 30
	maxFiles    = 1 << 17
)

// maxMissing limits the names of missing packages in an error.
const maxMissing = 10

// fileScheme is the scheme of tarballs in the project.
const fileScheme = "file:"

// parallel limits the packages that are fetched at once.
const parallel = 16

const (
	contentFolder = "package"
	factsFile     = "facts.json"
)

// A Store fetches packages, and keeps them unpacked in a folder, by digest. Several
// processes can use one folder.
type Store struct {
	// Dir is the folder. It may be empty or missing.
	Dir string
	// Client downloads tarballs.
	Client *http.Client
	Config *Config
	// Offline forbids downloads.
	Offline bool
	// Tries is the number of attempts to download a tarball. 0 means 3. Wait is the pause
	// after the first attempt. Further pauses are longer.
	Tries int
	Wait  time.Duration
	// Progress receives the names of the packages that are fetched, and warnings.
	Progress progress.Func
}

// Cache describes the folders of a Store.
func Cache() language.Cache {
	c := language.Cache{Name: "npm", Noun: "package"}
	for _, a := range algorithms {
		c.Folders = append(c.Folders, a.name)
	}
	return c
}

// An Unpacked is an unpacked package.
type Unpacked struct {
	// Dir is the folder that has the files of the package.
	Dir    string
	Digest v1.Hash
	Facts
}

// Facts describe the content of a package.
type Facts struct {
	// Gyp is true if the package has source code to compile, with node-gyp.
	Gyp bool `json:"gyp,omitempty"`
	// Native is true if the package has compiled code for Node.js (*.node).
	Native bool `json:"native,omitempty"`
	// Skipped are the names of links, which npm does not unpack.
	Skipped []string `json:"skipped,omitempty"`
}

// Get returns the unpacked tarballs of all packages, by location. It fetches those that are
// not in the store. The paths of file: URLs are relative to dir and must be in
// root. Links and bundled packages have no tarball.
func (s *Store) Get(ctx context.Context, all []*Package, dir, root string) (map[string]Unpacked, error) {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("opening cache %q: %w", s.Dir, fsx.Cause(err))
	}
	digests := map[string]v1.Hash{}
	for _, p := range all {
		if p.Link || p.Bundled {
			continue
		}
		digest, err := parseIntegrity(p.Integrity)
		if err != nil {
			return nil, explainIntegrity(p, err)
		}
		digests[p.At] = digest
	}
	if s.Offline {
		if err := s.checkOffline(all, digests); err != nil {
			return nil, err
		}
	}
	var mu sync.Mutex
	added := &stage{store: s}
	got, fetched := map[string]Unpacked{}, map[v1.Hash]func() (Unpacked, error){}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for _, p := range all {
		digest, ok := digests[p.At]
		if !ok {
			continue
		}
		if fetched[digest] == nil {
			fetched[digest] = sync.OnceValues(func() (Unpacked, error) { return s.get(ctx, p, digest, locals{dir, root}, added) })
		}
		get := fetched[digest]
		g.Go(func() error {
			u, err := get()
			if err != nil {
				return fmt.Errorf("fetching %s: %w", p, err)
			}
			mu.Lock()
			defer mu.Unlock()
			got[p.At] = u
			return nil
		})
	}
	err := g.Wait()
	return got, errors.Join(err, added.publish())
}

// checkOffline returns an error with the packages that must be downloaded.
func (s *Store) checkOffline(all []*Package, digests map[string]v1.Hash) error {
	var missing []string
	for _, p := range all {
		digest, ok := digests[p.At]
		if !ok || strings.HasPrefix(p.Resolved, fileScheme) || exists(s.path(digest)) {
			continue
		}
		missing = append(missing, p.String())
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	missing = slices.Compact(missing)
	text := strings.Join(missing[:min(len(missing), maxMissing)], ", ")
	if more := len(missing) - maxMissing; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return hint.Wrap(fmt.Errorf("the cache lacks packages, and downloads are forbidden: %s", text), "run once without "+hint.Offline)
}

// get returns the package with this digest. It adds the package to the stage if the store does not
// have it.
func (s *Store) get(ctx context.Context, p *Package, digest v1.Hash, local locals, added *stage) (_ Unpacked, err error) {
	if u, ok := s.find(digest); ok {
		return u, nil
	}
	if digest.Algorithm == weak {
		s.Progress.Warn(fmt.Sprintf("%s has only a SHA-1 digest, which an attacker can forge", p))
	}
	dir, err := added.open()
	if err != nil {
		return Unpacked{}, err
	}
	tarball, err := os.CreateTemp(dir, "tarball")
	if err != nil {
		return Unpacked{}, fsx.Cause(err)
	}
	defer func() { err = errors.Join(err, tarball.Close(), os.Remove(tarball.Name())) }()
	if err := s.fetch(ctx, tarball, p, digest, local); err != nil {
		return Unpacked{}, err
	}
	return added.add(ctx, tarball, digest)
}

func (s *Store) path(d v1.Hash) string {
	return filepath.Join(s.Dir, d.Algorithm, d.Hex)
}

// find returns a package that the store has, and marks it as used now.
func (s *Store) find(d v1.Hash) (Unpacked, bool) {
	dir := s.path(d)
	data, err := os.ReadFile(filepath.Join(dir, factsFile))
	if err != nil {
		return Unpacked{}, false
	}
	u := Unpacked{Dir: filepath.Join(dir, contentFolder), Digest: d}
	if json.Unmarshal(data, &u.Facts) != nil {
		return Unpacked{}, false
	}
	_ = fsx.Touch(dir) // only a prune of the cache reads the time
	return u, true
}

// A stage has the packages that a call of Get adds to the store, in a temporary directory.
type stage struct {
	store *Store
	mu    sync.Mutex
	dir   *fsx.TempDir // nil before the first package
	whole []v1.Hash
}

// open returns the path of the directory, and creates it if it does not exist.
func (t *stage) open() (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dir == nil {
		parent, err := os.OpenRoot(t.store.Dir)
		if err != nil {
			return "", fsx.Cause(err)
		}
		if t.dir, err = fsx.MakeTempDir(parent); err != nil {
			return "", err
		}
	}
	return t.path(), nil
}

func (t *stage) path() string { return filepath.Join(t.store.Dir, t.dir.Name) }

// add unpacks a tarball with the digest d into the directory. The Unpacked can be read after publish.
func (t *stage) add(ctx context.Context, tarball *os.File, d v1.Hash) (Unpacked, error) {
	dir := filepath.Join(t.path(), d.Hex)
	if err := os.MkdirAll(filepath.Join(dir, contentFolder), 0o700); err != nil {
		return Unpacked{}, fsx.Cause(err)
	}
	root, err := os.OpenRoot(filepath.Join(dir, contentFolder))
	if err != nil {
		return Unpacked{}, fsx.Cause(err)
	}
	facts, err := unpack(ctx, tarball, root)
	if err := errors.Join(err, root.Close()); err != nil {
		return Unpacked{}, fmt.Errorf("unpacking the tarball: %w", err)
	}
	data, _ := json.Marshal(facts) // Its types have no errors.
	if err := os.WriteFile(filepath.Join(dir, factsFile), data, 0o400); err != nil {
		return Unpacked{}, fsx.Cause(err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.whole = append(t.whole, d)
	return Unpacked{Dir: filepath.Join(t.store.path(d), contentFolder), Digest: d, Facts: facts}, nil
}

// publish moves the whole packages into the store, and removes the directory. The packages are synced
// first, because find trusts the files of the store: after a power failure they could be empty.
func (t *stage) publish() (err error) {
	if t.dir == nil {
		return nil
	}
	defer func() { err = errors.Join(err, t.dir.Close()) }()
	if err := fsx.SyncFiles(t.path()); err != nil {
		return fmt.Errorf("syncing cache %q: %w", t.store.Dir, fsx.Cause(err))
	}
	for _, d := range t.whole {
		to := t.store.path(d)
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return fsx.Cause(err)
		}
		// Another process may have added the package.
		if err := os.Rename(filepath.Join(t.path(), d.Hex), to); err != nil && !exists(to) {
			return fsx.Cause(err)
		}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

type locals struct{ dir, root string }

// path returns the path of a file: URL, which npm writes without a host.
func (l locals) path(resolved string) (string, bool, error) {
	name, ok := strings.CutPrefix(resolved, fileScheme)
	if !ok {
		return "", false, nil
	}
	path := filepath.Join(l.dir, filepath.FromSlash(name))
	if !fsx.IsWithin(l.root, path) {
		return "", true, fmt.Errorf("%q is outside of the project %q", name, l.root)
	}
	return path, true, nil
}
