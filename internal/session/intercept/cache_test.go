package intercept_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/report"
	"github.com/xfn-dev/xfn/internal/session/intercept"
)

// noon is when the tests begin: long ago, so that what they write is new.
var noon = time.Date(2024, 1, 1, 12, 0, 0, 0, time.UTC)

func at(t time.Time) func() time.Time { return func() time.Time { return t } }

// request asks for size, with a credential and a tag.
func request(size float64, tag string) *fnv1.RunFunctionRequest {
	return &fnv1.RunFunctionRequest{
		Meta:  &fnv1.RequestMeta{Tag: tag},
		Input: &structpb.Struct{Fields: map[string]*structpb.Value{"size": structpb.NewNumberValue(size), "b": structpb.NewBoolValue(true), "a": structpb.NewNullValue()}},
		Credentials: map[string]*fnv1.Credentials{"door": {Source: &fnv1.Credentials_CredentialData{
			CredentialData: &fnv1.CredentialData{Data: map[string][]byte{"key": []byte("open-sesame")}},
		}}},
	}
}

// answer is what the function echo gives for the request.
func answer(req *fnv1.RunFunctionRequest, ttl time.Duration) *fnv1.RunFunctionResponse {
	return &fnv1.RunFunctionResponse{
		Meta:    &fnv1.ResponseMeta{Tag: req.GetMeta().GetTag(), Ttl: durationpb.New(ttl)},
		Context: req.GetInput(),
	}
}

// echo answers with the request's input, which stays good for ttl.
func echo(ttl time.Duration) function.Runner {
	return function.RunnerFunc(func(_ context.Context, _ string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		return answer(req, ttl), nil
	})
}

// always answers with rsp and err.
func always(rsp *fnv1.RunFunctionResponse, err error) function.Runner {
	return function.RunnerFunc(func(context.Context, string, *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		return proto.CloneOf(rsp), err
	})
}

// byName takes a function's name for its identity.
func byName(name string) string { return name }

// options of a cache that fails the test if it has something to say.
func options(t *testing.T, dir string) intercept.CacheOptions {
	t.Helper()
	return intercept.CacheOptions{Dir: dir, Identity: byName, Now: at(noon), Progress: func(e progress.Event) { t.Errorf("unexpected event: %s", e.Text) }}
}

func call(t *testing.T, r function.Runner, name string, req *fnv1.RunFunctionRequest) *fnv1.RunFunctionResponse {
	t.Helper()
	rsp, err := r.RunFunction(t.Context(), name, req)
	if err != nil {
		t.Fatal(err)
	}
	return rsp
}

