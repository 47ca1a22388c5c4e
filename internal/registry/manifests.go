package registry

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// manifests checks and records what is done to manifests; next does it.
type manifests struct {
	next    http.Handler
	journal *journal

	// mu keeps the journal in the order in which next takes things.
	mu sync.Mutex
}

// A change is something done to a manifest, a line of the journal.
type change struct {
	Method     string `json:"method"`
	Repository string `json:"repository"`
	// Reference is a tag or a digest.
	Reference string `json:"reference"`
	MediaType string `json:"mediaType,omitempty"`
	Manifest  []byte `json:"manifest,omitempty"`
}

func (m *manifests) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	part := manifestPath.FindStringSubmatch(r.URL.Path)
	c := change{Method: r.Method, Repository: part[1], Reference: part[2], MediaType: r.Header.Get("Content-Type")}
	switch r.Method {
	case http.MethodPut:
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxManifest))
		if err != nil {
			refuseBody(w, err)
			return
		}
		c.Manifest = body
		if err := c.check(); err != nil {
			refuse(w, http.StatusBadRequest, "MANIFEST_INVALID", err.Error())
			return
		}
	case http.MethodDelete:
		c.MediaType = ""
	default:
		refuse(w, http.StatusMethodNotAllowed, "UNSUPPORTED", "a manifest knows GET, HEAD, PUT and DELETE")
		return
	}
	m.commit(w, c)
}

// check is what next leaves out.
func (c change) check() error {
	if !json.Valid(c.Manifest) {
		return errors.New("the manifest is not JSON")
	}
	if !strings.Contains(c.Reference, ":") {
		if !tagName.MatchString(c.Reference) {
			return errors.New("the tag's name breaks the rules")
		}
		return nil
	}
	want, err := v1.NewHash(c.Reference)
	if err != nil {
		return err
	}
	hasher, err := v1.Hasher(want.Algorithm)
	if err != nil {
		return err
	}
	hasher.Write(c.Manifest)
	if hex.EncodeToString(hasher.Sum(nil)) != want.Hex {
		return errDigest
	}
	return nil
}

// commit writes c to the journal first: nobody may see, and build upon, what a
// restart would lose.
func (m *manifests) commit(w http.ResponseWriter, c change) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, err := m.journal.add(c)
	if err != nil {
		refuse(w, http.StatusInternalServerError, "UNKNOWN", err.Error())
		return
	}
	a := m.apply(c)
	if !a.ok() {
		if err := m.journal.cut(at); err != nil {
			refuse(w, http.StatusInternalServerError, "UNKNOWN", err.Error())
			return
		}
	}
	if a.status == http.StatusCreated {
		a.header.Set("Location", c.path())
	}
	a.writeTo(w)
}

func (c change) path() string { return fmt.Sprintf("/v2/%s/manifests/%s", c.Repository, c.Reference) }

func (m *manifests) apply(c change) *answer {
	a := &answer{header: http.Header{}}
	m.next.ServeHTTP(a, &http.Request{
		Method: c.Method,
		URL:    &url.URL{Path: c.path()},
		Header: http.Header{"Content-Type": {c.MediaType}},
		Body:   io.NopCloser(bytes.NewReader(c.Manifest)),
	})
	return a
}

// replay does again what the journal says.
func (m *manifests) replay() error {
	return m.journal.read(func(c change) error {
		if a := m.apply(c); !a.ok() {
			return fmt.Errorf("%s %s gives %d: %s", c.Method, c.path(), a.status, strings.TrimSpace(a.body.String()))
		}
		return nil
	})
}

// answer keeps a response until it is known whether it may be given.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(status int) { a.status = status }

func (a *answer) Write(b []byte) (int, error) { return a.body.Write(b) }

func (a *answer) ok() bool { return a.status >= 200 && a.status < 300 }

func (a *answer) writeTo(w http.ResponseWriter) {
	for k, v := range a.header {
		w.Header()[k] = v
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body.Bytes())
}
