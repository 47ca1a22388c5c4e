package flags

import (
	"testing"

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
			if err := checkVerified(tc.runtime, annotations, own); (err != nil) != tc.wantErr {
				t.Errorf("%s: got error %v", tc.reason, err)
			}
		})
	}
}
