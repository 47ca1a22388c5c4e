package docker

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xfn-dev/xfn/internal/image"
)

func TestSettings(t *testing.T) {
	base := settings{policy: image.IfNotPresent, publish: netip.MustParseAddr("127.0.0.1")}
	with := func(change func(*settings)) settings {
		s := base
		change(&s)
		return s
	}
	cases := map[string]struct {
		reason, annotation, text string
		want                     settings
		wantErr                  string
	}{
		"None":           {"annotations of others are ignored", "example.org/other", "x", base, ""},
		"Remove":         {"a container may be removed", AnnotationCleanup, "Remove", with(func(s *settings) { s.cleanup = remove }), ""},
		"Stop":           {"a container may be stopped", AnnotationCleanup, "Stop", with(func(s *settings) { s.cleanup = stop }), ""},
		"Orphan":         {"a container may keep running", AnnotationCleanup, "Orphan", with(func(s *settings) { s.cleanup = orphan }), ""},
		"Cleanup":        {"the cleanup is one of three", AnnotationCleanup, "remove", base, `unknown cleanup "remove": expected Remove, Stop or Orphan`},
		"Policy":         {"the pull policy may be Always", AnnotationPullPolicy, "Always", with(func(s *settings) { s.policy = image.Always }), ""},
		"PolicyText":     {"the pull policy is one of three", AnnotationPullPolicy, "Sometimes", base, `unknown pull policy "Sometimes"`},
		"Image":          {"another image may replace the package", AnnotationImage, "mine", with(func(s *settings) { s.image = "mine" }), ""},
		"ImageEmpty":     {"an annotation must not be empty", AnnotationImage, "", base, "must not be empty"},
		"Name":           {"a container may have a name", AnnotationName, "fn", with(func(s *settings) { s.name = "fn" }), ""},
		"Env":            {"variables are separated by commas", AnnotationEnv, "A=b,C=d=e,F=", with(func(s *settings) { s.env = []string{"A=b", "C=d=e", "F="} }), ""},
		"EnvNoValue":     {"a variable needs a value", AnnotationEnv, "A=b,C", base, `expected KEY=value, got "C"`},
		"Publish":        {"the port may be published on all addresses", AnnotationPublishAddress, "0.0.0.0", with(func(s *settings) { s.publish = netip.IPv4Unspecified() }), ""},
		"PublishAddress": {"the publish address is an IP address, not a name", AnnotationPublishAddress, "localhost", base, `expected an IP address, got "localhost"`},
		"Target":         {"the target replaces the published host", AnnotationTarget, "docker", with(func(s *settings) { s.target = "docker" }), ""},
		"Network":        {"a network may be joined", AnnotationNetwork, "kind", with(func(s *settings) { s.network = "kind" }), ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := parseSettings(map[string]string{tc.annotation: tc.text})
			if tc.wantErr != "" {
				if err == nil || !strings.HasPrefix(err.Error(), "annotation "+tc.annotation+": ") || !strings.Contains(err.Error(), tc.wantErr) {
					t.Errorf("%s: got %v, want %s", tc.reason, err, tc.wantErr)
				}
				return
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(settings{}), cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); err != nil || diff != "" {
				t.Errorf("%s: %v (-want +got):\n%s", tc.reason, err, diff)
			}
		})
	}
}
