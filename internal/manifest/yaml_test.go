package manifest_test

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/manifest"
)

// FuzzJSONToYAML compares the output with the output of sigs.k8s.io/yaml.
func FuzzJSONToYAML(f *testing.F) {
	for _, s := range []string{
		"", "yes", "2001-01-01", "012", "1e3", "<<", "=", "~", "a: b # c", " x\n y\n", "\x00\t", "\x7f", "\u0085", "\u2028", "\ufeff",
		"\U0001f600", "é", "\xff", "&<>", strings.Repeat("long ", 40), strings.Repeat("x", 2000),
	} {
		f.Add(s, "10", 1.5, int64(1), uint64(1))
	}
	f.Add("a9", "a10", math.MaxFloat64, int64(math.MinInt64), uint64(math.MaxUint64))
	f.Add("a01", "a1", 1e21, int64(-1), uint64(0))
	f.Add("101", "11", 1e-7, int64(0), uint64(1<<63))
	f.Add("a-b", "a_b", math.Copysign(0, -1), int64(0), uint64(1<<53+1))
	f.Fuzz(func(t *testing.T, s, other string, number float64, signed int64, unsigned uint64) {
		// YAML readers do not accept keys of any length.
		key, other := s[:min(len(s), 500)], other[:min(len(other), 500)]
		obj := map[string]any{key: s, other: []any{s, number, signed, nil, true, map[string]any{}, []any{}, []any(nil), map[string]any(nil)}}
		direct := bytes.Buffer{}
		directErr := manifest.Write(&direct, obj)
		if in, err := json.Marshal(obj); err == nil {
			want, wantErr := yaml.JSONToYAML(in)
			if diff := cmp.Diff("---\n"+string(want), direct.String()); diff != "" || (directErr == nil) != (wantErr == nil) {
				t.Errorf("Write: got error %v, want %v; (-want +got):\n%s", directErr, wantErr, diff)
			}
		}
		in, err := json.Marshal(map[string]any{key: s, other: []any{s, number, signed, unsigned, nil, true, map[string]any{}}})
		if err != nil {
			t.Skip("JSON cannot encode the number")
		}
		want, wantErr := yaml.JSONToYAML(in)
		got, err := manifest.JSONToYAML(in)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("got error %v, want %v: %s", err, wantErr, in)
		}
		if err := manifest.CheckJSON(in); (err == nil) != (wantErr == nil) {
			t.Errorf("CheckJSON: got error %v, want %v: %s", err, wantErr, in)
		}
		e2e.Equal(t, "the YAML equals that of the library: "+string(in), string(want), string(got))
	})
}

// TestJSONToYAMLIsStable checks keys that sigs.k8s.io/yaml sorts randomly.
func TestJSONToYAMLIsStable(t *testing.T) {
	const in = `{"9":1,"10":1,"1e3":1,"a":2,"1a":1,"2":{"9":1,"10":1,"1a":1},"01":2,"é":1,"\u0085":1,"A":1}`
	want := e2e.Must(manifest.JSONToYAML([]byte(in)))(t)
	for range 100 {
		e2e.Equal(t, "the YAML is the same each time", string(want), string(e2e.Must(manifest.JSONToYAML([]byte(in)))(t)))
	}
}

func TestIsYAML(t *testing.T) {
	for reason, tc := range map[string]struct {
		path string
		want bool
	}{
		".yaml is an extension of YAML":                          {"apis/definition.yaml", true},
		".yml is an extension of YAML":                           {"xr.yml", true},
		"an extension in upper case is not an extension of YAML": {"xr.YAML", false},
		"JSON has its own extension":                             {"schema.json", false},
		"Only the last extension counts":                         {"xr.yaml.tmpl", false},
		"The extension of a directory does not count":            {"app.yaml/xr", false},
		"A name needs an extension":                              {"yaml", false},
	} {
		e2e.Equal(t, reason, tc.want, manifest.IsYAML(tc.path))
	}
}
