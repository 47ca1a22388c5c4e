package dev_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/spf13/afero"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/dev"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/proc/gobuild"
	"github.com/xfn-dev/xfn/internal/runtimes"
	"github.com/xfn-dev/xfn/internal/session"
)

// fake is a runtime that runs a function from a folder. The function composes a resource
// with the text of main.go. Words in this text make the function fail to compile or hang.
type fake struct {
	mu      sync.Mutex
	running map[string]int
	most    int
	called  chan struct{}
}

func (f *fake) Start(_ context.Context, fn runtimes.Function) (*runtimes.Instance, error) {
	text, err := os.ReadFile(filepath.Join(fn.Package, "main.go"))
	if err != nil {
		return nil, fmt.Errorf("starting function %q: %w", fn.Name, err)
	}
	if strings.Contains(string(text), "broken") {
		err := &gobuild.CompileError{Dir: fn.Package, Target: "linux/amd64", Output: "# f\n./main.go:3:2: undefined: broken"}
		return nil, fmt.Errorf("starting function %q: %w", fn.Name, err)
	}
	f.count(fn.Name, 1)
	return &runtimes.Instance{
		Runner: function.RunnerFunc(func(ctx context.Context, _ string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
			return f.answer(ctx, string(text), req)
		}),
		Detail: "fake", Compiled: time.Millisecond,
		Stop: func(context.Context) error { f.count(fn.Name, -1); return nil },
	}, nil
}

func (f *fake) count(name string, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running[name] += n
	f.most = max(f.most, f.running[name])
}

func (f *fake) answer(ctx context.Context, text string, _ *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	if strings.Contains(text, "hangs") {
		f.called <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}
	obj, err := structpb.NewStruct(map[string]any{
		"apiVersion": "example.org/v1", "kind": "Thing", "metadata": map[string]any{"name": "thing"}, "spec": map[string]any{"text": text},
	})
	if err != nil {
		return nil, err
	}
	return &fnv1.RunFunctionResponse{
		Desired: &fnv1.State{Resources: map[string]*fnv1.Resource{"thing": {Resource: obj}}},
		Results: []*fnv1.Result{{Severity: fnv1.Severity_SEVERITY_WARNING, Message: "mind the gap"}},
	}, nil
}

// A bench runs a loop with the files in a folder.
type bench struct {
	*testing.T
	dir      string
	fake     *fake
	events   chan dev.Event
	commands chan dev.Command
	stop     func() error
}

var project = map[string]string{
	"xr.yaml": "apiVersion: example.org/v1\nkind: X\nmetadata: {name: x}\nspec: {size: 1}\n",
	"composition.yaml": `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: x}
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: X}
  mode: Pipeline
  pipeline:
  - step: make
    functionRef: {name: f}
`,
	"fn/go.mod":  "module f\n",
	"fn/main.go": "one",
	"tests/suite.yaml": `apiVersion: xfn.dev/v1alpha1
kind: TestSuite
metadata: {name: s}
defaults: {xr: ../xr.yaml, composition: ../composition.yaml}
cases:
- name: text
  expect:
    resources:
      thing: {spec.text: one}
- name: golden
  expect: {golden: golden.yaml}
`,
}

