package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"syscall"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/remote"
)

const (
	// maxBlob bounds an upload.
	maxBlob = 16 << 30
)

var (
	// tagName is the grammar of tags: OCI distribution spec, "Pulling manifests".
	tagName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$`) })

	// endpoint takes a path apart: repository, kind, and what of that kind.
	endpoint = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^/v2/(.*)/(manifests|blobs/uploads|blobs|tags|referrers)/([^/]*)$`)
	})
)

// A Registry is the handler of a whole server ("/v2/…").
type Registry struct {
	blobs     *blobs
	uploads   *uploads
	manifests *manifests
	lock      *os.File
}

// Open returns a registry that keeps blobs and manifests in dir. It makes dir
// if it is absent, and locks it until Close: one registry at a time may use it.
// A dir that another one uses, that holds something else than a registry, or
// whose journal is damaged, is an error.
func Open(dir string) (_ *Registry, err error) {
	lock, err := lockDir(dir)
	if err != nil {
		return nil, fmt.Errorf("opening registry directory %q: %w", dir, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, lock.Close())
		}
	}()
	if err := prepare(dir); err != nil {
		return nil, fmt.Errorf("preparing registry directory %q: %w", dir, err)
	}
	blobs := &blobs{dir: dir}
	manifests := newManifests(journalIn(dir))
	if err := manifests.replay(); err != nil {
		return nil, err
	}
	return &Registry{blobs: blobs, uploads: newUploads(blobs, manifests), manifests: manifests, lock: lock}, nil
}

// Close gives the directory free for another registry. It is for when all
// requests have ended.
func (reg *Registry) Close() error { return reg.lock.Close() }

// ServeHTTP implements http.Handler.
func (reg *Registry) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Docker-Distribution-API-Version", "registry/2.0")
	switch r.URL.Path {
	case "/v2", "/v2/":
		if allowed(w, r, http.MethodGet, http.MethodHead) {
			answer(w, struct{}{}, "application/json")
		}
		return
	case "/v2/_catalog":
		reg.manifests.catalog(w, r)
		return
	}
	part := endpoint().FindStringSubmatch(strings.TrimSuffix(r.URL.Path, "/"))
	if part == nil {
		refuse(w, http.StatusNotFound, "UNSUPPORTED", "the registry has nothing at this path")
		return
	}
	reg.serve(w, r, part[1], part[2], part[3])
}

func (reg *Registry) serve(w http.ResponseWriter, r *http.Request, repository, kind, what string) {
	if !remote.IsRepository(repository) {
		refuse(w, http.StatusBadRequest, "NAME_INVALID", "the repository's name breaks the rules")
		return
	}
	switch {
	case kind == "manifests":
		reg.manifests.serve(w, r, repository, what)
	case kind == "blobs" && what == "uploads":
		reg.uploads.begin(w, r, repository)
	case kind == "blobs/uploads":
		reg.uploads.serve(w, r, repository, what)
	case kind == "blobs":
		reg.blobs.serve(w, r, what, func(h v1.Hash) bool { return reg.manifests.holds(repository, h) })
	case kind == "referrers":
		reg.manifests.referrers(w, r, repository, what)
	case kind == "tags" && what == "list":
		reg.manifests.tags(w, r, repository)
	default:
		refuse(w, http.StatusNotFound, "UNSUPPORTED", "the registry has nothing at this path")
	}
}

// allowed refuses a request of another method than these.
func allowed(w http.ResponseWriter, r *http.Request, methods ...string) bool {
	for _, m := range methods {
		if r.Method == m {
			return true
		}
	}
	w.Header().Set("Allow", strings.Join(methods, ", "))
	refuse(w, http.StatusMethodNotAllowed, "UNSUPPORTED", "this takes only "+strings.Join(methods, ", "))
	return false
}

// answer gives v as JSON.
func answer(w http.ResponseWriter, v any, mediaType string) {
	w.Header().Set("Content-Type", mediaType)
	_ = json.NewEncoder(w).Encode(v)
}

// A failure is an error as the OCI distribution spec ("Error Codes") has it.
type failure struct {
	Code    string            `json:"code"`
	Message string            `json:"message"`
	Detail  map[string]string `json:"detail,omitempty"`
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	refuseAll(w, status, []failure{{Code: code, Message: message}})
}

func refuseAll(w http.ResponseWriter, status int, failures []failure) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string][]failure{"errors": failures})
}

// refuseBody answers a request that could not be taken, read or kept. The
// message has no path of this machine in it.
func refuseBody(w http.ResponseWriter, err error) {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		refuse(w, http.StatusRequestEntityTooLarge, "SIZE_INVALID", fmt.Sprintf("the registry takes no more than %d bytes", tooLarge.Limit))
	case errors.Is(err, syscall.ENOSPC):
		refuse(w, http.StatusInsufficientStorage, "UNKNOWN", "the registry's disk is full")
	default:
		refuse(w, http.StatusInternalServerError, "UNKNOWN", fsx.Cause(err).Error())
	}
}