// A first call is that for size 1 with tag "one" of function "fn" at noon, and
// its answer stays good for an hour.
func TestSecondCall(t *testing.T) {
	withoutMeta := request(1, "")
	withoutMeta.Meta = nil
	capable := request(1, "two")
	capable.Meta.Capabilities = []fnv1.Capability{fnv1.Capability_CAPABILITY_CONDITIONS}
	resources := request(1, "one")
	resources.RequiredResources = map[string]*fnv1.Resources{"r": {}}
	door := request(1, "one")
	door.Credentials["door"].GetCredentialData().Data["key"] = []byte("other")
	alien := request(1, "one")
	alien.ProtoReflect().SetUnknown([]byte{0xf8, 0x3f, 1}) // field 1023, a varint
	cases := map[string]struct {
		reason   string
		req      *fnv1.RunFunctionRequest
		identity string
		now      time.Time
		maxTTL   time.Duration
		wantHit  bool
	}{
		"Same":          {"the same call is answered from the folder", request(1, "one"), "v1", noon, 0, true},
		"Tag":           {"the tag is a digest of the rest, and does not count", request(1, "two"), "v1", noon, 0, true},
		"Capabilities":  {"what the caller is capable of does not count", capable, "v1", noon, 0, true},
		"NoMeta":        {"the oldest profile sends no meta at all", withoutMeta, "v1", noon, 0, true},
		"Input":         {"another input is another request", request(2, "one"), "v1", noon, 0, false},
		"Credentials":   {"other credentials are another request", door, "v1", noon, 0, false},
		"EmptyResource": {"a requirement that was looked up in vain is another request", resources, "v1", noon, 0, false},
		"UnknownField":  {"fields of a later protocol count, too", alien, "v1", noon, 0, false},
		"Identity":      {"another version of the function may answer otherwise", request(1, "one"), "v2", noon, 0, false},
		"NoIdentity":    {"a function that is not to be cached is called", request(1, "one"), "", noon, 0, false},
		"LastMoment":    {"an answer is good up to the end of its TTL", request(1, "one"), "v1", noon.Add(time.Hour - 1), 0, true},
		"Over":          {"and not a moment longer", request(1, "one"), "v1", noon.Add(time.Hour), 0, false},
		"SmallerMaxTTL": {"an answer that was kept under a larger limit is not used", request(1, "one"), "v1", noon, time.Minute, false},
		"WithinMaxTTL":  {"until what is left of it is within the limit", request(1, "one"), "v1", noon.Add(59 * time.Minute), time.Minute, true},
		"ClockBack":     {"a clock that went back does not keep an answer for ever", request(1, "one"), "v1", noon.Add(-24 * time.Hour), 0, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := options(t, t.TempDir())
			o.Identity = func(string) string { return "v1" }
			call(t, intercept.Cache(echo(time.Hour), o), "fn", request(1, "one"))

			o.Identity = func(string) string { return tc.identity }
			o.Now, o.MaxTTL = at(tc.now), tc.maxTTL
			calls := report.Record(echo(time.Hour), time.Now)
			sent := proto.CloneOf(tc.req)
			got := call(t, intercept.Cache(calls, o), "fn", tc.req)

			if hit := len(calls.Calls()) == 0; hit != tc.wantHit {
				t.Errorf("%s: hit is %t", tc.reason, hit)
			}
			if diff := cmp.Diff(answer(tc.req, time.Hour), got, protocmp.Transform()); diff != "" {
				t.Errorf("%s: the answer differs from the function's (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(sent, tc.req, protocmp.Transform()); diff != "" {
				t.Errorf("the request was changed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatIsNotKept(t *testing.T) {
	broken := errors.New("broken")
	fatal := answer(request(1, ""), time.Hour)
	fatal.Results = []*fnv1.Result{{Severity: fnv1.Severity_SEVERITY_NORMAL}, {Severity: fnv1.Severity_SEVERITY_FATAL, Message: "no"}}
	warning := answer(request(1, ""), time.Hour)
	warning.Results = []*fnv1.Result{{Severity: fnv1.Severity_SEVERITY_WARNING}}
	large := answer(request(1, ""), time.Hour)
	large.Results = []*fnv1.Result{{Message: strings.Repeat("x", intercept.MaxCachedSize)}}
	cases := map[string]struct {
		reason   string
		rsp      *fnv1.RunFunctionResponse
		err      error
		wantKept bool
	}{
		"TTL":         {"a TTL says that an answer stays good", answer(request(1, ""), time.Nanosecond), nil, true},
		"Warning":     {"a warning is as good", warning, nil, true},
		"Forever":     {"no TTL is too long to be cut", answer(request(1, ""), 1<<63-1), nil, true},
		"NoMeta":      {"without meta nothing says that it stays good", &fnv1.RunFunctionResponse{}, nil, false},
		"NoTTL":       {"without a TTL nothing says that it stays good", &fnv1.RunFunctionResponse{Meta: &fnv1.ResponseMeta{Tag: "x"}}, nil, false},
		"ZeroTTL":     {"a TTL of zero says that it does not", answer(request(1, ""), 0), nil, false},
		"NegativeTTL": {"nor does a negative one", answer(request(1, ""), -time.Second), nil, false},
		"Fatal":       {"what made a function refuse may be mended", fatal, nil, false},
		"TooLarge":    {"an answer above the limit is not kept", large, nil, false},
		"Error":       {"a call that failed has no answer", nil, broken, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			calls := report.Record(always(tc.rsp, tc.err), time.Now)
			r := intercept.Cache(calls, options(t, dir))
			for range 2 {
				rsp, err := r.RunFunction(t.Context(), "fn", request(1, ""))
				if !errors.Is(err, tc.err) || !proto.Equal(rsp, tc.rsp) {
					t.Errorf("%s: got %d bytes, %v", tc.reason, proto.Size(rsp), err)
				}
			}
			if kept := len(calls.Calls()) == 1; kept != tc.wantKept {
				t.Errorf("%s: called %d times", tc.reason, len(calls.Calls()))
			}
			if n := len(names(t, dir)); n == 0 == tc.wantKept {
				t.Errorf("%s: the folder has %d files", tc.reason, n)
			}
		})
	}
}

func TestMaxTTL(t *testing.T) {
	for name, tc := range map[string]struct {
		reason          string
		maxTTL, ttl     time.Duration
		lasts, endsWith time.Duration
	}{
		"Default":  {"a day, as in Crossplane", 0, 100 * time.Hour, 24*time.Hour - 1, 24 * time.Hour},
		"Given":    {"or what is asked for", time.Minute, time.Hour, time.Minute - 1, time.Minute},
		"NotLower": {"a shorter TTL stays", 100 * time.Hour, time.Hour, time.Hour - 1, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			now := noon
			o := options(t, t.TempDir())
			o.MaxTTL, o.Now = tc.maxTTL, func() time.Time { return now }
			calls := report.Record(echo(tc.ttl), time.Now)
			r := intercept.Cache(calls, o)
			for i, after := range []time.Duration{0, tc.lasts, tc.endsWith} {
				now = noon.Add(after)
				call(t, r, "fn", request(1, ""))
				if want := []int{1, 1, 2}[i]; len(calls.Calls()) != want {
					t.Errorf("%s: after %v the function was called %d times, want %d", tc.reason, after, len(calls.Calls()), want)
				}
			}
		})
	}
}

func TestFilesAreTheOwners(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	call(t, intercept.Cache(echo(time.Hour), options(t, dir)), "secret-fn", request(1, "tagged"))
	files := names(t, dir)
	if len(files) != 1 {
		t.Fatalf("got files %q", files)
	}
	data, err := os.ReadFile(filepath.Join(dir, files[0]))
	if err != nil {
		t.Fatal(err)
	}
	for _, private := range []string{"open-sesame", "secret-fn", "door"} {
		if strings.Contains(string(data), private) {
			t.Errorf("the file says %q, which is in the request only", private)
		}
	}
	if runtime.GOOS == "windows" {
		return // which has no such modes
	}
	for path, want := range map[string]fs.FileMode{dir: 0o700, filepath.Join(dir, files[0]): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: got mode %v, %v, want %v", path, info.Mode(), err, want)
		}
	}
}

// A folder that cannot be used is said once, and fails no call.
func TestUnusableFolder(t *testing.T) {
	cases := map[string]struct {
		reason string
		dir    func(t *testing.T) (dir string, spoil func())
		want   string
	}{
		"File": {"a file is no folder", func(t *testing.T) (string, func()) {
			path := filepath.Join(t.TempDir(), "f")
			put(t, path, "x")
			return path, func() {}
		}, "making folder"},
		"Gone": {"a folder may vanish while it is in use", func(t *testing.T) (string, func()) {
			dir := filepath.Join(t.TempDir(), "d")
			return dir, func() {
				if err := os.RemoveAll(dir); err != nil {
					t.Error(err)
				}
			}
		}, "keeping a response"},
		"NoFolder": {"a folder may turn into a file", func(t *testing.T) (string, func()) {
			dir := filepath.Join(t.TempDir(), "d")
			return dir, func() {
				if err := os.RemoveAll(dir); err != nil {
					t.Error(err)
				}
				put(t, dir, "x")
			}
		}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir, spoil := tc.dir(t)
			var said []progress.Event
			o := options(t, dir)
			o.Progress = func(e progress.Event) { said = append(said, e) }
			r := intercept.Cache(echo(time.Hour), o)
			spoil()
			for range 3 {
				req := request(1, "x")
				if diff := cmp.Diff(answer(req, time.Hour), call(t, r, "fn", req), protocmp.Transform()); diff != "" {
					t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
				}
			}
			if len(said) != 1 || said[0].Kind != progress.Warning || !strings.Contains(said[0].Text, tc.want) {
				t.Errorf("%s: it said %v", tc.reason, said)
			}
		})
	}
}

// What cannot be encoded cannot be looked up or kept; the function decides.
func TestInvalidUTF8(t *testing.T) {
	bad := request(1, "")
	bad.Context = &structpb.Struct{Fields: map[string]*structpb.Value{"x": structpb.NewStringValue("\xff")}}
	badAnswer := answer(request(1, ""), time.Hour)
	badAnswer.Results = []*fnv1.Result{{Message: "\xff"}}
	cases := map[string]struct {
		reason string
		req    *fnv1.RunFunctionRequest
		runner function.Runner
		want   string
	}{
		"Request":  {"a request without a digest is passed on", bad, echo(time.Hour), "encoding a request"},
		"Response": {"a response that cannot be written is passed on", request(1, ""), always(badAnswer, nil), "encoding a response"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var said []string
			o := options(t, t.TempDir())
			o.Progress = func(e progress.Event) { said = append(said, e.Text) }
			if rsp := call(t, intercept.Cache(tc.runner, o), "fn", tc.req); rsp.GetMeta().GetTtl() == nil {
				t.Errorf("%s: got %v", tc.reason, rsp)
			}
			if len(said) != 1 || !strings.Contains(said[0], tc.want) {
				t.Errorf("%s: it said %q", tc.reason, said)
			}
		})
	}
}

func TestCancelled(t *testing.T) {
	dir := t.TempDir()
	r := intercept.Cache(echo(time.Hour), options(t, dir))
	call(t, r, "fn", request(1, ""))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.RunFunction(ctx, "fn", request(1, "")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := intercept.PruneCache(ctx, dir, noon); !errors.Is(err, context.Canceled) {
		t.Errorf("pruning: got %v", err)
	}
}

// Calls of all kinds at once, each with its own answer.
func TestConcurrentCalls(t *testing.T) {
	r := intercept.Cache(echo(time.Hour), options(t, t.TempDir()))
	var calls sync.WaitGroup
	for i := range 64 {
		calls.Go(func() {
			req := request(float64(i%4), "tag")
			rsp, err := r.RunFunction(t.Context(), "fn", req)
			if err != nil || !proto.Equal(rsp, answer(req, time.Hour)) {
				t.Errorf("got %v, %v", rsp, err)
			}
			// An answer is its caller's.
			rsp.Context.Fields["size"] = structpb.NewStringValue("mine")
		})
	}
	e2e.Wait(t, &calls)
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