func start(t *testing.T, change func(*dev.Config)) *bench {
	t.Helper()
	b := &bench{T: t, dir: t.TempDir(), events: make(chan dev.Event, 100), commands: make(chan dev.Command)}
	b.fake = &fake{running: map[string]int{}, called: make(chan struct{}, 10)}
	for name, text := range project {
		b.put(name, text)
		old := time.Now().Add(-time.Hour)
		e2e.NoError(t, os.Chtimes(b.path(name), old, old))
	}
	c := dev.Config{
		Session: session.Config{
			Reader:   manifest.Reader{FS: afero.NewOsFs()},
			Packages: map[string]string{"f": b.path("fn")},
			Runtimes: map[session.Runtime]runtimes.Runtime{session.Process: b.fake},
		},
		Inputs: session.Inputs{XRs: []string{b.path("xr.yaml")}, Composition: b.path("composition.yaml")},
		Suites: []string{b.path("tests")},

		Timeout: time.Minute, CaseTimeout: time.Minute, Now: time.Now,
	}
	if change != nil {
		change(&c)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- dev.Run(ctx, c, b.commands, func(e dev.Event) error { b.events <- e; return nil })
	}()
	b.stop = sync.OnceValue(func() error { cancel(); return e2e.Receive(t, done) })
	t.Cleanup(func() {
		e2e.NoError(t, b.stop())
		e2e.Equal(t, "no function runs after the end", 0, b.fake.running["f"])
	})
	return b
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, filepath.FromSlash(name)) }

func (b *bench) put(name, text string) {
	b.Helper()
	path := b.path(name)
	// The file is renamed, as by an editor, so that the loop never reads a
	// partially written file.
	e2e.WriteFile(b, path+"~", text)
	e2e.NoError(b, os.Rename(path+"~", path))
}

func (b *bench) round() dev.Round {
	b.Helper()
	r, ok := b.next()
	if !ok {
		b.Fatal("no round ended within a minute")
	}
	return r
}

func (b *bench) next() (dev.Round, bool) {
	for {
		select {
		case e := <-b.events:
			if e.Round != nil {
				return *e.Round, true
			}
		case <-time.After(time.Minute):
			return dev.Round{}, false
		}
	}
}

// text returns the text of a round as one line, without the path of the folder.
func (b *bench) text(r dev.Round) string {
	b.Helper()
	sections := e2e.Must(dev.Text{}.Sections(r))(b)
	// The text is joined to one line, because the texts of suites are wrapped.
	text := strings.Join(strings.Fields(strings.Join(slices.Concat(sections...), "\n")), " ")
	return strings.ReplaceAll(text, b.dir+string(filepath.Separator), "")
}

func (b *bench) wants(r dev.Round, reason string, want ...string) {
	b.Helper()
	text := b.text(r)
	for _, w := range want {
		if not, ok := strings.CutPrefix(w, "!"); ok == strings.Contains(text, strings.TrimPrefix(w, "!")) {
			b.Errorf("%s: want %q, got:\n%s", reason, not, text)
		}
	}
}

func TestLoop(t *testing.T) {
	b := start(t, nil)
	b.wants(b.round(), "the first round shows all resources as added",
		"round 1: start", "f: built in", "rendered 2 documents", "tested 2 cases", "+ Thing thing (example.org/v1, resource thing) added",
		"step make: warning: mind the gap", "--- FAIL: s/golden", "!spec.text")

	b.put("fn/main.go", "two")
	r := b.round()
	b.wants(r, "a change of source builds, renders and tests",
		"fn/main.go changed", "f: built in", "changed since the last render:", `spec.text: "one" → "two"`, "tests/suite.yaml:9: thing: spec.text: want \"one\", got \"two\"")
	e2e.Equal(t, "only the function whose source changed is restarted", []string{b.path("fn")}, r.Plan.Restart)

	b.put("fn/main.go", "broken")
	b.wants(b.round(), "a compile error is shown once, with its position",
		"not built: the last good render was in round 2", "fn/main.go:3:2: undefined: broken", "!changed since", "not tested: function f does not start")

	b.put("fn/main.go", "three")
	b.wants(b.round(), "the difference is relative to the last successful render", `spec.text: "two" → "three"`)

	b.put("fn/main.go", "three")
	b.put("xr.yaml", strings.Replace(project["xr.yaml"], "size: 1", "size: 2", 1))
	b.wants(b.round(), "a change of other files builds nothing", "xr.yaml changed", "!built", "rendered 2", "nothing changed since")

	b.put("tests/suite.yaml", strings.Replace(project["tests/suite.yaml"], "spec.text: one", "spec.text: three", 1))
	b.wants(b.round(), "a change of a suite only runs tests", "tests/suite.yaml changed", "!rendered", "!FAIL: s/text", "FAIL (2 cases, 1 failed")

	b.commands <- dev.Accept
	b.wants(b.round(), "the command accept writes golden files", "accepting goldens", "updated tests/golden.yaml", "ok (2 cases")

	b.commands <- dev.Again
	b.wants(b.round(), "golden files that the loop wrote are not a change", "run again", "nothing changed since", "ok (2 cases")

	b.put("tests/golden.yaml", "kind: Other")
	b.wants(b.round(), "golden files are watched", "tests/golden.yaml changed", "FAIL: s/golden")
	if b.fake.most > 2 { // a function that stops and the function that replaces it
		t.Errorf("%d functions ran concurrently", b.fake.most)
	}
}

