package session_test

import (
	"context"
	"errors"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/manifest"
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
	s := session.Open(session.Config{
		Reader:    reader(t, map[string]string{"xr.yaml": xr, "c.yaml": steps("f"), "f.yaml": fn("f", "example.org/f:v1", "")}),
		Functions: "f.yaml", Runners: function.Mux{"f": stuck},
	})
	err := s.Render(ctx, session.Inputs{XRs: []string{"xr.yaml"}, Composition: "c.yaml"}, func(r session.Result) error { return r.Err })
	if !errors.Is(err, why) {
		t.Errorf("got error %v, want the cause of the context", err)
	}
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
	if !errors.Is(err, why) {
		t.Errorf("got error %v, want the cause of the context", err)
	}
}
