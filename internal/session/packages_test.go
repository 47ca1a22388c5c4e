package session_test

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/runtimes"
	"github.com/xfn-dev/xfn/internal/runtimes/docker"
	"github.com/xfn-dev/xfn/internal/session"
)

// described is a Runtime that has annotations, and whose packages have capabilities.
type described struct {
	shelf
	capabilities []string
}

func (d *described) Annotations() []string { return new(docker.Docker).Annotations() }

func (d *described) Start(ctx context.Context, fn runtimes.Function) (*runtimes.Instance, error) {
	instance, err := d.shelf.Start(ctx, fn)
	if err == nil {
		instance.Capabilities = d.capabilities
	}
	return instance, err
}

// renderDescribed renders twice with a function, and returns the warnings.
func renderDescribed(t *testing.T, d *described, functions string, strict bool) (_ []string, err error) {
	t.Helper()
	var messages log
	s := open(t, session.Config{Runtime: session.Docker, Runtimes: map[session.Runtime]runtimes.Runtime{session.Docker: d}, Progress: messages.record}, map[string]string{
		"composition.yaml": steps("f"), "functions.yaml": functions,
	})
	in := inputs
	in.Strict = strict
	for range 2 {
		_, err = renderOne(t.Context(), s, in)
	}
	return messages.warnings(), err
}

func TestCapabilities(t *testing.T) {
	const lacks = `function "f": spec.capabilities of its package has no "composition", so Crossplane refuses Compositions that call the function; it has ["operation"]`
	cases := map[string]struct {
		reason       string
		capabilities []string
		want         string
	}{
		"None":  {"a package without a list has the capability", nil, ""},
		"Named": {"capabilities are compared without case and signs", []string{"x", "Compo-sition"}, ""},
		"Lacks": {"a list without composition is reported", []string{"operation"}, lacks},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			warnings, err := renderDescribed(t, &described{capabilities: tc.capabilities}, fn("f", "example.org/f:v1", ""), false)
			e2e.NoError(t, err)
			e2e.Equal(t, tc.reason, tc.want, strings.Join(warnings, "\n"))
			err = e2e.Err(renderDescribed(t, &described{capabilities: tc.capabilities}, fn("f", "example.org/f:v1", ""), true))
			e2e.Equal(t, tc.reason+" (strict)", cmp.Or(tc.want, "<nil>"), fmt.Sprint(err))
		})
	}
}

func TestUnknownAnnotations(t *testing.T) {
	const prefix = "render.crossplane.io/"
	cases := map[string]struct {
		reason, annotations string
		want                []string
	}{
		"Runtime": {"a misspelled runtime is reported with the known name", prefix + "runtim: Docker", []string{`function "f": unknown annotation ` + prefix + "runtim, which has no effect, did you mean " + prefix + "runtime?"}},
		"Setting": {"a misspelled setting of a runtime is reported", prefix + "runtime-docker-clenup: Stop", []string{`function "f": unknown annotation ` + prefix + "runtime-docker-clenup, which has no effect, did you mean " + prefix + "runtime-docker-cleanup?"}},
		"Strange": {"an annotation like no other is reported alone", prefix + "x: z", []string{`function "f": unknown annotation ` + prefix + "x, which has no effect"}},
		"Known":   {"known and foreign annotations are accepted", prefix + "runtime-docker-cleanup: Stop, example.org/runtim: x", nil},
		"Other":   {"a runtime that this system lacks may have the annotation", prefix + "runtime-sandbox-network: Runner", nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			functions := strings.Replace(fn("f", "example.org/f:v1", "Docker"), prefix+"runtime: Docker", tc.annotations, 1)
			warnings := e2e.Must(renderDescribed(t, &described{}, functions, false))(t)
			e2e.Equal(t, tc.reason, tc.want, warnings)
		})
	}
}

// A render fails if the package of a function is refused. The refusal can depend on the runtime.
func TestVerifyRefused(t *testing.T) {
	t.Parallel()
	s := open(t, session.Config{
		Runtime: session.Docker, Runtimes: map[session.Runtime]runtimes.Runtime{session.Docker: &shelf{}}, Progress: new(log).record,
		Verify: func(_ context.Context, runtime session.Runtime, fn runtimes.Function) (string, error) {
			return "", fmt.Errorf("%s refuses %s", runtime, fn.Package)
		},
	}, map[string]string{"composition.yaml": steps("f"), "functions.yaml": fn("f", "example.org/f:v1", "")})
	e2e.ErrorHas(t, "a runtime can reject a package", e2e.Err(renderOne(t.Context(), s, inputs)), "Docker refuses example.org/f:v1")
}
