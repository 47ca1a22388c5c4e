package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/go-containerregistry/pkg/registry"
)

const (
	// maxManifest is the size that the OCI distribution spec ("Pushing
	// Manifests") asks registries to take at least.
	maxManifest = 4 << 20
	// maxBlob bounds an upload.
	maxBlob = 16 << 30
)

// The grammar of names and tags: OCI distribution spec, "Pulling manifests".
const (
	component  = `[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*`
	repository = `(` + component + `(?:/` + component + `)*)`
)

var (
	manifestPath = regexp.MustCompile(`^/v2/` + repository + `/manifests/([^/]+)$`)
	uploadPath   = regexp.MustCompile(`^/v2/` + repository + `/blobs/uploads(?:/([0-9a-f]{1,32})?)?$`)
	tagName      = regexp.MustCompile(`^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$`)
)

// A Registry is the handler of a whole server ("/v2/…"). It takes what changes
// the registry; next, which has the rest of the protocol, does the reading.
type Registry struct {
	next, uploads http.Handler
	manifests     *manifests
	lock          *os.File
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
	lib := registry.New(
		registry.Logger(log.New(io.Discard, "", 0)),
		registry.WithReferrersSupport(true),
		registry.WithBlobHandler(blobs),
	)
	manifests := &manifests{next: lib, journal: journalIn(dir)}
	if err := manifests.replay(); err != nil {
		return nil, err
	}
	return &Registry{next: lib, manifests: manifests, uploads: &uploads{blobs: blobs}, lock: lock}, nil
}

// Close gives the directory free for another registry. It is for when all
// requests have ended.
func (reg *Registry) Close() error { return reg.lock.Close() }

// ServeHTTP implements http.Handler.
func (reg *Registry) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch isRead := r.Method == http.MethodGet || r.Method == http.MethodHead; {
	case uploadPath.MatchString(r.URL.Path):
		reg.uploads.ServeHTTP(w, r)
	case isRead && !validCount(r.URL.Query()):
		refuse(w, http.StatusBadRequest, "PAGINATION_NUMBER_INVALID", "n is no count")
	case isRead:
		reg.next.ServeHTTP(w, r)
	case manifestPath.MatchString(r.URL.Path):
		reg.manifests.ServeHTTP(w, r)
	case strings.Contains(r.URL.Path, "/manifests/"), strings.Contains(r.URL.Path, "/blobs/uploads"):
		refuse(w, http.StatusBadRequest, "NAME_INVALID", "the repository's name breaks the rules")
	default:
		refuse(w, http.StatusMethodNotAllowed, "UNSUPPORTED", "this registry does not do that")
	}
}

// validCount checks how many entries of a list are asked for, since next takes
// a negative number for a length.
func validCount(query url.Values) bool {
	if !query.Has("n") {
		return true
	}
	_, err := strconv.ParseUint(query.Get("n"), 10, 31)
	return err == nil
}

// refuse answers with an error: OCI distribution spec, "Error Codes".
func refuse(w http.ResponseWriter, status int, code, message string) {
	type failure struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string][]failure{"errors": {{Code: code, Message: message}}})
}

// refuseBody answers a request whose body could not be taken.
func refuseBody(w http.ResponseWriter, err error) {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		refuse(w, http.StatusRequestEntityTooLarge, "SIZE_INVALID", err.Error())
		return
	}
	refuse(w, http.StatusInternalServerError, "UNKNOWN", err.Error())
}
