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
	// maxBlob limits the size of an upload.
	maxBlob = 16 << 30
)

var (
	// tagName matches valid tags: OCI distribution spec, "Pulling
	// manifests".
	tagName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$`) })

	// endpoint splits a path into repository, kind and reference.
	endpoint = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^/v2/(.*)/(manifests|blobs/uploads|blobs|tags|referrers)/([^/]*)$`)
	})
)

// A Registry is the http.Handler of a registry, for paths that begin with
// "/v2/".
type Registry struct {
	blobs     *blobs
	uploads   *uploads
	manifests *manifests
	lock      *os.File
}

// Open returns a registry that stores blobs and manifests in dir. It creates
// dir if it does not exist, and locks it until Close, because only one registry
// may use it. It returns an error if dir is in use, has other content, or has a
// damaged journal.
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

// Close unlocks the directory. The caller must wait for all requests to end
// first.
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
		refuse(w, http.StatusNotFound, "UNSUPPORTED", "unknown path")
		return
	}
	reg.serve(w, r, part[1], part[2], part[3])
}

func (reg *Registry) serve(w http.ResponseWriter, r *http.Request, repository, kind, what string) {
	if !remote.IsRepository(repository) {
		refuse(w, http.StatusBadRequest, "NAME_INVALID", "the repository's name is invalid")
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
		refuse(w, http.StatusNotFound, "UNSUPPORTED", "unknown path")
	}
}

// allowed reports whether the request has one of the methods, and otherwise
// refuses it.
func allowed(w http.ResponseWriter, r *http.Request, methods ...string) bool {
	for _, m := range methods {
		if r.Method == m {
			return true
		}
	}
	w.Header().Set("Allow", strings.Join(methods, ", "))
	refuse(w, http.StatusMethodNotAllowed, "UNSUPPORTED", "the allowed methods are "+strings.Join(methods, ", "))
	return false
}

// answer writes v as JSON.
func answer(w http.ResponseWriter, v any, mediaType string) {
	w.Header().Set("Content-Type", mediaType)
	_ = json.NewEncoder(w).Encode(v)
}

// A failure is an error in the form of the OCI distribution spec, "Error
// Codes".
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

// refuseBody answers a request whose body could not be read or stored. The
// message does not contain local paths.
func refuseBody(w http.ResponseWriter, err error) {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		refuse(w, http.StatusRequestEntityTooLarge, "SIZE_INVALID", fmt.Sprintf("the registry accepts at most %d bytes", tooLarge.Limit))
	case errors.Is(err, syscall.ENOSPC):
		refuse(w, http.StatusInsufficientStorage, "UNKNOWN", "the registry's disk is full")
	default:
		refuse(w, http.StatusInternalServerError, "UNKNOWN", fsx.Cause(err).Error())
	}
}
