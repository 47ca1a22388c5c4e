package remote_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"golang.org/x/sync/errgroup"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

// An expiring is a registry whose tokens expire. For each method and URL, it
// refuses the first request and each later request with the same token. Its
// token server sends another valid identity token with each token.
type expiring struct {
	next http.Handler

	mu      sync.Mutex
	refused map[string]string
	issued  int
}

func (e *expiring) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/token" {
		e.issue(w, r)
		return
	}
	token, what := r.Header.Get("Authorization"), r.Method+" "+r.URL.RequestURI()
	e.mu.Lock()
	before, seen := e.refused[what]
	if !seen {
		e.refused[what] = token
	}
	e.mu.Unlock()
	if token == "" || !seen || token == before {
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="http://%s/token",service="x",error="invalid_token"`, r.Host))
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	e.next.ServeHTTP(w, r)
}

func (e *expiring) issue(w http.ResponseWriter, r *http.Request) {
	_, p, _ := r.BasicAuth()
	if p != password && !strings.HasPrefix(r.PostFormValue("refresh_token"), password) {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.issued++
	fmt.Fprintf(w, `{"token":"t%d","refresh_token":"%s%d"}`, e.issued, password, e.issued)
}

// A token that expires during a pull or a push is renewed, even if requests are concurrent.
func TestTokensExpire(t *testing.T) {
	for kind, login := range logins {
		if kind == "token" {
			continue // A registry token cannot be renewed.
		}
		t.Run(kind, func(t *testing.T) {
			e := &expiring{next: remotetest.Embedded(t), refused: map[string]string{}}
			host := remotetest.Serve(t, e)
			c := fast(remote.Options{Keychain: keys{authn.FromConfig(login)}})
			u := e2e.Must(c.Uploader(t.Context(), repository(t, host, "gold/image")))(t)
			img := e2e.Must(random.Image(100, 6))(t)
			ref := repository(t, host, "gold/image").Tag("v1")
			if err := write(t.Context(), u, ref.TagStr(), img); err != nil {
				t.Fatal(c.Explain(ref, err))
			}
			if err := readImage(t.Context(), c, ref, img); err != nil {
				t.Error(c.Explain(ref, err))
			}
			if e.issued < 10 {
				t.Errorf("%d tokens were used", e.issued)
			}
		})
	}
}

// write uploads all blobs of an image concurrently, and then its manifest.
func write(ctx context.Context, u *remote.Uploader, tag string, img v1.Image) error {
	manifest, err := img.Manifest()
	if err != nil {
		return err
	}
	config, err := partial.ConfigLayer(img)
	if err != nil {
		return err
	}
	layers, err := img.Layers()
	if err != nil {
		return err
	}
	g, blobCtx := errgroup.WithContext(ctx)
	for i, l := range append(layers, config) {
		g.Go(func() error {
			_, err := u.Upload(blobCtx, remote.Blob{Descriptor: append(manifest.Layers, manifest.Config)[i], Open: l.Compressed}, remote.Found{})
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	raw, err := img.RawManifest()
	if err != nil {
		return err
	}
	return u.PutManifest(ctx, tag, manifest.MediaType, raw)
}

// readImage fetches the manifest at ref, and all blobs of the image concurrently.
func readImage(ctx context.Context, c *remote.Client, ref name.Tag, img v1.Image) error {
	if err := get(ctx, c, ref); err != nil {
		return err
	}
	repo, err := c.Repository(ctx, ref.Context())
	if err != nil {
		return err
	}
	manifest, err := img.Manifest()
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	for _, d := range append(manifest.Layers, manifest.Config) {
		g.Go(func() error {
			blob, err := oci.Verify(repo.Stream(ctx, d, 0), d.Digest, d.Size)
			if err != nil {
				return err
			}
			_, err = io.Copy(io.Discard, blob)
			return errors.Join(err, blob.Close())
		})
	}
	return g.Wait()
}

// get fetches the manifest at ref.
func get(ctx context.Context, c *remote.Client, ref name.Reference) error {
	repo, err := c.Repository(ctx, ref.Context())
	if err == nil {
		_, err = repo.Manifest(ctx, ref.Identifier())
	}
	return err
}

// The error for the answer of a token server that has no token names this server.
func TestTokenAnswers(t *testing.T) {
	cases := map[string]struct {
		reason, answer string
		endless        bool
		err            string
	}{
		"Endless": {"the size of a response is limited", strings.Repeat("a", 1<<10), true, "sent more than 64 KiB"},
		"List":    {"a JSON list is not a token", "[]", false, "sent no token"},
		"Number":  {"a token must be a string", `{"token":3}`, false, "sent no token"},
		"None":    {"a response without a token is an error", "{}", false, "sent no token"},
		"Page":    {"a web page is not a token", "<html>", false, "sent no token"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tokens := remotetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				for _, err := io.WriteString(w, tc.answer); tc.endless && err == nil; {
					_, err = io.WriteString(w, tc.answer)
				}
			}))
			host := remotetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="http://localhost:%s/token",service="x"`, tokens[strings.LastIndex(tokens, ":")+1:]))
				w.WriteHeader(http.StatusUnauthorized)
			}))
			c, ref := fast(remote.Options{}), repository(t, host, "gold/image").Tag("v1")
			err := c.Explain(ref, get(t.Context(), c, ref))
			e2e.ErrorHas(t, tc.reason, err, `the token server "localhost:`)
			e2e.ErrorHas(t, tc.reason, err, tc.err)
		})
	}
}
