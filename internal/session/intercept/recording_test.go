package intercept_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/session/intercept"
)

func callRequest(t *testing.T, text string) *fnv1.RunFunctionRequest {
	t.Helper()
	req := &fnv1.RunFunctionRequest{}
	e2e.NoError(t, protojson.Unmarshal([]byte(text), req))
	return req
}

// record records a call of function f in step.
func record(t *testing.T, r function.Runner, dir, step, text string) {
	t.Helper()
	e2e.NoError(t, e2e.Err(intercept.Record(dir, r).RunFunction(function.WithStep(t.Context(), step), "f", callRequest(t, text))))
}

// replay replays the call of function f in step.
func replay(t *testing.T, dir, step, text string) (*fnv1.RunFunctionResponse, error) {
	t.Helper()
	return intercept.Replay(dir).RunFunction(function.WithStep(t.Context(), step), "f", callRequest(t, text))
}

// counter is a Runner that responds with the number of its calls. A call of
// function "broken" fails.
type counter int

func (c *counter) RunFunction(_ context.Context, name string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	*c++
	if name == "broken" {
		return nil, errors.New("it is broken")
	}
	return &fnv1.RunFunctionResponse{
		Meta:    &fnv1.ResponseMeta{Tag: req.GetMeta().GetTag()},
		Results: []*fnv1.Result{{Severity: fnv1.Severity_SEVERITY_NORMAL, Message: fmt.Sprintf("call %d of %s", *c, name)}},
	}, nil
}

const first = `{"meta": {"tag": "one"}, "observed": {"composite": {"resource": {"metadata": {"name": "a"}, "spec": {"size": 1}}}}}`

func TestReplay(t *testing.T) {
	const secret = "c2VjcmV0LXZhbHVl" // base64 of "secret-value"
	withSecret := strings.Replace(first, `"observed"`, `"credentials": {"c": {"credentialData": {"data": {"password": "`+secret+`"}}}}, "observed"`, 1)
	cases := map[string]struct{ reason, function, step, recorded, now, want, wantErr, wantWas string }{
		"Same":     {"a recorded request gets the recorded response", "f", "s", first, first, "call 1 of f", "", ""},
		"Tag":      {"the tag is ignored, and the response has the current one", "f", "s", first, strings.Replace(first, "one", "two", 1), "call 1 of f", "", ""},
		"Names":    {"a function name need not be a file name", "../f", "a/b c", first, first, "call 1 of ../f", "", ""},
		"Long":     {"a function name can be long", strings.Repeat("f", 300), "s", first, first, "call 1 of " + strings.Repeat("f", 300), "", ""},
		"Error":    {"a recorded error is returned", "broken", "s", first, first, "", "it is broken", ""},
		"Secrets":  {"credentials are neither recorded nor compared", "f", "s", withSecret, strings.Replace(withSecret, secret, "b3RoZXI=", 1), "call 1 of f", "", ""},
		"Changed":  {"an unknown request is an error with the most similar one", "f", "s", first, strings.Replace(first, "1}", "2}", 1), "", `function "f" at step "s" is called with a request that differs from recording`, "a"},
		"Nothing":  {"an unknown function has no similar request", "f", "s", "", first, "", `no call of function "f" at step "s" is in recording`, ""},
		"OneStep":  {"calls of other steps are not similar", "f", "s", "", first, "", "no call", ""},
		"WithTime": {"the time at which the XR became responsive is ignored", "f", "s", responsive("2026-01-01T00:00:00Z"), responsive("2026-02-02T00:00:00Z"), "call 1 of f", "", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "recording")
			e2e.NoError(t, os.Mkdir(dir, 0o777))
			ctx := function.WithStep(t.Context(), tc.step)
			if tc.recorded != "" {
				_, err := intercept.Record(dir, new(counter)).RunFunction(ctx, tc.function, callRequest(t, tc.recorded))
				if err != nil && tc.wantErr == "" {
					t.Fatal(err)
				}
			}
			refuse(t, dir, "secret-value", secret)
			now := callRequest(t, tc.now)
			rsp, err := intercept.Replay(dir).RunFunction(ctx, tc.function, now)
			if tc.wantErr != "" {
				e2e.ErrorHas(t, tc.reason, err, tc.wantErr)
				if miss, ok := errors.AsType[*intercept.MissError](err); ok && (miss.Recorded != nil) != (tc.wantWas != "") {
					t.Errorf("%s: the nearest is %v", tc.reason, miss.Recorded)
				}
				return
			}
			if err != nil || rsp.GetResults()[0].GetMessage() != tc.want || rsp.GetMeta().GetTag() != now.GetMeta().GetTag() {
				t.Errorf("%s: got %v, %v", tc.reason, rsp, err)
			}
		})
	}
}

func responsive(at string) string {
	return `{"observed": {"composite": {"resource": {"status": {"conditions": [{"type": "Responsive", "lastTransitionTime": "` + at + `"}]}}}}}`
}

// refuse fails the test if the path or the content of a file below dir contains
// one of texts.
func refuse(t *testing.T, dir string, texts ...string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		for _, text := range texts {
			if strings.Contains(string(content)+path, text) {
				t.Errorf("%s contains %q", path, text)
			}
		}
		return err
	})
	e2e.NoError(t, err)
}