func TestLoopGoesOn(t *testing.T) {
	cases := map[string]struct {
		reason, file, broken string // "" removes the file or folder
		want                 []string
	}{
		"Composition": {"an incomplete file is an error until it is complete", "composition.yaml", "kind: Composition\nspec: {pipe", []string{"not rendered: the last good render was in round 1", "composition.yaml:"}},
		"Order":       {"another file in the place of the Composition is an error with the order", "composition.yaml", project["xr.yaml"], []string{"not rendered", "expected a Composition, got", "hint: the order of the files is composite resource, Composition, functions"}},
		"XR":          {"a file can be removed and restored", "xr.yaml", "", []string{"not rendered", `reading "xr.yaml": no such file`}},
		"Suite":       {"an invalid suite is an error until it is corrected", "tests/suite.yaml", project["tests/suite.yaml"] + "- nam: x\n", []string{"tests/suite.yaml:12: the case has no name"}},
		"Suites":      {"a folder can be removed and restored", "tests", "", []string{"not tested", `looking for suites in "tests": no such file`}},
		"Source":      {"a source folder can be removed and restored", "fn", "", []string{"not rendered", "fn"}},
		"Hangs":       {"a function that hangs times out until it is corrected", "fn/main.go", "hangs", []string{"not rendered", "timed out after 200ms"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := start(t, func(c *dev.Config) {
				if name == "Hangs" {
					c.Timeout, c.CaseTimeout = 200*time.Millisecond, 200*time.Millisecond
				}
			})
			first := b.round()
			b.wants(first, "the first round succeeds", "rendered 2 documents", "1 failed")
			if tc.broken == "" {
				b.remove(tc.file)
			} else {
				b.put(tc.file, tc.broken)
			}
			b.untilIt(tc.reason, tc.want...)
			for file, text := range project {
				if strings.HasPrefix(file, tc.file) {
					b.put(file, text)
				}
			}
			b.untilIt("the corrected file works", "1 failed", "!not rendered", "!not tested")
		})
	}
}

// untilIt waits for a round whose text contains all the given texts. It skips rounds,
// because the loop may see the removal and the restoration of a file as two changes.
func (b *bench) untilIt(reason string, want ...string) {
	b.Helper()
	var texts []string
	for r, ok := b.next(); ok; r, ok = b.next() {
		text := b.text(r)
		if !slices.ContainsFunc(want, func(w string) bool {
			not, ok := strings.CutPrefix(w, "!")
			return ok == strings.Contains(text, not)
		}) {
			return
		}
		texts = append(texts, text)
	}
	b.Fatalf("%s: want %q, got:\n%s", reason, want, strings.Join(texts, "\n\n"))
}

func (b *bench) remove(name string) {
	b.Helper()
	e2e.NoError(b, os.RemoveAll(b.path(name)))
}

