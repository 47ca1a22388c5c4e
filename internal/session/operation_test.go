package session_test

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/spf13/afero"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/session"
	"github.com/xfn-dev/xfn/render"
)

// TestOperationGolden renders the Operations of the golden cases, and compares the output and
// the success with the crossplane CLI's. The CLI prints the times of conditions, its own
// helper steps, and applied resources in a random order, which are not compared.
func TestOperationGolden(t *testing.T) {
	t.Parallel()
	_, known := differences(t)
	cases := e2e.Glob(t, filepath.Join(goldenDir, "operation", "*", "args"))
	for _, args := range cases {
		dir := filepath.Dir(args)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			g := golden{dir: dir}
			in, include := operationInputs(t, g.read(t, "args"))
			got, err := renderOperation(t, filepath.Join(dir, "in"), in)
			failed, differs := err != nil, strings.TrimSpace(g.read(t, "exit")) != "0"
			if failed != differs && !known[filepath.Base(dir)] {
				t.Errorf("verdict: got error %v, want one: %t", err, differs)
			}
			if differs || failed {
				return
			}
			var stdout bytes.Buffer
			e2e.NoError(t, manifest.Write(&stdout, got.Documents(include)...))
			want := strings.ReplaceAll(g.read(t, "stdout"), `"{now}"`, `"`+reconciler.Time+`"`)
			e2e.Equal(t, g.read(t, "about.txt"), comparable(t, want), comparable(t, stdout.String()))
		})
	}
}

// comparable returns documents without the steps that the crossplane CLI adds to the pipeline,
// and with the applied resources in a fixed order.
func comparable(t *testing.T, text string) []string {
	t.Helper()
	docs := e2e.Must(manifest.Objects("stdout", []byte(text)))(t)
	spec := fieldpath.Map(docs[0], "spec")
	spec["pipeline"] = slices.DeleteFunc(fieldpath.List(spec, "pipeline"), func(step any) bool {
		return fieldpath.Text(step, "functionRef", "name") == "crossplane-render-context"
	})
	var out []string
	for _, doc := range docs {
		raw := e2e.Must(json.Marshal(doc))(t)
		out = append(out, string(raw))
	}
	slices.SortStableFunc(out[1:], func(a, b string) int {
		if strings.Contains(a, reconciler.APIVersion) || strings.Contains(b, reconciler.APIVersion) {
			return 0
		}
		return strings.Compare(a, b)
	})
	return out
}

// operationInputs parses the arguments of crossplane operation render.
func operationInputs(t *testing.T, args string) (in session.Inputs, include render.Include) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(args), "\n")
	in = session.Inputs{Operation: lines[2], ContextValues: map[string]string{}}
	ours := slices.DeleteFunc(lines[4:], func(line string) bool { return line == "-o" || line == "--crossplane-binary={core}" })
	include = parseArgs(t, ours, &in)
	return in, include
}

func renderOperation(t *testing.T, dir string, in session.Inputs) (session.Result, error) {
	t.Helper()
	s := session.Open(session.Config{
		Reader: manifest.Reader{FS: afero.NewBasePathFs(afero.NewOsFs(), dir)}, Functions: "functions.yaml",
		Runners: function.Mux{"echo": function.RunnerFunc(echo)},
	})
	t.Cleanup(func() { e2e.NoError(t, s.Close(context.WithoutCancel(t.Context()))) })
	return renderOne(t.Context(), s, in)
}

// echo is the function of the golden cases: it returns the response in its input, with the
// desired resources of earlier steps. With echo: true, the output is the request.
func echo(_ context.Context, _ string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	rsp := &fnv1.RunFunctionResponse{Desired: proto.CloneOf(req.GetDesired()), Context: proto.CloneOf(req.GetContext())}
	input := req.GetInput().GetFields()
	if text, err := protojson.Marshal(input["response"]); err != nil {
		return nil, err
	} else {
		own := &fnv1.RunFunctionResponse{}
		if err := protojson.Unmarshal(text, own); err != nil {
			return nil, err
		}
		proto.Merge(rsp, own)
	}
	if input["echo"].GetBoolValue() {
		text, err := protojson.Marshal(req)
		if err != nil {
			return nil, err
		}
		rsp.Output = &structpb.Struct{}
		return rsp, protojson.Unmarshal(text, rsp.Output)
	}
	return rsp, nil
}
