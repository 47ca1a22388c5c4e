package function_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/cmd/xfn/function"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/manifest"
)

func read(t *testing.T, text string) error {
	t.Helper()
	files := afero.NewMemMapFs()
	e2e.NoError(t, afero.WriteFile(files, "r.yaml", []byte(text), 0o600))
	_, err := function.ReadRequest(t.Context(), manifest.Reader{FS: files}, "r.yaml")
	return err
}

func TestReadRequest(t *testing.T) {
	cases := map[string]struct{ reason, text, want string }{
		"Empty":    {"all fields are optional", "{}", ""},
		"JSON":     {"JSON is YAML", `{"meta": {"tag": "a"}, "observed": {"composite": {"resource": {"a": [null, 1e3]}}}}`, ""},
		"Pairs":    {"JSON has two escapes for one character beyond the first plane", `{"meta": {"tag": "\ud83d\ude00"}}`, ""},
		"JSONBad":  {"an error in JSON has a line", "{\n\"meta\": {\n\"tog\": 1}}", `r.yaml:3: meta.tog: unknown field "tog"`},
		"JSONSame": {"a duplicate key in JSON is an error", `{"context": {"a": 1, "a": 2}}`, "r.yaml:1: "},
		"Old":      {"both spellings of protobuf's JSON are accepted", "required_resources: {a: {}}\nextraResources: {b: {}}", ""},
		"Unknown":  {"an unknown field is an error", "meta:\n  tag: a\n  tog: b", `r.yaml:3: meta.tog: unknown field "tog"`},
		"Top":      {"an unknown field at the top is an error", "\n# x\nmete: {}", `r.yaml:3: mete: unknown field "mete"`},
		"Case":     {"names of fields are case-sensitive", "Meta: {}", `r.yaml:1: Meta: unknown field "Meta"`},
		"Type":     {"a value must have the type of its field", "meta:\n  tag: [a]", `r.yaml:2: meta.tag: invalid value for string field tag: [`},
		"List":     {"an error in a list names the element", "requiredResources:\n  a:\n    items:\n    - {}\n    - resource: {}\n      redy: 1", `r.yaml:6: requiredResources.a.items[1].redy: unknown field "redy"`},
		"Dots":     {"an error names a key with dots", "observed:\n  resources:\n    a.b/c:\n      redy: 1", `r.yaml:4: observed.resources.a.b/c.redy: unknown field "redy"`},
		"Wide":     {"characters of several bytes before an error do not move its position", "context: {a: ééééééé, b: 日本}\nmeta:\n  tog: 1", `r.yaml:3: meta.tog: unknown field "tog"`},
		"Bytes":    {"connection details are in base64", "observed:\n  composite:\n    connectionDetails:\n      a: ä", `r.yaml:4: observed.composite.connectionDetails.a: invalid value for bytes field value: "ä"`},
		"Same":     {"two spellings of one field are a duplicate", "requiredResources: {}\nrequired_resources: {}", `r.yaml:2: required_resources: duplicate field "required_resources"`},
		"Kind":     {"an object of Kubernetes is not a request", "# x\napiVersion: example.org/v1\nkind: App\nspec: {}", "r.yaml:2: expected a RunFunctionRequest, got App of example.org/v1"},
		"NoObject": {"a request is an object", "- meta: {}", "r.yaml:1: unexpected token ["},
		"NotYAML":  {"invalid YAML is an error", "meta: [", "r.yaml:1: "},
		"Twice":    {"a duplicate key is an error", "meta: {}\nmeta: {}", "r.yaml:2: "},
		"Several":  {"a file has one request", "{}\n---\n{}", "r.yaml: it contains several documents, expected one request"},
		"Nothing":  {"a file without a request is an error", "# nothing", "r.yaml: there is no YAML document"},
		"Deep":     {"the depth is limited", "context: " + strings.Repeat(`{"a": `, 10_001) + "1" + strings.Repeat("}", 10_001), "r.yaml:1: "},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := read(t, tc.text)
			if tc.want == "" && err != nil {
				t.Errorf("%s: %v", tc.reason, err)
			}
			if tc.want != "" && (err == nil || !strings.HasPrefix(err.Error(), tc.want)) {
				t.Errorf("%s: got %v, want %s", tc.reason, err, tc.want)
			}
		})
	}
}

// breaks are the line breaks of YAML 1.1.
var breaks = regexp.MustCompile("[\n\r\u0085\u2028\u2029]")

// FuzzReadRequest checks that each error has a position in the file.
func FuzzReadRequest(f *testing.F) {
	for _, text := range []string{"{}", "meta:\n  tog: b", `{"context": [1, {"a": "é"}]}`, "a: &a [*a]", "desired: {resources: {a: {ready: [}}}"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		err := read(t, text)
		var fault *manifest.Error
		if err == nil {
			return
		}
		// An error at the end of the text has the number of the line after the last one.
		lines := 2 + len(breaks.FindAllString(text, -1))
		if !errors.As(err, &fault) || fault.Path != "r.yaml" || fault.Line > lines || fault.Err.Error() == "" {
			t.Errorf("got %v of %q", err, text)
		}
	})
}
