package flags

import (
	"testing"

	"github.com/xfn-dev/xfn/internal/runtimes/docker"
	"github.com/xfn-dev/xfn/internal/runtimes/sandbox"
)

func TestCheckVerified(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason, key, value string
		own, wantErr       bool
	}{
		"Image":    {"another image is refused even if the caller sets it", docker.AnnotationImage, "x", true, true},
		"Env":      {"variables of the functions file are refused", sandbox.AnnotationEnv, "A=b", false, true},
		"OwnEnv":   {"the caller may set variables", sandbox.AnnotationEnv, "A=b", true, false},
		"Docker":   {"variables for a container are refused", docker.AnnotationEnv, "A=b", false, true},
		"Network":  {"the network of this machine is refused", sandbox.AnnotationNetwork, "Runner", false, true},
		"Isolated": {"the default network is accepted", sandbox.AnnotationNetwork, "Isolated", false, false},
		"Joined":   {"a network of the engine is refused", docker.AnnotationNetwork, "host", false, true},
		"Memory":   {"a limit is accepted", sandbox.AnnotationMemory, "128Mi", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			annotations, own := map[string]string{tc.key: tc.value}, map[string]string{}
			if tc.own {
				own = annotations
			}
			if err := checkVerified(annotations, own); (err != nil) != tc.wantErr {
				t.Errorf("%s: got error %v", tc.reason, err)
			}
		})
	}
}
