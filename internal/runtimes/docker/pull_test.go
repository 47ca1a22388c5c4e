package docker_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	ggcr "github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/remote/dockerengine/dockerenginetest"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/internal/runtimes"
	"github.com/xfn-dev/xfn/internal/runtimes/docker"
)

// pushed pushes the image of a function to a registry, and returns the image's name
// there. The engine removes the image at the end of the test.
func (p place) pushed(t *testing.T, host string, as authn.Authenticator) string {
	t.Helper()
	ref := e2e.Must(name.NewTag(host + "/acme/f:v1"))(t)
	e2e.NoError(t, ggcr.Write(ref, dockerenginetest.Function(t, functiontest.Serves, nil), ggcr.WithAuth(as)))
	dockerenginetest.Forget(t, p.engine, ref.Name())
	return ref.Name()
}

func TestPullPolicy(t *testing.T) {
	p := open(t)
	requests := remotetest.Record(remotetest.Handler())
	host := remotetest.Serve(t, requests)
	image := p.pushed(t, host, authn.Anonymous)
	run := func(d *docker.Docker, f runtimes.Function) error {
		if err := d.Prepare(t.Context(), f); err != nil {
			return err
		}
		instance, err := d.Start(t.Context(), f)
		if err == nil {
			assertAnswers(t, instance)
			end(t, instance)
		}
		return err
	}
	offline := p.config()
	offline.Offline = true
	for _, tc := range []struct {
		reason  string
		docker  *docker.Docker
		policy  string
		asks    bool
		wantErr string
	}{
		{"the policy Never does not pull a missing image", p.render(), "Never", false, `the engine does not have image "` + image + `", and pulling is not permitted`},
		{"offline, Always does not pull a missing image", docker.New(offline), "Always", false, `the engine does not have image "` + image + `", and pulling is not permitted`},
		{"IfNotPresent pulls a missing image", p.render(), "IfNotPresent", true, ""},
		{"IfNotPresent uses an existing image", p.render(), "IfNotPresent", false, ""},
		{"Never uses an existing image", p.render(), "Never", false, ""},
		{"offline, Always uses an existing image", docker.New(offline), "Always", false, ""},
		{"Always pulls an existing image once for each render", p.render(), "Always", true, ""},
	} {
		requests.Clear()
		err := run(tc.docker, fn(image, "pull-policy", tc.policy))
		if tc.wantErr == "" && err != nil || tc.wantErr != "" && (err == nil || !strings.Contains(err.Error(), tc.wantErr)) {
			t.Errorf("%s: got %v, want %q", tc.reason, err, tc.wantErr)
		}
		if n := len(requests.Find("^(GET|HEAD) .*/manifests/")); n > 0 != tc.asks {
			t.Errorf("%s: the registry got %d requests", tc.reason, n)
		}
	}
	e2e.Equal(t, "the number of pulls", 2, len(p.steps("pulling "+image)))
	missing := host + "/acme/nothing:v1"
	gone := fn(missing)
	gone.PackagePosition = "functions.yaml:5"
	e2e.ErrorHas(t, "the error of a pull has the position of the function", run(p.render(), gone), `starting function "f": functions.yaml:5: pulling image "`+missing+`": `)
}

// TestPullUnqualified checks image names without a registry: images that the engine has,
// and pulls from the configured default registry.
func TestPullUnqualified(t *testing.T) {
	p := open(t)
	host := remotetest.Serve(t, remotetest.Handler())
	p.pushed(t, host, authn.Anonymous)
	config := p.config()
	config.Registry = host
	instance := start(t, docker.New(config), fn("acme/f:v1"))
	if !strings.HasPrefix(instance.Detail, host+"/acme/f:v1 in container ") {
		t.Errorf("got %q", instance.Detail)
	}
	end(t, instance)

	dockerenginetest.Load(t, p.engine, "xfn-test-runtime", dockerenginetest.Function(t, functiontest.Serves, nil))
	instance = start(t, docker.New(config), fn("example.org/other:v1", "image", "xfn-test-runtime"))
	assertAnswers(t, instance)
	end(t, instance)
}

// TestPullRewritten checks that the engine pulls an image from a mirror.
func TestPullRewritten(t *testing.T) {
	p := open(t)
	host := remotetest.Serve(t, remotetest.Handler())
	p.pushed(t, host, authn.Anonymous)
	config := p.config()
	config.Rewrite = func(s string) string { return strings.Replace(s, "registry.example.org/", host+"/", 1) }
	instance := start(t, docker.New(config), fn("registry.example.org/acme/f:v1"))
	if !strings.HasPrefix(instance.Detail, host+"/acme/f:v1 in container ") {
		t.Errorf("got %q", instance.Detail)
	}
	end(t, instance)
}

