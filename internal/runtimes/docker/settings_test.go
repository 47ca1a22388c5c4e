package docker

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xfn-dev/xfn/internal/image"
)

func TestSettings(t *testing.T) {
	base := settings{cleanup: remove, policy: image.IfNotPresent, publish: netip.MustParseAddr("127.0.0.1")}
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
		"None":           {"no annotation is needed", "example.org/other", "x", base, ""},
		"Remove":         {"the default may be written", AnnotationCleanup, "Remove", with(func(s *settings) { s.explicit = true }), ""},
		"Stop":           {"a container may stay", AnnotationCleanup, "Stop", with(func(s *settings) { s.cleanup, s.explicit = stop, true }), ""},
		"Orphan":         {"and run on", AnnotationCleanup, "Orphan", with(func(s *settings) { s.cleanup, s.explicit = orphan, true }), ""},
		"Cleanup":        {"but nothing else", AnnotationCleanup, "remove", base, `unknown cleanup "remove": it is one of Remove, Stop and Orphan`},
		"Policy":         {"an image may always be asked for", AnnotationPullPolicy, "Always", with(func(s *settings) { s.policy = image.Always }), ""},
		"PolicyText":     {"by one of three words", AnnotationPullPolicy, "Sometimes", base, `unknown pull policy "Sometimes"`},
		"Image":          {"another image may run", AnnotationImage, "mine", with(func(s *settings) { s.image = "mine" }), ""},
		"ImageEmpty":     {"what is written has to say something", AnnotationImage, "", base, "it is empty"},
		"Name":           {"a container may have a name", AnnotationName, "fn", with(func(s *settings) { s.name = "fn" }), ""},
		"Env":            {"variables are separated by commas", AnnotationEnv, "A=b,C=d=e,F=", with(func(s *settings) { s.env = []string{"A=b", "C=d=e", "F="} }), ""},
		"EnvNoValue":     {"a pair without = is no variable", AnnotationEnv, "A=b,C", base, `expected KEY=value, got "C"`},
		"Publish":        {"others may reach the port", AnnotationPublishAddress, "0.0.0.0", with(func(s *settings) { s.publish = netip.IPv4Unspecified() }), ""},
		"PublishAddress": {"engines know addresses, not names", AnnotationPublishAddress, "localhost", base, `"localhost" is no IP address`},
		"Target":         {"the engine's machine may have another name here", AnnotationTarget, "docker", with(func(s *settings) { s.target = "docker" }), ""},
		"Network":        {"a network may be joined", AnnotationNetwork, "kind", with(func(s *settings) { s.network = "kind" }), ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := settingsOf(map[string]string{tc.annotation: tc.text})
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
