package flags_test

import (
	"testing"

	"github.com/alecthomas/kong"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/internal/e2e"
)

// TestContextValues compares pairs in one value with what crossplane v2.5.0 made of them. It refuses
// the values of the last three rows.
func TestContextValues(t *testing.T) {
	for _, tc := range []struct {
		reason, value string
		want          map[string]string
	}{
		{"a semicolon separates pairs", "k=1;j=2", map[string]string{"k": "1", "j": "2"}},
		{"a value may have further equals signs", "k=a;b=c=d", map[string]string{"k": "a", "b": "c=d"}},
		{"a backslash before a semicolon keeps it", `k=a\;b`, map[string]string{"k": "a;b"}},
		{"a semicolon at the end separates nothing", "k=1;", map[string]string{"k": "1"}},
		{"a comma is a part of the value", "k=1,j=2", map[string]string{"k": "1,j=2"}},
		{"a text without an equals sign is not a pair", `k={"a":"x;y"}`, map[string]string{"k": `{"a":"x;y"}`}},
		{"a quoted text may have semicolons", `k="Server=a;Database=b"`, map[string]string{"k": `"Server=a;Database=b"`}},
		{"a quoted text may end in a semicolon", `k="a;"`, map[string]string{"k": `"a;"`}},
	} {
		var f flags.Requirements
		_, err := e2e.Must(kong.New(&f))(t).Parse([]string{"--context-values", tc.value})
		e2e.NoError(t, err)
		e2e.Equal(t, tc.reason, tc.want, map[string]string(f.ContextValues))
	}
}
