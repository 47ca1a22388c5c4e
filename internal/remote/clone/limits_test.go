package clone_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/storage/memory"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/remote/clone"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

func TestLimit(t *testing.T) {
	cases := map[string]struct {
		reason, text string
		max          int64
		err          string
	}{
		"Fits":   {"a pack within the limit is complete", noise(5000), 22000, ""},
		"Delta":  {"the results of deltas count", noise(5000), 18000, "larger than the 18000 bytes"},
		"Sent":   {"the received bytes are limited", noise(5000), 4000, "larger than the 4000 bytes"},
		"Unpack": {"the unpacked size is checked before unpacking", strings.Repeat("x", 1<<20), 1 << 19, "larger than the 524288 bytes"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := history{Storer: memory.NewStorage()}
			tip := h.commit(t, tc.text+"!", h.commit(t, tc.text))
			h.refer(t, map[string]plumbing.Hash{"refs/heads/main": tip, "HEAD": tip})
			_, err := read(t, clone.Options{URL: (&server{objects: h}).start(t), MaxBytes: tc.max})
			e2e.WantError(t, tc.reason, err, tc.err)
		})
	}
}

// A server that accepts connections and never answers is an error.
func TestSilentServer(t *testing.T) {
	l := e2e.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	for _, url := range []string{"http://%s/x.git", "git://%s/x.git"} {
		_, err := clone.Commit(t.Context(), clone.Options{URL: fmt.Sprintf(url, l.Addr()), AnswerTimeout: time.Millisecond})
		e2e.ErrorHas(t, "a silent server is an error: "+url, err, "the git server did not answer within 1ms")
		e2e.Equal(t, "a silent server has a hint: "+url, clone.CheckNetwork, hint.Of(err))
	}
}

// A server that lists its references and then sends nothing is an error.
func TestSilentFetch(t *testing.T) {
	h := newHistory(t, memory.NewStorage())
	lists := &server{objects: h}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			lists.ServeHTTP(w, r)
			return
		}
		_, err := io.Copy(io.Discard, r.Body)
		must(err)
		<-r.Context().Done()
	}))
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := clone.Commit(ctx, clone.Options{URL: s.URL + "/repo", MaxBytes: 1 << 20, AnswerTimeout: 100 * time.Millisecond})
	e2e.ErrorHas(t, "a server that sends no objects is an error", err, "the git server did not answer within 100ms")
}

// noise returns text that does not compress.
func noise(n int) string {
	var b strings.Builder
	x := uint32(1)
	for range n {
		x = x*1664525 + 1013904223
		b.WriteByte(byte(x >> 24))
	}
	return b.String()
}

// A server that is not a git server is an error with a hint.
func TestOtherServer(t *testing.T) {
	cases := map[string]struct {
		reason, page string
		status       int
		url, err     string
		hint         hint.Hint
	}{
		"Page":   {"a web page is not a list of references", "<html>", 200, "", "does not answer like a git server with the smart protocol", "check that the URL is the URL of a git repository"},
		"Empty":  {"an empty answer is not a list of references", "", 200, "", "does not answer like a git server with the smart protocol", "check that the URL is the URL of a git repository"},
		"Dumb":   {"the list of the dumb protocol is not supported", strings.Repeat("a1", 20) + "\trefs/heads/main\n", 200, "", "does not answer like a git server with the smart protocol", "check that the URL is the URL of a git repository"},
		"Status": {"the error has the status and not the text of go-git", "<html>", 503, "", "the server answers with status 503 Service Unavailable", ""},
		"Dial":   {"the protocol git has the same hint as http for a closed port", "", 0, "git://" + remotetest.Nobody + "/x.git", "connecting to the server: dial tcp", clone.CheckNetwork},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tc.status)
				must(write(w, []byte(tc.page)))
			}))
			defer s.Close()
			_, err := read(t, clone.Options{URL: cmp.Or(tc.url, s.URL+"/x.git")})
			e2e.WantError(t, tc.reason, err, tc.err)
			e2e.Equal(t, tc.reason, tc.hint, hint.Of(err))
		})
	}
}

