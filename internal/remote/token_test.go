package remote_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"
	ggcr "github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

// expiring is a registry with a token server, where a token has always just
// ended: what is asked for the first time is refused, and then only the same
// token is. Those of OAuth come with another identity token, as good as the
// first.
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

// A token that ends in the middle of a pull or a push is renewed, whoever else
// does the same.
func TestTokensExpire(t *testing.T) {
	for kind, login := range logins {
		if kind == "token" {
			continue // It cannot be renewed.
		}
		t.Run(kind, func(t *testing.T) {
			e := &expiring{next: remotetest.NewSessions(remotetest.Handler()), refused: map[string]string{}}
			host := remotetest.Serve(t, e)
			c := fast(remote.Options{Keychain: keys{authn.FromConfig(login)}})
			u, err := c.Uploader(t.Context(), repository(t, host, "gold/image"))
			if err != nil {
				t.Fatal(err)
			}
			img, err := random.Image(100, 6)
			if err != nil {
				t.Fatal(err)
			}
			write(t, u, img)
			ref := repository(t, host, "gold/image").Tag("v1")
			got, err := ggcr.Image(ref, c.Options(t.Context())...)
			if err != nil {
				t.Fatal(c.Explain(ref, err))
			}
			if err := validate.Image(got); err != nil {
				t.Error(c.Explain(ref, err))
			}
			if e.issued < 10 {
				t.Errorf("%d tokens were used", e.issued)
			}
		})
	}
}

// write writes an image, all its blobs at once.
func write(t *testing.T, u *remote.Uploader, img v1.Image) {
	t.Helper()
	manifest, err := img.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	config, err := img.RawConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	blobs := []remote.Blob{blobOf(t, config)}
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range layers {
		blobs = append(blobs, remote.Blob{Descriptor: manifest.Layers[i], Open: func() (io.ReadCloser, error) { return l.Compressed() }})
	}
	var wg sync.WaitGroup
	for _, b := range blobs {
		wg.Go(func() {
			if _, err := u.Upload(t.Context(), b, remote.Found{}); err != nil {
				t.Error(err)
			}
		})
	}
	e2e.Wait(t, &wg)
	raw, err := img.RawManifest()
	if err != nil {
		t.Fatal(err)
	}
	if err := u.PutManifest(t.Context(), "v1", manifest.MediaType, raw); err != nil {
		t.Error(err)
	}
}
