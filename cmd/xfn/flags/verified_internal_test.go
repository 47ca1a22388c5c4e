package flags

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/runtimes/docker"
	"github.com/xfn-dev/xfn/internal/runtimes/sandbox"
	"github.com/xfn-dev/xfn/internal/session"
)

func TestCheckVerified(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason, key, value string
		own, wantErr       bool
		runtime            session.Runtime
	}{
		"Image":      {"another image is refused even if the caller sets it", docker.AnnotationImage, "x", true, true, session.Docker},
		"Env":        {"variables of the functions file are refused", sandbox.AnnotationEnv, "A=b", false, true, session.Sandbox},
		"OwnEnv":     {"the caller may set variables", sandbox.AnnotationEnv, "A=b", true, false, session.Sandbox},
		"Docker":     {"variables for a container are refused", docker.AnnotationEnv, "A=b", false, true, session.Docker},
		"Network":    {"the network of this machine is refused", sandbox.AnnotationNetwork, "Runner", false, true, session.Sandbox},
		"Isolated":   {"the default network is accepted", sandbox.AnnotationNetwork, "Isolated", false, false, session.Sandbox},
		"Joined":     {"a network of the engine is refused", docker.AnnotationNetwork, "host", false, true, session.Docker},
		"Confined":   {"a process reads the annotations of sandboxes", sandbox.AnnotationNetwork, "Runner", false, true, session.Process},
		"OtherImage": {"a sandbox does not read annotations of Docker", docker.AnnotationImage, "x", false, false, session.Sandbox},
		"OtherEnv":   {"a container does not read annotations of sandboxes", sandbox.AnnotationEnv, "A=b", false, false, session.Docker},
		"Memory":     {"a limit is accepted", sandbox.AnnotationMemory, "128Mi", false, false, session.Sandbox},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			annotations, own := map[string]string{tc.key: tc.value}, map[string]string{}
			if tc.own {
				own = annotations
			}
			e2e.Equal(t, tc.reason, tc.wantErr, checkVerified(tc.runtime, annotations, own) != nil)
		})
	}
}

// A package is verified once, whether it is accepted or refused. It is verified again if its
// verification was canceled.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	var known verdicts
	for _, refusal := range []error{errors.New("refused"), nil} {
		calls, pkg := 0, fmt.Sprintf("example.org/f:%v", refusal)
		for i, ctx := range []context.Context{canceled, t.Context(), t.Context()} {
			reference, err := known.of(ctx, pkg, func() (string, error) {
				if calls++; ctx.Err() != nil {
					return "", ctx.Err()
				}
				return "example.org/f@sha256:1", refusal
			})
			if want := cmp.Or(ctx.Err(), refusal); !errors.Is(err, want) || want == nil && reference != "example.org/f@sha256:1" {
				t.Errorf("call %d for %s: got %q and error %v, want %v", i, pkg, reference, err, want)
			}
		}
		e2e.Equal(t, "the calls for "+pkg, 2, calls)
	}
}
