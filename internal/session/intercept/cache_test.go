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
	"sync"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
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

// noon is the time at which the tests begin. It is long before the times of real files.
var noon = time.Date(2024, 1, 1, 12, 0, 0, 0, time.UTC)

func at(t time.Time) func() time.Time { return func() time.Time { return t } }

// request returns a request with size in its input, a credential, and the given tag.
func request(size float64, tag string) *fnv1.RunFunctionRequest {
	return &fnv1.RunFunctionRequest{
		Meta:  &fnv1.RequestMeta{Tag: tag},
		Input: &structpb.Struct{Fields: map[string]*structpb.Value{"size": structpb.NewNumberValue(size), "b": structpb.NewBoolValue(true), "a": structpb.NewNullValue()}},
		Credentials: map[string]*fnv1.Credentials{"door": {Source: &fnv1.Credentials_CredentialData{
			CredentialData: &fnv1.CredentialData{Data: map[string][]byte{"key": []byte("open-sesame")}},
		}}},
	}
}

// answer returns the response of the Runner echo to the request, with the given TTL.
func answer(req *fnv1.RunFunctionRequest, ttl time.Duration) *fnv1.RunFunctionResponse {
	return &fnv1.RunFunctionResponse{
		Meta:    &fnv1.ResponseMeta{Tag: req.GetMeta().GetTag(), Ttl: durationpb.New(ttl)},
		Context: req.GetInput(),
	}
}

// echo returns a Runner that responds with the request's input as the context,
// and with the given TTL.
func echo(ttl time.Duration) function.Runner {
	return function.RunnerFunc(func(_ context.Context, _ string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		return answer(req, ttl), nil
	})
}

// always returns a Runner that returns rsp and err.
func always(rsp *fnv1.RunFunctionResponse, err error) function.Runner {
	return function.RunnerFunc(func(context.Context, string, *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		return proto.CloneOf(rsp), err
	})
}

// byName implements CacheOptions.Identity: a function's name is its identity.
func byName(name string) string { return name }

// options returns CacheOptions that fail the test on any progress event.
func options(t *testing.T, dir string) intercept.CacheOptions {
	t.Helper()
	return intercept.CacheOptions{Dir: dir, Identity: byName, Now: at(noon), Progress: func(e progress.Event) { t.Errorf("unexpected event: %s", e.Text) }}
}

// warnings returns CacheOptions, and a func that fails the test unless the only event was a warning
// that has want.
func warnings(t *testing.T, dir string) (o intercept.CacheOptions, warned func(reason, want string)) {
	var events []progress.Event
	o = options(t, dir)
	o.Progress = func(e progress.Event) { events = append(events, e) }
	return o, func(reason, want string) {
		if len(events) != 1 || events[0].Kind != progress.Warning || !strings.Contains(events[0].Text, want) {
			t.Errorf("%s: got the warnings %v", reason, events)
		}
	}
}

func call(t testing.TB, r function.Runner, name string, req *fnv1.RunFunctionRequest) *fnv1.RunFunctionResponse {
	t.Helper()
	return e2e.Must(r.RunFunction(t.Context(), name, req))(t)
}

// TestSecondCall checks whether a second call uses the cached response of a
// first call. The first call is at noon, for function "fn", with size 1 and tag
// "one"; the TTL of its response is an hour.
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
	alien.ProtoReflect().SetUnknown([]byte{0xf8, 0x3f, 1}) // the undefined field 1023, a varint
	cases := map[string]struct {
		reason   string
		req      *fnv1.RunFunctionRequest
		identity string
		now      time.Time
		maxTTL   time.Duration
		wantHit  bool
	}{
		"Same":          {"an equal call uses the cache", request(1, "one"), "v1", noon, 0, true},
		"Tag":           {"the tag is ignored", request(1, "two"), "v1", noon, 0, true},
		"Capabilities":  {"the capabilities of the caller are ignored", capable, "v1", noon, 0, true},
		"NoMeta":        {"a request without meta uses the cache", withoutMeta, "v1", noon, 0, true},
		"Input":         {"another input is another request", request(2, "one"), "v1", noon, 0, false},
		"Credentials":   {"other credentials are another request", door, "v1", noon, 0, false},
		"EmptyResource": {"a required resource without matches is another request", resources, "v1", noon, 0, false},
		"UnknownField":  {"unknown fields of a later protocol are compared", alien, "v1", noon, 0, false},
		"Identity":      {"another identity is another function", request(1, "one"), "v2", noon, 0, false},
		"NoIdentity":    {"a function without an identity is called", request(1, "one"), "", noon, 0, false},
		"LastMoment":    {"a response is used until its TTL ends", request(1, "one"), "v1", noon.Add(time.Hour - 1), 0, true},
		"Over":          {"a response is not used after its TTL", request(1, "one"), "v1", noon.Add(time.Hour), 0, false},
		"SmallerMaxTTL": {"a response that was cached with a larger limit is not used", request(1, "one"), "v1", noon, time.Minute, false},
		"WithinMaxTTL":  {"a response is used when its remaining time is within the limit", request(1, "one"), "v1", noon.Add(59 * time.Minute), time.Minute, true},
		"ClockBack":     {"a clock that was set back does not extend a TTL", request(1, "one"), "v1", noon.Add(-24 * time.Hour), 0, false},
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

			e2e.Equal(t, tc.reason+": a hit", tc.wantHit, len(calls.Calls()) == 0)
			e2e.Equal(t, tc.reason+": the response differs from the function's", answer(tc.req, time.Hour), got, protocmp.Transform())
			e2e.Equal(t, "the cache does not change the request", sent, tc.req, protocmp.Transform())
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
		"TTL":         {"a response with a TTL is cached", answer(request(1, ""), time.Nanosecond), nil, true},
		"Warning":     {"a response with a warning is cached", warning, nil, true},
		"Forever":     {"a very long TTL is limited", answer(request(1, ""), 1<<63-1), nil, true},
		"NoMeta":      {"a response without meta is not cached", &fnv1.RunFunctionResponse{}, nil, false},
		"NoTTL":       {"a response without a TTL is not cached", &fnv1.RunFunctionResponse{Meta: &fnv1.ResponseMeta{Tag: "x"}}, nil, false},
		"ZeroTTL":     {"a response with a TTL of zero is not cached", answer(request(1, ""), 0), nil, false},
		"NegativeTTL": {"a response with a negative TTL is not cached", answer(request(1, ""), -time.Second), nil, false},
		"Fatal":       {"a fatal result is not cached", fatal, nil, false},
		"TooLarge":    {"a response above the size limit is not cached", large, nil, false},
		"Error":       {"an error is not cached", nil, broken, false},
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
			e2e.Equal(t, tc.reason+": kept", tc.wantKept, len(calls.Calls()) == 1)
			if n := len(e2e.Names(t, dir)); n == 0 == tc.wantKept {
				t.Errorf("%s: the folder has %d files", tc.reason, n)
			}
		})
	}
}

