package registry

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/xfn-dev/xfn/internal/fsx"
)

// drain is how long Serve waits for running requests after its context is done.
const drain = 3 * time.Second

// Serve serves h on l until ctx is done. Then it closes l, waits up to three seconds for
// running requests, closes the other connections, and returns nil. When Serve returns, no
// request uses h.
func Serve(ctx context.Context, l net.Listener, h http.Handler) error {
	var running sync.WaitGroup
	s := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			running.Add(1)
			defer running.Done()
			h.ServeHTTP(w, r)
		}),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          log.New(io.Discard, "", 0),
	}
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		drained, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
		defer cancel()
		err := s.Shutdown(drained)
		if errors.Is(err, context.DeadlineExceeded) {
			err = s.Close()
		}
		stopped <- err
	})
	if err := s.Serve(l); stop() {
		return err
	}
	defer running.Wait()
	return <-stopped
}

// Users are the users of an htpasswd file.
type Users struct {
	// hashes has the password hash of each user.
	hashes map[string][]byte
	// known caches successful logins. Each request has a login, and bcrypt is slow.
	known sync.Map
}

// ReadUsers reads an htpasswd file: lines USER:HASH with bcrypt hashes, as `htpasswd -B`
// writes them and Docker's registry requires. Empty lines and lines that begin with # are
// skipped. A file without users is an error.
func ReadUsers(path string) (*Users, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading users %q: %w", path, fsx.Cause(err))
	}
	u := &Users{hashes: map[string][]byte{}}
	for n, line := range strings.Split(string(content), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		user, hash, _ := strings.Cut(line, ":")
		if _, err := bcrypt.Cost([]byte(hash)); err != nil || user == "" {
			return nil, fmt.Errorf("reading users %q, line %d: expected USER:HASH with a bcrypt hash", path, n+1)
		}
		u.hashes[user] = []byte(hash)
	}
	if len(u.hashes) == 0 {
		return nil, fmt.Errorf("reading users %q: the file has no users", path)
	}
	return u, nil
}

// Only returns a handler that requires HTTP basic authentication, and calls h only for the
// users in u.
func (u *Users) Only(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, ok := r.BasicAuth()
		if ok && u.has(user, password) {
			h.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Docker-Distribution-API-Version", "registry/2.0")
		w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
		writeError(w, refuse(http.StatusUnauthorized, "UNAUTHORIZED", "a user name and password are required"))
	})
}

func (u *Users) has(user, password string) bool {
	hash, ok := u.hashes[user]
	if !ok {
		return false
	}
	login := sha256.Sum256([]byte(user + ":" + password))
	if _, ok := u.known.Load(login); ok {
		return true
	}
	if bcrypt.CompareHashAndPassword(hash, []byte(password)) != nil {
		return false
	}
	u.known.Store(login, true)
	return true
}
