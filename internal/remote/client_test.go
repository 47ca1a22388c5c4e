package remote_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/random"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/remote/credentials"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

const (
	user     = "gold"
	password = "s3cret"
)

func fast(o remote.Options) *remote.Client {
	o.RetryWait = time.Millisecond
	return remote.New(o)
}

// push uploads a small image to the registry at host. It returns the image's
// reference, and the error as Client.Explain describes it.
func push(t *testing.T, c *remote.Client, host string) (name.Tag, error) {
	t.Helper()
	ref := e2e.Must(remote.ParseTag(host+"/gold/image:v1.0.0", ""))(t)
	img := e2e.Must(random.Image(1<<16, 2))(t)
	u, err := c.Uploader(t.Context(), ref.Context())
	if err == nil {
		err = write(t.Context(), u, ref.TagStr(), img)
	}
	return ref, c.Explain(ref, err)
}

func TestRetry(t *testing.T) {
	const manifest = "^PUT .*/manifests/"
	cases := map[string]struct {
		reason string
		n      int
		match  string
		fault  http.HandlerFunc
		err    string
		seen   int
	}{
		"GetTwice":       {"a request to an overloaded registry is sent up to three times", 2, "^GET ", remotetest.Status(503), "", 3},
		"GetAlways":      {"a request to an overloaded registry is sent at most three times", 99, "^GET ", remotetest.Status(503), "answered 503 Service Unavailable", 3},
		"TooMany":        {"status 429 is retried", 2, "^GET ", remotetest.Status(429), "", 3},
		"Timeout":        {"status 408 is retried", 2, "^GET ", remotetest.Status(408), "", 3},
		"Forbidden":      {"a refused request is not retried", 99, "^GET ", remotetest.Status(403), "denied access", 1},
		"GetReset":       {"a request is retried after a broken connection", 2, "^GET ", remotetest.Reset, "", 3},
		"GetResetAlways": {"a request is sent at most three times over broken connections", 99, "^GET ", remotetest.Reset, "registry", 3},
		"ManifestReset":  {"a manifest is sent again after an error", 2, manifest, remotetest.Reset, "", 3},
		"ManifestAlways": {"a manifest is sent at most three times", 99, manifest, remotetest.Status(500), "answered 500", 3},
		"ManifestBroken": {"a manifest is sent at most three times over broken connections", 99, manifest, remotetest.Reset, "registry", 3},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			requests := remotetest.Record(remotetest.Faults(remotetest.Handler(), tc.n, tc.match, tc.fault))
			_, err := push(t, fast(remote.Options{}), remotetest.Serve(t, requests))
			checkError(t, tc.reason, err, tc.err, "")
			e2e.Equal(t, tc.reason+": requests", tc.seen, len(requests.Find(tc.match)))
		})
	}
}

// A canceled context ends the pause before the second try of a request, which
// is an hour in this test.
func TestRetryIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	host := remotetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		cancel()
	}))
	c := remote.New(remote.Options{RetryWait: time.Hour})
	ref, err := remote.ParseTag(host+"/a:v1", "")
	e2e.NoError(t, err)
	err = get(ctx, c, ref)
	e2e.Equal(t, "canceling ends the pause before the next try", "context canceled", fmt.Sprint(c.Explain(ref, err)))
}

// A request fails at once, with the registry's error, if the registry asks for a pause
// that ends after the deadline.
func TestRetryAfterDeadline(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
	defer cancel()
	host := remotetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v2/" {
			w.Header().Set("Retry-After", "60")
			w.WriteHeader(http.StatusTooManyRequests)
		}
	}))
	c := remote.New(remote.Options{RetryWait: time.Millisecond, Sleep: func(context.Context, time.Duration) error {
		return errors.New("paused")
	}})
	ref := repository(t, host, "gold/image").Tag("v1")
	checkError(t, "the pause would outlast the deadline", c.Explain(ref, get(ctx, c, ref)), "answered 429", "")
}

// The credentials passed to Client.As replace the configured ones.
func TestAs(t *testing.T) {
	host := remotetest.Serve(t, remotetest.BasicAuth(remotetest.Handler(), user, password))
	own := fast(remote.Options{Keychain: keys{&authn.Basic{Username: user, Password: password}}})
	for _, tc := range []struct {
		reason string
		auth   authn.AuthConfig
		want   string
	}{
		{"user name and password are used", authn.AuthConfig{Username: user, Password: password}, ""},
		{"an encoded user name and password are used", authn.AuthConfig{Auth: base64.StdEncoding.EncodeToString([]byte(user + ":" + password))}, ""},
		{"wrong credentials are refused", authn.AuthConfig{Username: user, Password: "wrong"}, "refused the credentials"},
		{"without credentials the access is anonymous", authn.AuthConfig{}, "asks for credentials, and none are configured"},
	} {
		e2e.WantError(t, tc.reason, e2e.Err(push(t, own.As(tc.auth), host)), tc.want)
	}
	e2e.WantError(t, "the client keeps its own credentials", e2e.Err(push(t, own, host)), "")
}