func TestMaxTTL(t *testing.T) {
	for name, tc := range map[string]struct {
		reason                       string
		maxTTL, ttl, lasts, endsWith time.Duration
	}{
		"Default":  {"the default limit is a day, as in Crossplane", 0, 100 * time.Hour, 24*time.Hour - 1, 24 * time.Hour},
		"Given":    {"the limit can be set", time.Minute, time.Hour, time.Minute - 1, time.Minute},
		"NotLower": {"a shorter TTL is not extended", 100 * time.Hour, time.Hour, time.Hour - 1, time.Hour},
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
				e2e.Equal(t, fmt.Sprintf("%s: after %v the function was called", tc.reason, after), []int{1, 1, 2}[i], len(calls.Calls()))
			}
		})
	}
}

func TestFilesAreTheOwners(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	call(t, intercept.Cache(echo(time.Hour), options(t, dir)), "secret-fn", request(1, "tagged"))
	files := e2e.Names(t, dir)
	if len(files) != 1 {
		t.Fatalf("got files %q", files)
	}
	data := e2e.ReadFile(t, dir, files[0])
	for _, private := range []string{"open-sesame", "secret-fn", "door"} {
		if strings.Contains(data, private) {
			t.Errorf("the cache file contains %q from the request", private)
		}
	}
	if runtime.GOOS == "windows" {
		return // Windows has no such file modes.
	}
	for path, want := range map[string]fs.FileMode{dir: 0o700, filepath.Join(dir, files[0]): 0o600} {
		e2e.Equal(t, path+": mode", want, e2e.Must(os.Stat(path))(t).Mode().Perm())
	}
}

// TestUnusableFolder: if the folder of the cache cannot be used, one warning is
// reported, and calls succeed.
func TestUnusableFolder(t *testing.T) {
	cases := map[string]struct {
		reason string
		dir    func(t *testing.T) (dir string, spoil func())
		want   string
	}{
		"File": {"a file is not a folder", func(t *testing.T) (string, func()) {
			path := filepath.Join(t.TempDir(), "f")
			e2e.WriteFile(t, path, "x")
			return path, func() {}
		}, "making folder"},
		"Gone": {"a folder can be removed while it is used", func(t *testing.T) (string, func()) {
			dir := filepath.Join(t.TempDir(), "d")
			return dir, func() { e2e.NoError(t, os.RemoveAll(dir)) }
		}, "caching a response"},
		"NoFolder": {"a folder can be replaced by a file", func(t *testing.T) (string, func()) {
			dir := filepath.Join(t.TempDir(), "d")
			return dir, func() {
				e2e.NoError(t, os.RemoveAll(dir))
				e2e.WriteFile(t, dir, "x")
			}
		}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir, spoil := tc.dir(t)
			o, warned := warnings(t, dir)
			r := intercept.Cache(echo(time.Hour), o)
			spoil()
			for range 3 {
				req := request(1, "x")
				e2e.Equal(t, tc.reason, answer(req, time.Hour), call(t, r, "fn", req), protocmp.Transform())
			}
			warned(tc.reason, tc.want)
		})
	}
}

// TestInvalidUTF8: if a request or response cannot be encoded, the response is
// not cached, and the call succeeds.
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
			o, warned := warnings(t, t.TempDir())
			if rsp := call(t, intercept.Cache(tc.runner, o), "fn", tc.req); rsp.GetMeta().GetTtl() == nil {
				t.Errorf("%s: got %v", tc.reason, rsp)
			}
			warned(tc.reason, tc.want)
		})
	}
}

func TestCancelled(t *testing.T) {
	dir := t.TempDir()
	r := intercept.Cache(echo(time.Hour), options(t, dir))
	call(t, r, "fn", request(1, ""))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e2e.ErrorIs(t, "a call with a canceled context is an error, despite the cached response", e2e.Err(r.RunFunction(ctx, "fn", request(1, ""))), context.Canceled)
	e2e.ErrorIs(t, "pruning with a canceled context is an error", e2e.Err(intercept.PruneCache(ctx, dir, noon)), context.Canceled)
}

// TestConcurrentCalls: each of many concurrent calls gets its own response.
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
			// A caller may change its response. Other callers must not see the change.
			rsp.Context.Fields["size"] = structpb.NewStringValue("mine")
		})
	}
	e2e.Wait(t, &calls)
}