// TestTemplateFolder checks that a folder or a file that a Composition names for templates is
// watched, for the render and for the tests, even while it does not exist.
func TestTemplateFolder(t *testing.T) {
	const template = "apiVersion: example.org/v1\nkind: Thing\nmetadata: {annotations: {gotemplating.fn.crossplane.io/composition-resource-name: thing}}\nspec: {text: %s}\n"
	composition := func(path string) string {
		return strings.Replace(project["composition.yaml"], "name: f}", "name: function-go-templating}\n    input: {apiVersion: gotemplating.fn.crossplane.io/v1beta1, kind: GoTemplate, source: FileSystem, fileSystem: {dirPath: "+path+"}}", 1)
	}
	b := start(t, func(c *dev.Config) {
		b := &bench{T: t, dir: filepath.Dir(c.Suites[0])}
		t.Chdir(b.dir)
		b.put("composition.yaml", composition("templates"))
	})
	b.wants(b.round(), "the folder does not exist", "not rendered", "templates")
	b.put("templates/deep/a.tmpl", fmt.Sprintf(template, "one"))
	b.untilIt("a new folder is rendered and tested", "templates changed", "(example.org/v1, resource thing) added", "tested 2", "1 failed")
	b.put("templates/deep/a.tmpl", fmt.Sprintf(template, "two"))
	b.wants(b.round(), "a file below the folder is watched", "templates changed", `spec.text: "one" → "two"`, `want "one", got "two"`)
	b.put("file.tmpl", fmt.Sprintf(template, "two"))
	b.put("composition.yaml", composition("file.tmpl"))
	b.untilIt("the Composition names a file", "composition.yaml changed", "nothing changed since")
	b.put("templates/deep/a.tmpl", fmt.Sprintf(template, "three"))
	b.put("file.tmpl", fmt.Sprintf(template, "four"))
	b.untilIt("the file is watched, and the folder no longer is", "file.tmpl changed", "!templates changed", `spec.text: "two" → "four"`)
}

// TestChangeInRound checks that a change cancels the current round, and that the
// next round does the work of both rounds.
func TestChangeInRound(t *testing.T) {
	b := start(t, nil)
	b.round()
	b.put("fn/main.go", "hangs")
	e2e.Receive(t, b.fake.called)
	b.put("xr.yaml", strings.Replace(project["xr.yaml"], "size: 1", "size: 2", 1))
	e2e.Receive(t, b.fake.called) // the next round calls the function, too, which hangs
	b.put("fn/main.go", "two")
	r := b.round()
	b.wants(r, "one round does the work of all", "fn/main.go, ", "xr.yaml changed", `spec.text: "one" → "two"`, "tested 2")
	if r.N < 4 {
		t.Errorf("got round %d, want one after two cancelled rounds", r.N)
	}
}

// TestSourceBeforeStart checks that a source that was written immediately before the start is
// unchanged after the first round, although the session calls the relative path "fn" "./fn".
func TestSourceBeforeStart(t *testing.T) {
	b := start(t, func(c *dev.Config) {
		b := &bench{T: t, dir: strings.TrimSuffix(c.Suites[0], "/tests")}
		t.Chdir(b.dir)
		c.Session.Packages["f"] = "fn"
		late := time.Now().Add(time.Hour)
		e2e.NoError(t, os.Chtimes(b.path("fn/main.go"), late, late))
	})
	b.round()
	b.commands <- dev.Again
	b.wants(b.round(), "no file changed", "run again", "!main.go", "!built")
	b.put("fn/main.go", "two")
	r := b.round()
	b.wants(r, "a change restarts the function", "fn/main.go changed", "f: built in", `spec.text: "one" → "two"`)
	e2e.Equal(t, "only the function whose source changed is restarted", []string{"fn"}, r.Plan.Restart)
}

// TestStopInRound checks that a loop that ends cancels a function call that hangs.
func TestStopInRound(t *testing.T) {
	b := start(t, nil)
	b.round()
	b.put("fn/main.go", "hangs")
	e2e.Receive(t, b.fake.called)
	e2e.NoError(t, b.stop())
}

