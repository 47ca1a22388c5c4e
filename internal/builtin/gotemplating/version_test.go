package gotemplating_test

import (
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/builtin/gotemplating"
	"github.com/xfn-dev/xfn/internal/e2e"
)

// TestVersions checks which versions have the features of the main branch.
func TestVersions(t *testing.T) {
	const (
		input      = "{source: Inline, inline: {template: '# x'}, ttl: 5m}"
		connection = "{source: Inline, inline: {template: '# {{ getComposedConnectionDetails . \"a\" }}'}}"
		annotated  = "{source: Inline, inline: {template: '# x'}}\nobserved: {composite: {resource: {metadata: {annotations: {gotemplating.fn.crossplane.io/ttl: 7s}}}}}"
		noField    = `json: cannot unmarshal Go value of type v1beta1.GoTemplate: unknown name "ttl"`
		noFunction = `function "getComposedConnectionDetails" not defined`
	)
	cases := map[string]struct{ reason, version, input, ttl, fatal string }{
		"Default":           {"the default version is a release, which has no field ttl", "", input, "60s", noField},
		"Release":           {"the newest release has no field ttl", "v0.12.2", input, "60s", noField},
		"Older":             {"an older release has no field ttl", "v0.12.0", input, "60s", noField},
		"Candidate":         {"a release candidate of the next version has the field ttl", "v0.13.0-rc.1", input, "300s", ""},
		"Next":              {"the next release has the field ttl", "v0.13.0", input, "300s", ""},
		"Branch":            {"the main branch has the field ttl", "main", input, "300s", ""},
		"Other":             {"a tag that is not a version means the newest release", "latest", input, "60s", noField},
		"ReleaseFunction":   {"a release has no function getComposedConnectionDetails", "v0.12.2", connection, "60s", noFunction},
		"BranchFunction":    {"the main branch has the function getComposedConnectionDetails", "main", connection, "60s", ""},
		"ReleaseAnnotation": {"a release ignores the annotation for the time to live", "v0.12.2", annotated, "60s", ""},
		"Nested":            {"the error for a field of an object names the object's type", "v0.12.2", "{inline: {temlate: x}}", "60s", `json: cannot unmarshal Go value of type v1beta1.TemplateSourceInline: unknown name "temlate"`},
		"BranchNested":      {"the main branch names the same types", "main", "{delims: {start: x}}", "60s", `json: cannot unmarshal Go value of type v1beta1.Delims: unknown name "start"`},
		"BranchAnnotation":  {"the main branch reads the annotation for the time to live", "main", annotated, "7s", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := answer(t, gotemplating.Options{Version: tc.version}, "input: "+tc.input).(map[string]any)
			e2e.Equal(t, tc.reason, tc.ttl, got["meta"].(map[string]any)["ttl"])
			message := ""
			if results, ok := got["results"].([]any); ok {
				message = results[0].(map[string]any)["message"].(string)
			}
			if (message == "") != (tc.fatal == "") || !strings.HasSuffix(message, tc.fatal) {
				t.Errorf("%s: got the result %q, want %q", tc.reason, message, tc.fatal)
			}
		})
	}
}
