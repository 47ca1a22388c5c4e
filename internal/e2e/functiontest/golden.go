package functiontest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/e2e"
)

// Golden compares a function with the recorded responses of a real one. Each folder in
// dir is a case: request.yaml, response.json, and about.txt with its reason. For cases
// that dir's LOOSE.txt names, Golden compares only the beginning of messages, because the
// end is the wording of one version of a library. Messages about unknown fields are compared
// to the end, but real functions say "cannot" or "unable to" at random. Golden does not run
// the cases in except.
func Golden(t *testing.T, dir string, r function.Runner, except ...string) {
	t.Helper()
	loose := looseCases(t, dir)
	cases := e2e.Must(os.ReadDir(dir))(t)
	n := 0
	for _, c := range cases {
		if !c.IsDir() || slices.Contains(except, c.Name()) {
			continue
		}
		n++
		t.Run(c.Name(), func(t *testing.T) {
			goldenCase(t, filepath.Join(dir, c.Name()), loose[c.Name()], r)
		})
	}
	if n == 0 {
		t.Fatal("there are no cases")
	}
}

func goldenCase(t *testing.T, dir, loose string, r function.Runner) {
	req := Request(t, filepath.Join(dir, "request.yaml"))
	before := proto.CloneOf(req)
	rsp := e2e.Must(r.RunFunction(t.Context(), "function-golden", req))(t)
	if !proto.Equal(before, req) {
		t.Error("the request was changed")
	}
	answer := e2e.Must(protojson.Marshal(rsp))(t)
	want, got := decode(t, []byte(e2e.ReadFile(t, dir, "response.json"))), decode(t, answer)
	loosen(want, loose)
	loosen(got, loose)
	e2e.Equal(t, e2e.ReadFile(t, dir, "about.txt"), want, got)
}

// Request reads a request from a file, in YAML of its JSON form.
func Request(t *testing.T, path string) *fnv1.RunFunctionRequest {
	t.Helper()
	return e2e.Must(ParseRequest([]byte(e2e.ReadFile(t, path))))(t)
}

// ParseRequest returns a request in YAML of its JSON form.
func ParseRequest(text []byte) (*fnv1.RunFunctionRequest, error) {
	j, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, err
	}
	req := &fnv1.RunFunctionRequest{}
	return req, protojson.Unmarshal(j, req)
}

// Fatal returns the message of the first fatal result in a response, or "".
func Fatal(rsp *fnv1.RunFunctionResponse) string {
	for _, r := range rsp.GetResults() {
		if r.GetSeverity() == fnv1.Severity_SEVERITY_FATAL {
			return r.GetMessage()
		}
	}
	return ""
}

// looseCases reads LOOSE.txt: lines of a case name, a tab and the reason.
func looseCases(t *testing.T, dir string) map[string]string {
	loose := map[string]string{}
	for line := range strings.Lines(e2e.ReadFile(t, dir, "LOOSE.txt")) {
		if name, reason, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			loose[name] = reason
		}
	}
	return loose
}

// loosen removes the parts of messages of results and conditions in rsp that Golden does not
// compare. reason is from LOOSE.txt.
func loosen(rsp any, reason string) {
	for _, field := range []string{"results", "conditions"} {
		list, _ := rsp.(map[string]any)[field].([]any)
		for _, element := range list {
			m := element.(map[string]any)
			if text, ok := m["message"].(string); ok {
				m["message"] = counting(text, reason)
			}
		}
	}
}

func counting(text, reason string) string {
	end := ""
	switch {
	case reason == "raw-json-spacing":
		return strings.ReplaceAll(text, " ", "")
	case reason == "proto-text":
		end = "proto:"
	case strings.Contains(text, ": unknown name "):
		return strings.Replace(text, "json: unable to ", "json: cannot ", 1)
	case reason == "decoder-text", strings.HasPrefix(reason, "strict JSON decoder"):
		end = "json:"
	default:
		_, after, _ := strings.Cut(reason, ` after "`)
		end = strings.TrimSuffix(after, `"`)
	}
	if end == "" {
		return text
	}
	before, _, _ := strings.Cut(text, end)
	return before + end
}

func decode(t *testing.T, b []byte) any {
	t.Helper()
	var v any
	e2e.NoError(t, json.Unmarshal(b, &v))
	return v
}

// LinkedFolder returns a copy of dir in which the files links are replaced by symbolic
// links. Each of these files contains the target of its link.
func LinkedFolder(t *testing.T, dir string, links ...string) string {
	t.Helper()
	linked := t.TempDir()
	e2e.NoError(t, os.CopyFS(linked, os.DirFS(dir)))
	for _, link := range links {
		path := filepath.Join(linked, link)
		target := e2e.ReadFile(t, path)
		e2e.NoError(t, os.Remove(path))
		e2e.NoError(t, os.Symlink(target, path))
	}
	return linked
}
