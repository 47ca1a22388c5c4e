package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/remote"
)

// endpoint splits the path of a request into repository, kind of request and reference.
var endpoint = proc.Regexp(`^/v2/(.*)/(manifests|blobs/uploads|blobs|tags|referrers)/([^/]*)$`)

// A Registry is the http.Handler of a registry, for paths that begin with "/v2/".
type Registry struct {
	dir     string
	lock    *os.File
	store   *store
	uploads *uploads
}

// Open returns a registry that stores blobs and manifests in dir. It creates dir if it does
// not exist, and locks it until Close, because only one registry may use it. It returns an
// error if dir is in use, contains files of other programs, or has a damaged journal.
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
	s := &store{
		journal:      &journal{path: filepath.Join(dir, journalFile)},
		repositories: map[string]*repository{},
		blobs:        map[string]map[v1.Hash]bool{},
	}
	if err := s.journal.read(s.apply); err != nil {
		return nil, err
	}
	return &Registry{dir, lock, s, &uploads{dir: filepath.Join(dir, "uploads"), open: map[string]*upload{}}}, nil
}

// Close unlocks the directory. The caller must wait for all requests to end first.
func (reg *Registry) Close() error { return fsx.Unlock(reg.lock) }

// ServeHTTP implements http.Handler.
func (reg *Registry) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Docker-Distribution-API-Version", "registry/2.0")
	if err := reg.serve(w, r); err != nil {
		writeError(w, err)
	}
}

// A handler responds to a request. If it returns an error, writeError responds instead.
type handler func(w http.ResponseWriter, r *http.Request, repository, reference string) error

func (reg *Registry) serve(w http.ResponseWriter, r *http.Request) error {
	var repository, kind, reference string
	path := strings.TrimSuffix(r.URL.Path, "/")
	if part := endpoint().FindStringSubmatch(path); part != nil {
		repository, kind, reference = part[1], part[2], part[3]
		if !remote.IsRepository(repository) {
			return refuse(http.StatusBadRequest, "NAME_INVALID", "the repository's name is invalid")
		}
	} else {
		kind = path
	}
	handle, methods := reg.handler(kind, reference)
	if handle == nil {
		return refuse(http.StatusNotFound, "UNSUPPORTED", "unknown path")
	}
	if !slices.Contains(methods, r.Method) {
		allowed := strings.Join(methods, ", ")
		w.Header().Set("Allow", allowed)
		return refuse(http.StatusMethodNotAllowed, "UNSUPPORTED", "the allowed methods are "+allowed)
	}
	return handle(w, r, repository, reference)
}

func (reg *Registry) handler(kind, reference string) (handler, []string) {
	read := []string{http.MethodGet, http.MethodHead}
	switch {
	case kind == "/v2":
		return getVersion, read
	case kind == "/v2/_catalog":
		return reg.listRepositories, read
	case kind == "manifests":
		return reg.serveManifest, append(read, http.MethodPut, http.MethodDelete)
	case kind == "blobs" && reference == "uploads":
		return reg.beginUpload, []string{http.MethodPost}
	case kind == "blobs/uploads":
		return reg.serveUpload, []string{http.MethodGet, http.MethodPatch, http.MethodPut, http.MethodDelete}
	case kind == "blobs":
		return reg.getBlob, read
	case kind == "referrers":
		return reg.listReferrers, read
	case kind == "tags" && reference == "list":
		return reg.listTags, read
	default:
		return nil, nil
	}
}

func getVersion(w http.ResponseWriter, _ *http.Request, _, _ string) error {
	return writeJSON(w, "application/json", struct{}{})
}

func writeJSON(w http.ResponseWriter, mediaType string, v any) error {
	w.Header().Set("Content-Type", mediaType)
	_ = json.NewEncoder(w).Encode(v)
	return nil
}

// A refusal is an error that is sent to the client (OCI distribution spec, "Error Codes").
type refusal struct {
	status int
	Errors []failure `json:"errors"`
}

type failure struct {
	Code    string            `json:"code"`
	Message string            `json:"message"`
	Detail  map[string]string `json:"detail,omitempty"`
}

func refuse(status int, code, message string) *refusal {
	return &refusal{status, []failure{{Code: code, Message: message}}}
}

func (r *refusal) Error() string { return r.Errors[0].Message }

// writeError responds with an error. An error other than a refusal comes from reading or
// storing the request's body. The response does not contain local paths.
func writeError(w http.ResponseWriter, err error) {
	var (
		refused  *refusal
		tooLarge *http.MaxBytesError
	)
	switch {
	case errors.Is(err, errRange):
		w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
		return
	case errors.As(err, &refused):
	case errors.As(err, &tooLarge):
		message := fmt.Sprintf("the registry accepts at most %d bytes", tooLarge.Limit)
		refused = refuse(http.StatusRequestEntityTooLarge, "SIZE_INVALID", message)
	case errors.Is(err, syscall.ENOSPC):
		refused = refuse(http.StatusInsufficientStorage, "UNKNOWN", "the registry's disk is full")
	default:
		refused = refuse(http.StatusInternalServerError, "UNKNOWN", fsx.Cause(err).Error())
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(refused.status)
	_ = json.NewEncoder(w).Encode(refused)
}
