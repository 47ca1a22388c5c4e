package session_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/runtimes"
	"github.com/xfn-dev/xfn/internal/session"
)

// TestRenderIsCanceled checks that Render returns although a function, such as a builtin,
// does not check the context.
func TestRenderIsCanceled(t *testing.T) {
	why := errors.New("the process received a signal")
	ctx, cancel := context.WithCancelCause(t.Context())
	end := make(chan struct{})
	defer close(end)
	stuck := function.RunnerFunc(func(context.Context, string, *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		cancel(why)
		<-end
		return nil, errors.New("the render waited for the function")
	})
	s := open(t, session.Config{Functions: "f.yaml", Runners: function.Mux{"f": stuck}}, map[string]string{"c.yaml": steps("f"), "f.yaml": fn("f", "example.org/f:v1", "")})
	e2e.ErrorIs(t, "the error is the cause of the context", s.Render(ctx, session.Inputs{XRs: []string{"xr.yaml"}, Composition: "c.yaml"}, func(r session.Result) error { return r.Err }), why)
}

// TestDumpIsCanceled checks that Render returns while it reads a large dump of a cluster.
func TestDumpIsCanceled(t *testing.T) {
	why := errors.New("the process received a signal")
	ctx, cancel := context.WithCancelCause(t.Context())
	end := make(chan struct{})
	defer close(end)
	r := reader(t, map[string]string{"c.yaml": steps("f")})
	r.Documents = func(path string) ([]manifest.Document, bool) {
		if path != "dump.yaml" {
			return nil, false
		}
		cancel(why)
		<-end
		return nil, true
	}
	s := session.Open(session.Config{Reader: r})
	err := s.Render(ctx, session.Inputs{Live: true, Full: true, Compositions: []string{"c.yaml"}, Observed: []string{"dump.yaml"}}, func(r session.Result) error { return r.Err })
	e2e.ErrorIs(t, "the error is the cause of the context", err, why)
}

// TestTimeoutWithoutBuilds checks that the timeout of a render does not include the build of a
// function from source, which has a limit of its own.
func TestTimeoutWithoutBuilds(t *testing.T) {
	const timedOut, signal = "timed out", "the process received a signal"
	source := t.TempDir()
	e2e.WriteFile(t, filepath.Join(source, "go.mod"), "module f\n")
	cases := map[string]struct {
		reason, pkg         string
		build, start, until time.Duration
		want                string
		took                time.Duration
	}{
		"Source":  {"a build may take longer than the timeout", source, 9 * time.Minute, 30 * time.Second, time.Hour, "", 9*time.Minute + 30*time.Second},
		"Start":   {"the start after a build counts", source, 9 * time.Minute, 2 * time.Minute, time.Hour, timedOut, 10 * time.Minute},
		"Limit":   {"a build has a limit of its own", source, 11 * time.Minute, 0, time.Hour, "the build timed out after 10m0s", 10 * time.Minute},
		"Package": {"the start of a package counts", "./a.xpkg", 9 * time.Minute, 0, time.Hour, timedOut, time.Minute},
		"Signal":  {"a signal ends a build at once", source, 9 * time.Minute, 0, 2 * time.Minute, signal, 2 * time.Minute},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := reader(t, map[string]string{"xr.yaml": xr, "composition.yaml": steps("a"), "functions.yaml": fn("a", tc.pkg, "")})
			synctest.Test(t, func(t *testing.T) {
				rt := &gate{open: make(chan struct{}), entered: make(chan struct{}), answers: make(chan struct{})}
				s := session.Open(session.Config{Reader: files, Functions: "functions.yaml", Runtimes: map[session.Runtime]runtimes.Runtime{session.Process: rt}})
				outer, cancel := context.WithTimeoutCause(t.Context(), tc.until, errors.New(signal))
				defer cancel()
				ctx, cancel := proc.WithTimeout(outer, time.Minute, errors.New(timedOut))
				defer cancel()
				time.AfterFunc(tc.build, func() { close(rt.open) })
				time.AfterFunc(tc.build+tc.start, func() { close(rt.answers) })
				began := time.Now()
				e2e.WantError(t, tc.reason, e2e.Err(renderOne(ctx, s, inputs)), tc.want)
				e2e.Equal(t, tc.reason, tc.took, time.Since(began).Round(time.Second))
				e2e.NoError(t, s.Close(t.Context()))
			})
		})
	}
}
