package dummy_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/internal/builtin/dummy"
)

const goldenDir = "../../../testdata/golden/dummy"

// TestGolden compares answers with those of the real function. Of the messages
// that LOOSE.txt names only the beginning counts, since the rest is the
// wording of one version of a library.
func TestGolden(t *testing.T) {
	loose := looseCases(t)
	cases, err := os.ReadDir(goldenDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		if !c.IsDir() {
			continue
		}
		t.Run(c.Name(), func(t *testing.T) {
			dir := filepath.Join(goldenDir, c.Name())
			req := request(t, filepath.Join(dir, "request.yaml"))
			before := proto.CloneOf(req)
			rsp, err := dummy.Runner(t.Context(), "function-dummy", req)
			if err != nil {
				t.Fatal(err)
			}
			if !proto.Equal(before, req) {
				t.Error("the request was changed")
			}
			want := value(t, read(t, filepath.Join(dir, "response.json")))
			b, err := protojson.Marshal(rsp)
			if err != nil {
				t.Fatal(err)
			}
			got := value(t, b)
			if kind := loose[c.Name()]; kind != "" {
				shorten(t, want, kind)
				shorten(t, got, kind)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", read(t, filepath.Join(dir, "about.txt")), diff)
			}
		})
	}
}

func looseCases(t *testing.T) map[string]string {
	loose := map[string]string{}
	for line := range strings.Lines(string(read(t, filepath.Join(goldenDir, "LOOSE.txt")))) {
		if name, kind, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			loose[name] = kind
		}
	}
	return loose
}

// shorten cuts the messages of results after the words that count.
func shorten(t *testing.T, rsp any, kind string) {
	counts := map[string]string{
		"proto-text":   "proto:",
		"decoder-text": "cannot get Function input from *v1.RunFunctionRequest",
	}[kind]
	results, _ := rsp.(map[string]any)["results"].([]any)
	for _, r := range results {
		m := r.(map[string]any)
		before, _, ok := strings.Cut(m["message"].(string), counts)
		if !ok {
			t.Errorf("the message %q lacks %q", m["message"], counts)
		}
		m["message"] = before + counts
	}
}

func request(t *testing.T, path string) *fnv1.RunFunctionRequest {
	j, err := yaml.YAMLToJSON(read(t, path))
	if err != nil {
		t.Fatal(err)
	}
	req := &fnv1.RunFunctionRequest{}
	if err := protojson.Unmarshal(j, req); err != nil {
		t.Fatal(err)
	}
	return req
}

func read(t *testing.T, path string) []byte {
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func value(t *testing.T, b []byte) any {
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	return v
}
