package clone_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/revlist"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage"
	"github.com/go-git/go-git/v5/storage/memory"

	"github.com/xfn-dev/xfn/internal/e2e"
)

// A history is a repository: three commits on main and one on dev/feature, a
// lightweight and an annotated tag, and a commit without a reference.
type history struct {
	storage.Storer
	first, second, third, feature, loose, annotated plumbing.Hash
}

func newHistory(t *testing.T, into storage.Storer) history {
	t.Helper()
	h := history{Storer: into}
	h.first = h.commit(t, "one")
	h.second = h.commit(t, "two", h.first)
	h.third = h.commit(t, "three", h.second)
	h.feature = h.commit(t, "feature", h.first)
	h.loose = h.commit(t, "loose", h.first)
	h.annotated = h.put(t, &object.Tag{
		Name: "annotated", Tagger: who(), Message: "a\n", Target: h.second, TargetType: plumbing.CommitObject,
	})
	h.refer(t, map[string]plumbing.Hash{
		"refs/heads/main": h.third, "refs/heads/dev/feature": h.feature, "refs/heads/both": h.third,
		"refs/tags/v1": h.first, "refs/tags/annotated": h.annotated, "refs/tags/both": h.first,
		"refs/heads/" + h.first.String(): h.feature, "refs/pull/1/head": h.loose,
	})
	e2e.NoError(t, into.SetReference(plumbing.NewSymbolicReference(plumbing.HEAD, "refs/heads/main")))
	return h
}

func who() object.Signature {
	return object.Signature{Name: "Gold", Email: "g@gold.test", When: time.Unix(1709618828, 0).UTC()}
}

func (h history) refer(t *testing.T, refs map[string]plumbing.Hash) {
	t.Helper()
	for name, hash := range refs {
		e2e.NoError(t, h.SetReference(plumbing.NewHashReference(plumbing.ReferenceName(name), hash)))
	}
}

// commit writes a commit with one file v of this text.
func (h history) commit(t *testing.T, text string, parents ...plumbing.Hash) plumbing.Hash {
	t.Helper()
	blob := h.NewEncodedObject()
	blob.SetType(plumbing.BlobObject)
	w := e2e.Must(blob.Writer())(t)
	e2e.Must(w.Write([]byte(text)))(t)
	e2e.NoError(t, w.Close())
	v := e2e.Must(h.SetEncodedObject(blob))(t)
	tree := h.put(t, &object.Tree{Entries: []object.TreeEntry{{Name: "v", Mode: filemode.Regular, Hash: v}}})
	return h.put(t, &object.Commit{Author: who(), Committer: who(), Message: text + "\n", TreeHash: tree, ParentHashes: parents})
}

func (h history) put(t *testing.T, o interface {
	Encode(plumbing.EncodedObject) error
},
) plumbing.Hash {
	t.Helper()
	encoded := h.NewEncodedObject()
	e2e.NoError(t, o.Encode(encoded))
	return e2e.Must(h.SetEncodedObject(encoded))(t)
}

// A server answers git's smart HTTP protocol for one repository.
type server struct {
	objects storage.Storer
	// shallow, anyHash and sideband are its capabilities.
	shallow, anyHash, sideband bool
	// credentials, as in "user:password", are required unless empty.
	credentials string

	mu sync.Mutex
	// sent has the number of objects of each pack.
	sent []int
}

func (s *server) start(t *testing.T) string {
	t.Helper()
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	return h.URL + "/repo"
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	user, password, _ := r.BasicAuth()
	switch {
	case s.credentials != "" && s.credentials != user+":"+password:
		http.Error(w, "<html>\x1b[31mnobody knows "+user, http.StatusUnauthorized)
	case r.URL.Path == "/repo/info/refs":
		s.advertise(w)
	case r.URL.Path == "/repo/git-upload-pack":
		s.upload(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (s *server) advertise(w http.ResponseWriter) {
	adv := packp.NewAdvRefs()
	adv.Prefix = [][]byte{[]byte("# service=git-upload-pack"), pktline.Flush}
	caps := map[capability.Capability]bool{
		capability.OFSDelta: true, capability.Shallow: s.shallow,
		capability.AllowReachableSHA1InWant: s.anyHash, capability.Sideband64k: s.sideband,
	}
	for c, on := range caps {
		if on {
			must(adv.Capabilities.Set(c))
		}
	}
	refs, err := s.objects.IterReferences()
	must(err)
	must(refs.ForEach(func(r *plumbing.Reference) error { return adv.AddReference(r) }))
	if head, err := storer.ResolveReference(s.objects, plumbing.HEAD); err == nil {
		hash := head.Hash()
		adv.Head = &hash
	}
	must(adv.Encode(w))
}

func (s *server) upload(w http.ResponseWriter, r *http.Request) {
	req := packp.NewUploadPackRequest()
	must(req.UploadRequest.Decode(r.Body))
	if !s.anyHash && !s.isAdvertised(req.Wants) {
		must(pktline.NewEncoder(w).EncodeString("ERR upload-pack: not our ref"))
		return
	}
	resp := packp.NewUploadPackResponse(req)
	want := req.Wants
	if !req.Depth.IsZero() {
		want = nil
		for _, h := range req.Wants {
			want = append(want, s.shallowObjects(h, resp)...)
		}
	} else {
		var err error
		want, err = revlist.Objects(s.objects, want, nil)
		must(err)
	}
	s.mu.Lock()
	s.sent = append(s.sent, len(want))
	s.mu.Unlock()
	var pack bytes.Buffer
	_, err := packfile.NewEncoder(&pack, s.objects, false).Encode(want, 10)
	must(err)
	if !req.Depth.IsZero() {
		must(resp.ShallowUpdate.Encode(w))
	}
	must(resp.ServerResponse.Encode(w, false))
	if !s.sideband {
		must(write(w, pack.Bytes()))
		return
	}
	mux := sideband.NewMuxer(sideband.Sideband64k, w)
	must(write(mux, pack.Bytes()))
	must(pktline.NewEncoder(w).Flush())
}

// shallowObjects returns a commit, its tag, and its files.
func (s *server) shallowObjects(h plumbing.Hash, resp *packp.UploadPackResponse) []plumbing.Hash {
	objects := []plumbing.Hash{h}
	if tag, err := object.GetTag(s.objects, h); err == nil {
		h = tag.Target
		objects = append(objects, h)
	}
	commit, err := object.GetCommit(s.objects, h)
	must(err)
	resp.Shallows = append(resp.Shallows, h)
	files, err := revlist.Objects(s.objects, []plumbing.Hash{commit.TreeHash}, nil)
	must(err)
	return append(objects, files...)
}

func (s *server) isAdvertised(wants []plumbing.Hash) bool {
	tips := map[plumbing.Hash]bool{}
	refs, err := s.objects.IterReferences()
	must(err)
	must(refs.ForEach(func(r *plumbing.Reference) error {
		tips[r.Hash()] = true
		return nil
	}))
	for _, h := range wants {
		if !tips[h] {
			return false
		}
	}
	return true
}

func write(w interface{ Write([]byte) (int, error) }, data []byte) error {
	_, err := w.Write(data)
	return err
}

// must panics in the handler of the server, which closes the connection.
func must(err error) {
	if err != nil && !strings.Contains(err.Error(), "broken pipe") {
		panic(err)
	}
}

func newMemoryHistory(t *testing.T) history { return newHistory(t, memory.NewStorage()) }