// TestNearest: the MissError contains the most similar of several recorded requests.
func TestNearest(t *testing.T) {
	dir := t.TempDir()
	similar := strings.NewReplacer(`"a"`, `"b"`, "1}", "7}").Replace(first)
	record(t, new(counter), dir, "s", first)
	record(t, new(counter), dir, "s", similar)
	record(t, new(counter), dir, "other", strings.Replace(first, "1}", "8}", 1))
	_, err := replay(t, dir, "s", strings.Replace(similar, "7}", "8}", 1))
	var miss *intercept.MissError
	if !errors.As(err, &miss) {
		t.Fatalf("got %v", err)
	}
	want := e2e.Must(intercept.Mask(callRequest(t, similar)))(t)
	e2e.Equal(t, "the error has the most similar call", want, miss.Recorded)
}

func TestReplayRefuses(t *testing.T) {
	cases := map[string]struct{ reason, content, want string }{
		"Garbage":     {"a file that is not JSON is reported", "{", "s."},
		"NoAnswer":    {"a call without a response is an error", `{"function": "f", "step": "s"}`, "expected a response or an error"},
		"BadResponse": {"an invalid response is an error", `{"response": {"a": 1}}`, "decoding the recorded response"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			record(t, new(counter), dir, "s", first)
			files, err := filepath.Glob(filepath.Join(dir, "f", "s.*.json"))
			if err != nil || len(files) != 1 {
				t.Fatalf("got the files %v, %v", files, err)
			}
			e2e.WriteFile(t, files[0], tc.content)
			e2e.ErrorHas(t, tc.reason, e2e.Err(replay(t, dir, "s", first)), tc.want)
		})
	}
	e2e.ErrorHas(t, "a missing folder is an error", e2e.Err(replay(t, filepath.Join(t.TempDir(), "none"), "s", first)), "opening recording")
}

// TestRecordRefuses: a call fails if it cannot be written to a file. A call
// whose context is canceled is not recorded.
func TestRecordRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	e2e.WriteFile(t, file, "")
	_, err := intercept.Record(file, new(counter)).RunFunction(t.Context(), "f", callRequest(t, first))
	e2e.ErrorHas(t, "a file in place of the folder", err, `recording the call of function "f"`)
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e2e.NoError(t, e2e.Err(intercept.Record(dir, new(counter)).RunFunction(ctx, "f", callRequest(t, first))))
	e2e.Empty(t, dir)
}

// TestRecordMode: recordings contain Secrets, so only their owner can read or change them.
func TestRecordMode(t *testing.T) {
	dir := t.TempDir()
	record(t, new(counter), dir, "s", first)
	files := e2e.Must(filepath.Glob(filepath.Join(dir, "*", "*")))(t)
	e2e.Equal(t, "the number of recordings", 1, len(files))
	info := e2e.Must(os.Stat(files[0]))(t)
	if runtime.GOOS != "windows" {
		e2e.Equal(t, "the mode, whatever the umask", os.FileMode(0o600), info.Mode().Perm())
	}
}

// TestRecordSimilarNames: the calls of steps whose names differ only in characters that files
// cannot have are in different files.
func TestRecordSimilarNames(t *testing.T) {
	dir := t.TempDir()
	steps := []string{"a b", "a.b", "a_b", strings.Repeat("long", 30) + "1", strings.Repeat("long", 30) + "2"}
	echo := function.RunnerFunc(func(ctx context.Context, _ string, _ *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		return &fnv1.RunFunctionResponse{Results: []*fnv1.Result{{Message: function.Step(ctx)}}}, nil
	})
	for _, step := range steps {
		record(t, echo, dir, step, first)
	}
	for _, step := range steps {
		rsp := e2e.Must(replay(t, dir, step, first))(t)
		e2e.Equal(t, "the response is that of the step", step, rsp.GetResults()[0].GetMessage())
	}
}

func TestTwice(t *testing.T) {
	same := always(&fnv1.RunFunctionResponse{Results: []*fnv1.Result{{Message: "same"}}}, nil)
	flaky := new(counter)
	cases := map[string]struct {
		reason, name  string
		runner        function.Runner
		want, wantErr string
	}{
		"Same":    {"equal responses pass", "f", same, "same", ""},
		"Differs": {"different responses are an error with both", "f", new(counter), "", `function "f" at step "s" gives two different responses to one request`},
		"Broken":  {"an error is returned at once", "broken", flaky, "", "it is broken"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rsp, err := intercept.Twice(tc.runner).RunFunction(function.WithStep(t.Context(), "s"), tc.name, callRequest(t, first))
			if tc.wantErr == "" {
				e2e.NoError(t, err)
				e2e.Equal(t, tc.reason, &fnv1.RunFunctionResponse{Results: []*fnv1.Result{{Message: tc.want}}}, rsp, protocmp.Transform())
				return
			}
			e2e.Equal(t, tc.reason, tc.wantErr, fmt.Sprint(err))
			if differ, ok := errors.AsType[*intercept.UnstableError](err); ok && cmp.Equal(differ.First, differ.Second) {
				t.Errorf("%s: both responses are %v", tc.reason, differ.First)
			}
		})
	}
	if *flaky != 1 {
		t.Errorf("a function that failed was called %d times", *flaky)
	}
}