func TestClosedCommands(t *testing.T) {
	b := start(t, nil)
	b.round()
	close(b.commands)
	e2e.NoError(t, b.stop())
}

// TestOtherFunctions checks that the cases of other functions are tested while a function does not
// start.
func TestOtherFunctions(t *testing.T) {
	other := strings.ReplaceAll(project["composition.yaml"], "name: f}", "name: function-dummy}\n    input: {apiVersion: dummy.fn.crossplane.io/v1beta1, kind: Response, response: {meta: {ttl: 60s}}}")
	suite := "apiVersion: xfn.dev/v1alpha1\nkind: TestSuite\nmetadata: {name: o}\ncases: [{name: none, xr: ../xr.yaml, composition: ../other.yaml, expect: {only: []}}]\n"
	b := start(t, func(c *dev.Config) {
		for name, text := range map[string]string{"other.yaml": other, "other/suite.yaml": suite} {
			path, old := filepath.Join(filepath.Dir(c.Suites[0]), name), time.Now().Add(-time.Hour)
			e2e.WriteFile(t, path, text)
			e2e.NoError(t, os.Chtimes(path, old, old))
		}
		c.Suites = append(c.Suites, filepath.Join(filepath.Dir(c.Suites[0]), "other"))
	})
	b.wants(b.round(), "all cases are tested", "tested 3 cases", "!not tested")
	b.put("fn/main.go", "broken")
	b.wants(b.round(), "the case that calls another function is tested", "not built", "tested 1 case in", "not tested: function f does not start ok o (1 case", "!FAIL")
	b.put("fn/main.go", "one")
	b.wants(b.round(), "the corrected function is tested again", "tested 3 cases", "!not tested")
}

// TestSuitesAreOptional checks that a missing suite is not an error if
// SuitesMayBeNone is true.
func TestSuitesAreOptional(t *testing.T) {
	b := start(t, func(c *dev.Config) {
		c.SuitesMayBeNone = true
		e2e.NoError(t, os.Remove(filepath.Join(c.Suites[0], "suite.yaml")))
	})
	b.wants(b.round(), "there is no suite", "rendered 2", "!test")
	b.put("tests/suite.yaml", project["tests/suite.yaml"])
	b.wants(b.round(), "a new suite is tested", "tested 2 cases")
}

// TestUnusedFunctionStops checks that the loop stops a function that the
// Composition no longer calls.
func TestUnusedFunctionStops(t *testing.T) {
	b := start(t, func(c *dev.Config) { c.Suites = nil })
	b.round()
	b.put("composition.yaml", strings.ReplaceAll(project["composition.yaml"], "name: f}", "name: function-dummy}\n    input: {apiVersion: dummy.fn.crossplane.io/v1beta1, kind: Response, response: {meta: {ttl: 60s}}}"))
	b.untilIt("the Composition calls another function", "rendered 1 document")
	e2e.Until(t, func() bool {
		b.fake.mu.Lock()
		defer b.fake.mu.Unlock()
		return b.fake.running["f"] == 0
	})
}

// TestFlatMemory checks that hundreds of rounds do not grow the heap or leave goroutines.
func TestFlatMemory(t *testing.T) {
	b := start(t, nil)
	b.round()
	measure := func(rounds int) (heap uint64, goroutines int) {
		for n := range rounds {
			if n%10 == 0 {
				b.put("fn/main.go", fmt.Sprintf("text %d", n%7))
			} else {
				b.commands <- dev.Again
			}
			b.round()
		}
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc, runtime.NumGoroutine()
	}
	early, few := measure(30)
	late, many := measure(300)
	if late > early+2<<20 {
		t.Errorf("the heap grew from %d to %d bytes", early, late)
	}
	if many > few+3 {
		t.Errorf("%d goroutines became %d", few, many)
	}
}
