package session_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"
	"google.golang.org/protobuf/proto"
	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/builtin"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/runtimes"
	"github.com/xfn-dev/xfn/internal/session"
	"github.com/xfn-dev/xfn/internal/session/intercept"
	"github.com/xfn-dev/xfn/render"
)

// goldenDir contains the folders of the golden cases: inputs, and the output of real
// Crossplane engines. about.txt explains each case.
const goldenDir = "../../testdata/golden"

// engines maps each profile to the versions of the real Crossplane engine whose
// output it must match.
var engines = map[render.Profile][]string{
	render.V2: {"v2.4", "v2.3"}, render.Classic: {"v2.2"}, render.V1_20: {"v1.20"}, render.V1_14: {"v1.14"},
}

// TestGolden renders each golden case in each profile for which the case has a
// result. It compares the output byte for byte, and whether the render failed.
// In profiles V2 and Classic it also compares the recorded requests to functions.
func TestGolden(t *testing.T) {
	known, _ := differences(t)
	for profile, versions := range engines {
		for _, engine := range versions {
			results := e2e.Glob(t, filepath.Join(goldenDir, "render*", "*", engine+".stdout"))
			for _, result := range results {
				dir := filepath.Dir(result)
				name := filepath.Base(dir) + " " + engine
				g := golden{dir: dir, engine: engine, differs: known[name]}
				delete(known, name)
				t.Run(filepath.Base(dir)+"/"+engine, func(t *testing.T) {
					t.Parallel()
					g.run(t, profile)
				})
			}
		}
	}
	for c := range known {
		t.Errorf("differences.yaml names %q, which is not a case", c)
	}
}

// differences returns the golden cases whose output differs on purpose, as "CASE ENGINE", and the
// golden cases of Operations.
func differences(t *testing.T) (renders, operations map[string]bool) {
	t.Helper()
	var listed struct {
		Render    []struct{ Cases, Engines []string }
		Operation []struct{ Case string }
	}
	e2e.NoError(t, yaml.Unmarshal([]byte(e2e.ReadFile(t, goldenDir, "differences.yaml")), &listed))
	renders, operations = map[string]bool{}, map[string]bool{}
	for _, d := range listed.Render {
		for _, name := range d.Cases {
			for _, engine := range d.Engines {
				renders[name+" "+engine] = true
			}
		}
	}
	for _, d := range listed.Operation {
		operations[d.Case] = true
	}
	return renders, operations
}

type golden struct {
	dir, engine string
	differs     bool
}

func (g golden) run(t *testing.T, profile render.Profile) {
	in, printing := g.inputs(t)
	in.Profile = profile
	runner, left := g.runner(t)
	s := session.Open(session.Config{
		Reader:    manifest.Reader{FS: afero.NewBasePathFs(afero.NewOsFs(), g.dir)},
		Functions: g.functions(),
		Lenient:   true, // The real engines ignore unknown fields.
		Runtime:   session.Development,
		Runtimes:  map[session.Runtime]runtimes.Runtime{session.Development: stage{t, runner, &sync.Map{}}},
	})
	t.Cleanup(func() { e2e.NoError(t, s.Close(context.WithoutCancel(t.Context()))) })
	var stdout bytes.Buffer
	r, err := renderOne(t.Context(), s, in)
	if err == nil {
		err = manifest.Write(&stdout, r.Documents(printing)...)
	}
	failed, wantFailed := err != nil, strings.TrimSpace(g.read(t, g.engine+".exit")) != "0"
	diff := cmp.Diff(g.read(t, g.engine+".stdout"), stdout.String())
	if g.differs {
		if failed == wantFailed && diff == "" {
			t.Error("differences.yaml names this case, but its output is equal")
		}
		return
	}
	if failed != wantFailed {
		t.Errorf("verdict: got error %v, want one: %t", err, wantFailed)
	}
	if diff != "" {
		t.Errorf("%s\nstdout (-want +got):\n%s", g.read(t, "about.txt"), diff)
	}
	// A render that is expected to fail may fail before it makes all calls that
	// the real engine made.
	if n := left(); n > 0 && !wantFailed {
		t.Errorf("%d calls that the real engine made are missing", n)
	}
}

// stage is a Runtime that passes all calls to one Runner, with the last part of
// the repository as the function's name. It checks that the tag in each request
// of a step is the SHA-256 of the step's first request without meta.
type stage struct {
	t      *testing.T
	runner function.Runner
	tags   *sync.Map
}

