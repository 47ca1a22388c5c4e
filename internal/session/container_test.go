package session_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/runtimes"
	"github.com/xfn-dev/xfn/internal/session"
)

// prober is a Runtime that is available only if err is nil. It counts the calls of Probe.
type prober struct {
	shelf
	err   error
	asked int
}

func (p *prober) Probe(context.Context) error {
	p.asked++
	return p.err
}

// TestContainerChoice: an image runs in a sandbox, or in a Docker engine if
// sandboxes are not available.
func TestContainerChoice(t *testing.T) {
	forbidden, absent := errors.New("user namespaces are forbidden"), errors.New("no engine is here")
	const stranger = "ghcr.io/acme/f:v1"
	cases := map[string]struct {
		reason, pkg         string
		sandbox, docker     *prober
		config              session.Config
		want, note, wantErr string
		askedDocker         int
	}{
		"Sandbox":       {"a sandbox is preferred, and the engine is not probed", stranger, &prober{}, &prober{}, session.Config{}, "Sandbox", "", "", 0},
		"Forbidden":     {"an engine replaces a forbidden sandbox, with a note", stranger, &prober{err: forbidden}, &prober{}, session.Config{}, "Docker", "functions run in Docker, because sandboxes are not available: user namespaces are forbidden", "", 1},
		"ForbiddenFile": {"an engine runs a package file if sandboxes are forbidden", "./f.xpkg", &prober{err: forbidden}, &prober{}, session.Config{}, "Docker", "functions run in Docker", "", 1},
		"Neither":       {"without an engine, the error of the sandbox is returned", stranger, &prober{err: forbidden}, &prober{err: absent}, session.Config{}, "Sandbox", "", "", 1},
		"Elsewhere":     {"a system without sandboxes uses the engine", stranger, nil, &prober{}, session.Config{}, "Docker", "", "", 1},
		"ElsewhereFile": {"a system without sandboxes runs a package file in the engine", "./f.xpkg", nil, &prober{}, session.Config{}, "Docker", "", "", 1},
		"Nothing":       {"an image without any runtime is an error with a hint", stranger, nil, &prober{err: absent}, session.Config{}, "", "", `no available runtime can run package "ghcr.io/acme/f:v1": no engine is here`, 1},
		"NothingFile":   {"a package file without a container runtime runs as a process", "./f.xpkg", nil, &prober{err: absent}, session.Config{}, "Process", "", "", 1},
		"Forced":        {"an engine that the user selects is not probed", stranger, &prober{}, &prober{}, session.Config{Runtime: session.Docker}, "Docker", "", "", 0},
		"Package":       {"a given package is a path for an engine, too", stranger, &prober{}, &prober{}, session.Config{Runtime: session.Docker, Packages: map[string]string{"f": "layout"}}, "Docker ./layout", "", "", 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var messages log
			tc.config.Progress = messages.record
			tc.config.Runtimes = map[session.Runtime]runtimes.Runtime{session.Docker: tc.docker, session.Process: &shelf{}}
			if tc.sandbox != nil {
				tc.config.Runtimes[session.Sandbox] = tc.sandbox
			}
			s := open(t, tc.config, map[string]string{
				"layout/oci-layout": "", "composition.yaml": steps("f", "g"), "functions.yaml": fn("f", tc.pkg, "") + fn("g", tc.pkg, ""),
			})
			r, err := renderOne(t.Context(), s, inputs)
			e2e.NoError(t, s.Close(t.Context()))
			e2e.Equal(t, tc.reason, tc.askedDocker, tc.docker.asked)
			if tc.wantErr != "" {
				if err == nil || !strings.HasSuffix(err.Error(), tc.wantErr) || !strings.Contains(string(hint.Of(err)), "{package} f=PATH") {
					t.Errorf("%s: got %v, hint %q", tc.reason, err, hint.Of(err))
				}
				return
			}
			e2e.NoError(t, err)
			e2e.Has(t, tc.reason, string(r.Functions[0].Runtime)+" "+r.Functions[0].Package, tc.want)
			if notes := strings.Join(messages.lines, "\n"); tc.note != "" && strings.Count(notes, tc.note) != 1 || tc.note == "" && strings.Contains(notes, "by Docker") {
				t.Errorf("%s: got notes %q", tc.reason, notes)
			}
		})
	}
}

// unpulled is a Runtime that cannot fetch a package.
type unpulled struct {
	shelf
	err error
}

func (u *unpulled) Prepare(context.Context, ...runtimes.Function) error { return u.err }

// TestPullHint checks which errors suggest to run a function from source.
func TestPullHint(t *testing.T) {
	ref := name.MustParseReference("ghcr.io/acme/f:v1")
	explained := func(err error) error { return remote.New(remote.Options{}).Explain(ref, err) }
	const source = "run your own function from source with {package} NAME=DIRECTORY"
	cases := map[string]struct {
		reason string
		err    error
		want   string
	}{
		"Registry": {"an error of a registry keeps its own hint", explained(&net.DNSError{Name: "ghcr.io", IsNotFound: true}), "check the spelling of the registry's name, the network and the proxy (HTTPS_PROXY); or use only images in the cache with {offline}; or " + source},
		"Offline":  {"an image that is not in the cache has the hint", &image.MissingError{Images: []image.Missing{{}}}, source},
		"Canceled": {"an interrupted pull has no hint", explained(context.Canceled), ""},
		"Other":    {"another error of a runtime has no hint", errors.New("no space left on device"), ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := open(t, session.Config{Runtimes: map[session.Runtime]runtimes.Runtime{session.Sandbox: &unpulled{err: tc.err}}}, map[string]string{
				"composition.yaml": steps("f"), "functions.yaml": fn("f", ref.Name(), ""),
			})
			if _, err := renderOne(t.Context(), s, inputs); !errors.Is(err, tc.err) || string(hint.Of(err)) != tc.want {
				t.Errorf("%s: got %v, hint %q, want %q", tc.reason, err, hint.Of(err), tc.want)
			}
		})
	}
}
