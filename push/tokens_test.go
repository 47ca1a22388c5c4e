package push_test

import (
	"crypto/subtle"
	"fmt"
	"net/http"
	"strings"
	"sync"
)

// tokenServer requires a token for each request and issues tokens for a
// password (Docker registry, "Token Authentication").
type tokenServer struct {
	next           http.Handler
	user, password string

	mu    sync.Mutex
	last  int
	valid map[string]bool
	shut  bool
}

// newTokenServer returns a tokenServer for next. Its tokens contain the
// password, so that a search for the password finds them, too.
func newTokenServer(next http.Handler, user, password string) *tokenServer {
	return &tokenServer{next: next, user: user, password: password, valid: map[string]bool{}}
}

// Expire revokes all tokens and reports whether there were any.
func (t *tokenServer) Expire() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	some := len(t.valid) > 0
	clear(t.valid)
	return some
}

// Shut revokes all tokens and issues no more.
func (t *tokenServer) Shut() {
	t.Expire()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.shut = true
}

// ServeHTTP implements http.Handler.
func (t *tokenServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case r.URL.Path == "/token":
		t.give(w, r)
	case t.knows(token):
		t.next.ServeHTTP(w, r)
	default:
		scheme := "http"
		if r.TLS != nil {
			scheme = "https"
		}
		w.Header().Set("WWW-Authenticate", fmt.Sprintf("Bearer realm=%q,service=%q", scheme+"://"+r.Host+"/token", r.Host))
		w.WriteHeader(http.StatusUnauthorized)
	}
}

func (t *tokenServer) give(w http.ResponseWriter, r *http.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	user, password, _ := r.BasicAuth()
	if t.shut || user != t.user || subtle.ConstantTimeCompare([]byte(password), []byte(t.password)) != 1 {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	t.last++
	token := fmt.Sprintf("token-%d-%s", t.last, t.password)
	t.valid[token] = true
	_, _ = fmt.Fprintf(w, `{"token": %q}`, token)
}

func (t *tokenServer) knows(token string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.valid[token]
}