func (s stage) checkTag(step string, req *fnv1.RunFunctionRequest) {
	if req.GetMeta().GetTag() == "" {
		return
	}
	bare := proto.CloneOf(req)
	bare.Meta = nil
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(bare)
	if err != nil {
		s.t.Error(err)
	}
	want, _ := s.tags.LoadOrStore(step, fmt.Sprintf("%x", sha256.Sum256(b)))
	if got := req.GetMeta().GetTag(); got != want {
		s.t.Errorf("step %q: the tag is %s, want %s", step, got, want)
	}
}

func (s stage) Start(_ context.Context, fn runtimes.Function) (*runtimes.Instance, error) {
	name, _, _ := strings.Cut(path.Base(fn.Package), ":")
	return &runtimes.Instance{
		Runner: function.RunnerFunc(func(ctx context.Context, _ string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
			s.checkTag(function.Step(ctx), req)
			return s.runner.RunFunction(ctx, name, req)
		}),
		Stop: func(context.Context) error { return nil },
	}, nil
}

// runner returns a Runner that replays the recorded calls of the golden case and compares
// them with the builtins, and a function that returns how many recorded calls were not
// made. For v1.20 and v1.14, whose requests lack newer fields, it only calls the builtins.
// It does so, too, if no call was recorded, so that a render that should have stopped
// before its first call has other output.
func (g golden) runner(t *testing.T) (function.Runner, func() int) {
	known := function.Mux{"function-literal": functiontest.Literal()}
	for _, b := range builtin.All() {
		known[b.Name] = b.New(builtin.Options{})
	}
	if g.engine == "v1.20" || g.engine == "v1.14" || !g.has(g.engine+".calls.jsonl") {
		return known, func() int { return 0 }
	}
	replay := newReplayer(t, g.read(t, g.engine+".calls.jsonl"))
	return function.RunnerFunc(func(ctx context.Context, name string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		if known[name] == nil {
			return replay.RunFunction(ctx, name, req)
		}
		return intercept.Crosscheck(intercept.Side{Name: "the recording", Runner: replay}, intercept.Side{Name: "the builtin", Runner: known}).RunFunction(ctx, name, req)
	}), replay.left
}

func (g golden) functions() string {
	if g.has("functions.yaml") {
		return "functions.yaml"
	}
	return "functions"
}

// inputs parses the arguments of a golden case, which are arguments of `crossplane render`.
func (g golden) inputs(t *testing.T) (session.Inputs, render.Include) {
	in := session.Inputs{
		XRs: []string{"xr.yaml"}, Composition: "composition.yaml",
		ContextFiles: map[string]string{}, ContextValues: map[string]string{},
	}
	p := parseArgs(t, strings.Split(strings.TrimSpace(g.read(t, "args")), "\n"), &in)
	return in, p
}

// parseArgs adds the inputs that lines of arguments name to in.
func parseArgs(t *testing.T, lines []string, in *session.Inputs) (p render.Include) {
	t.Helper()
	for i := 0; i < len(lines); i++ {
		flag, value, long := strings.Cut(lines[i], "=")
		if !long && slices.Contains([]string{"-o", "-e", "-w", "--xrd", "--function-credentials", "--context-values"}, flag) {
			i++
			value = lines[i]
		}
		if long && len(flag) == 2 {
			value = "=" + value // for a short flag, the library kong makes "=" part of the value
		}
		switch flag {
		case "":
		case "-r":
			p.Results = true
		case "-c":
			p.Context = true
		case "-x":
			in.Full = true
		case "-o", "--observed-resources":
			in.Observed = append(in.Observed, value)
		case "-e", "--required-resources":
			in.Required = append(in.Required, value)
		case "--required-schemas":
			in.Schemas = append(in.Schemas, value)
		case "--function-credentials":
			in.Credentials = append(in.Credentials, value)
		case "--xrd":
			in.XRD = value
		case "-w":
			in.Watched = value
		case "--context-files":
			k, v, _ := strings.Cut(value, "=")
			in.ContextFiles[k] = v
		case "--context-values":
			k, v, _ := strings.Cut(value, "=")
			in.ContextValues[k] = v
		default:
			t.Fatalf("this test does not support an argument of the case: %s", lines[i])
		}
	}
	return p
}

func (g golden) has(name string) bool {
	_, err := os.Stat(filepath.Join(g.dir, name))
	return !errors.Is(err, fs.ErrNotExist)
}

func (g golden) read(t *testing.T, name string) string {
	return e2e.ReadFile(t, g.dir, name)
}