// keys is a keychain that returns one Authenticator for every registry.
type keys struct{ authn.Authenticator }

func (k keys) Resolve(authn.Resource) (authn.Authenticator, error) { return k, nil }

func TestUserAgent(t *testing.T) {
	var mu sync.Mutex
	agents := map[string]bool{}
	inner := remotetest.Handler()
	host := remotetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		agents[strings.Fields(r.UserAgent())[0]] = true
		mu.Unlock()
		inner.ServeHTTP(w, r)
	}))
	e2e.Must(push(t, fast(remote.Options{UserAgent: "xfn/v0.1.0"}), host))(t)
	if len(agents) != 1 || !agents["xfn/v0.1.0"] {
		t.Errorf("got user agents %v, want xfn/v0.1.0 alone", agents)
	}
}

type auth map[string]string

// configured returns Options that find credentials only in a config.json of
// Docker, whose content is config.
func configured(t *testing.T, config any) remote.Options {
	t.Helper()
	dir := t.TempDir()
	b, ok := config.(json.RawMessage)
	if !ok {
		var err error
		if b, err = json.Marshal(config); err != nil {
			t.Fatal(err)
		}
	}
	e2e.NoError(t, os.WriteFile(filepath.Join(dir, "config.json"), b, 0o600))
	sources := credentials.Sources{Files: []string{filepath.Join(dir, "config.json")}, Home: dir}
	return remote.Options{Keychain: credentials.New(sources)}
}

func auths(host string, a auth) any {
	return map[string]any{"auths": map[string]auth{host: a}}
}

func TestCredentials(t *testing.T) {
	cases := map[string]struct {
		reason    string
		config    func(host string) any
		err, hint string
	}{
		"Right": {"credentials of the configuration are used", func(host string) any { return auths(host, auth{"username": user, "password": password}) }, "", ""},
		"Auth":  {"an encoded user name and password are used", func(host string) any { return auths(host, auth{"auth": "Z29sZDpzM2NyZXQ="}) }, "", ""},
		"Wrong": {
			"the error of refused credentials names their source", func(host string) any { return auths(host, auth{"username": user, "password": "hunter2"}) },
			`" refused the credentials of ~/config.json`, "log in with: docker login 127.0.0.1:",
		},
		"None": {
			"missing credentials have their own error", func(string) any { return map[string]any{} },
			"asks for credentials, and none are configured", "docker login 127.0.0.1:",
		},
		"NoHelper": {
			"the error names the missing credential helper", func(string) any { return map[string]string{"credsStore": "absent"} },
			`reading the credentials for registry "127.0.0.1:`, "remove its name from ~/config.json",
		},
		"Broken": {
			"the error names the invalid configuration", func(string) any { return json.RawMessage(`{"auths":`) },
			`reading "~/config.json", line 1: `, "repair the file",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			host := remotetest.Serve(t, remotetest.BasicAuth(remotetest.Handler(), user, password))
			_, err := push(t, fast(configured(t, tc.config(host))), host)
			checkError(t, tc.reason, err, tc.err, tc.hint)
			checkNoSecret(t, err)
		})
	}
}

// A missing permission and wrong credentials have different errors.
func TestForbidden(t *testing.T) {
	forbid := remotetest.Faults(remotetest.Handler(), 99, "^POST ", remotetest.Status(http.StatusForbidden))
	for want, login := range map[string]auth{
		" denied access with the credentials of ~/config.json": {"username": user, "password": password},
		" denied access without credentials":                   nil,
	} {
		host := remotetest.Serve(t, forbid)
		_, err := push(t, fast(configured(t, auths(host, login))), host)
		checkError(t, "the error names the credentials:"+want, err, want, "use an account that has the permission; log in with: docker login 127.0.0.1:")
	}
}

func checkNoSecret(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	for _, secret := range []string{password, "hunter2", "Z29sZDpzM2NyZXQ"} {
		if strings.Contains(err.Error(), secret) || strings.Contains(string(hint.Of(err)), secret) {
			t.Errorf("the error contains a credential: %v (hint: %s)", err, hint.Of(err))
		}
	}
}