func TestEmptyServer(t *testing.T) {
	e2e.WantError(t, "a server without a commit is an error", e2e.Err(read(t, clone.Options{URL: (&server{objects: memory.NewStorage()}).start(t)})), "the repository is empty")
}

func TestProgress(t *testing.T) {
	var last progress.Event
	url := (&server{objects: newMemoryHistory(t), shallow: true}).start(t)
	e2e.Must(read(t, clone.Options{URL: url, Progress: func(e progress.Event) { last = e }}))(t)
	if last.Kind != progress.Bytes || last.Done == 0 || last.Done != last.Total {
		t.Errorf("the last event must have all bytes: got %+v", last)
	}
}

// A server that does not answer does not delay the end of the context.
func TestCancel(t *testing.T) {
	stop := errors.New("the user stopped it")
	ctx, cancel := context.WithCancelCause(t.Context())
	release := make(chan struct{})
	mute := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		cancel(stop)
		<-release
	}))
	defer mute.Close()
	defer close(release)
	e2e.ErrorIs(t, "Commit returns the cause of its context", e2e.Err(clone.Commit(ctx, clone.Options{URL: mute.URL, MaxBytes: limit})), stop)
}

// Commit returns when the context is done, although the ssh library has no context and
// waits for a server that does not answer.
func TestCancelSSH(t *testing.T) {
	t.Setenv("SSH_AUTH_SOCK", agent(t))
	t.Setenv("HOME", t.TempDir())
	known := filepath.Join(t.TempDir(), "known_hosts")
	e2e.WriteFile(t, known, "")
	t.Setenv("SSH_KNOWN_HOSTS", known)
	l := e2e.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer func() { _ = l.Close() }()
	stop := errors.New("the user stopped it")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		conn, err := l.Accept()
		cancel(stop)
		if err == nil {
			_, _ = io.Copy(io.Discard, conn)
			_ = conn.Close()
		}
	}()
	_, err := clone.Commit(ctx, clone.Options{URL: "ssh://git:t0ken@" + l.Addr().String() + "/x", MaxBytes: limit})
	e2e.ErrorIs(t, "Commit returns the cause of its context", err, stop)
}

// agent is an ssh-agent that does not answer.
func agent(t *testing.T) string {
	t.Helper()
	dir := e2e.ShortDir(t)
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Skip("this system has no unix sockets:", err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}

func TestNoAgent(t *testing.T) {
	t.Setenv("SSH_AUTH_SOCK", "")
	for _, url := range []string{"ssh://git@127.0.0.1:1/x", "git@127.0.0.1:x"} {
		_, err := read(t, clone.Options{URL: url})
		if err == nil || !strings.Contains(string(hint.Of(err)), "ssh-agent") {
			t.Errorf("%s: got %v with hint %q, want an error that points to ssh-agent", url, err, hint.Of(err))
		}
	}
}

// FuzzPack fetches from a server that sends arbitrary bytes as the pack.
func FuzzPack(f *testing.F) {
	f.Add([]byte("PACK\x00\x00\x00\x02\x00\x00\x00\x00\x02\x9d\x08\x82\x3b\xd8\xa8\xea\xb5\x10\xad\x6a\xc7\x5c\x82\x3c\xfd\x3e\xd3\x1e"))
	f.Add([]byte("PACK\x00\x00\x00\x02\xff\xff\xff\xff"))
	f.Add([]byte("PACK\x00\x00\x00\x02\x00\x00\x00\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01x\x9c"))
	f.Add([]byte("not a pack"))
	f.Add([]byte{})
	hash := plumbing.NewHash(strings.Repeat("ab", 20))
	f.Fuzz(func(t *testing.T, pack []byte) {
		h := history{Storer: memory.NewStorage()}
		h.refer(t, map[string]plumbing.Hash{"refs/heads/main": hash, "HEAD": hash})
		s := &server{objects: h}
		var nak bytes.Buffer
		e2e.NoError(t, new(packp.ServerResponse).Encode(&nak, false))
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				s.advertise(w)
				return
			}
			must(write(w, append(nak.Bytes(), pack...)))
		}))
		defer srv.Close()
		e2e.Error(t, "no pack can have the requested commit", e2e.Err(clone.Commit(t.Context(), clone.Options{URL: srv.URL, MaxBytes: limit})))
	})
}