// TestPullPinned checks that a pinned image runs by digest, whatever the pull policy is.
// The engine pulls a missing digest; an existing digest needs no request. If Pin fails,
// the function does not start.
func TestPullPinned(t *testing.T) {
	p := open(t)
	requests := remotetest.Record(remotetest.Handler())
	host := remotetest.Serve(t, requests)
	image := p.pushed(t, host, authn.Anonymous)
	tag := e2e.Must(name.NewTag(image))(t)
	desc := e2e.Must(ggcr.Head(tag))(t)
	pinned := tag.Digest(desc.Digest.String())
	dockerenginetest.Forget(t, p.engine, pinned.Name())
	config := p.config()
	config.Registry = host
	config.Pin = func(ref name.Reference) (name.Reference, error) {
		if ref.Name() != image {
			return nil, errors.New("the lock has no such image")
		}
		return pinned, nil
	}
	for _, policy := range []string{"Always", "IfNotPresent", "Never"} {
		instance := start(t, docker.New(config), fn("acme/f:v1", "pull-policy", policy))
		assertAnswers(t, instance)
		if !strings.HasPrefix(instance.Detail, pinned.Name()+" in container ") {
			t.Errorf("got %q", instance.Detail)
		}
		end(t, instance)
	}
	requests.Clear()
	end(t, start(t, docker.New(config), fn(image, "pull-policy", "Always")))
	e2e.Equal(t, "requests for a digest that the engine has", 0, len(requests.Find("")))
	for _, other := range []runtimes.Function{fn(host + "/acme/f:v2"), fn(image, "image", host+"/acme/f:v2")} {
		e2e.Equal(t, "an image that is not in the lock does not start", `starting function "f": the lock has no such image`, fmt.Sprint(e2e.Err(docker.New(config).Start(t.Context(), other))))
	}
}

// TestPullPrivate checks pulls from a private registry, with and without credentials.
func TestPullPrivate(t *testing.T) {
	p := open(t)
	host := remotetest.Serve(t, remotetest.BasicAuth(remotetest.Handler(), "ada", "secret"))
	image := p.pushed(t, host, &authn.Basic{Username: "ada", Password: "secret"})
	_, err := p.render().Start(t.Context(), fn(image))
	e2e.ErrorHas(t, "a private image without credentials is an error", err, `pulling image "`+image+`": `)
	e2e.Equal(t, "the hint says how to log in to the registry", "if the image is private, log in with: docker login "+host, string(hint.Of(err)))
	for password, works := range map[string]bool{"wrong": false, "secret": true} {
		config := p.config()
		config.Remote = remote.New(remote.Options{Keychain: keys{host: authn.AuthConfig{Username: "ada", Password: password}}})
		instance, err := docker.New(config).Start(t.Context(), fn(image, "pull-policy", "Always"))
		if err == nil != works || err != nil && strings.Contains(err.Error(), password) {
			t.Errorf("with password %q: got %v", password, err)
		}
		if err == nil {
			end(t, instance)
		}
	}
}

// keys is a keychain: it maps the hosts of registries to credentials.
type keys map[string]authn.AuthConfig

func (k keys) Resolve(r authn.Resource) (authn.Authenticator, error) {
	return authn.FromConfig(k[r.RegistryStr()]), nil
}

// TestPullUnreachable checks that the hint for a registry that the engine cannot reach names the
// network of the engine.
func TestPullUnreachable(t *testing.T) {
	_, err := open(t).render().Start(t.Context(), fn("127.0.0.1:1/acme/f:v1"))
	if err == nil || !strings.HasPrefix(string(hint.Of(err)), "check the network and the proxy of the engine") {
		t.Errorf("got %v, hint %q", err, hint.Of(err))
	}
}

// TestPullKeychainFails checks that the runtime warns about unreadable credentials, and
// pulls public images without credentials.
func TestPullKeychainFails(t *testing.T) {
	p := open(t)
	image := p.pushed(t, remotetest.Serve(t, remotetest.Handler()), authn.Anonymous)
	config := p.config()
	config.Remote = remote.New(remote.Options{Keychain: noKeys{}})
	end(t, start(t, docker.New(config), fn(image)))
	if got := strings.Join(p.events.texts(progress.Warning), "\n"); !strings.HasPrefix(got, `pulling "`+image+`" without credentials: reading the credentials for registry`) {
		t.Errorf("got warnings %q", got)
	}
}

type noKeys struct{}

func (noKeys) Resolve(authn.Resource) (authn.Authenticator, error) { return nil, os.ErrPermission }

// TestPullReal checks pulls from a real registry.
func TestPullReal(t *testing.T) {
	host := remotetest.Registry(t)
	p := open(t)
	image := p.pushed(t, host, authn.Anonymous)
	instance := start(t, p.render(), fn(image, "pull-policy", "Always"))
	assertAnswers(t, instance)
	end(t, instance)
}

// TestPullOnce checks that an image is pulled once for several functions.
func TestPullOnce(t *testing.T) {
	p := open(t)
	image := p.pushed(t, remotetest.Serve(t, remotetest.Handler()), authn.Anonymous)
	var all []runtimes.Function
	for range 5 {
		all = append(all, fn(image, "pull-policy", "Always"))
	}
	e2e.NoError(t, p.render().Prepare(t.Context(), all...))
	e2e.Equal(t, "several functions pull their image once", []string{"pulling " + image}, p.events.texts(progress.Step))
	err := p.render().Prepare(t.Context(), fn("xfn.test/a:v1", "pull-policy", "Never"), fn("xfn.test/b:v1", "pull-policy", "Never"))
	e2e.ErrorHas(t, "the error names each missing image", err, `"xfn.test/a:v1"`, `"xfn.test/b:v1"`)
}
