package functiontest_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
)

func TestRecorderKeepsCopies(t *testing.T) {
	cause := errors.New("no")
	rec := functiontest.Record(function.RunnerFunc(func(_ context.Context, name string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		req.Meta.Tag = "changed by the function"
		if name == "bad" {
			return nil, cause
		}
		return &fnv1.RunFunctionResponse{Meta: &fnv1.ResponseMeta{Tag: "answer"}}, nil
	}))
	req := &fnv1.RunFunctionRequest{Meta: &fnv1.RequestMeta{Tag: "ask"}}
	rsp, err := rec.RunFunction(t.Context(), "good", req)
	if err != nil {
		t.Fatal(err)
	}
	rsp.Meta.Tag = "changed by the caller"
	if _, err := rec.RunFunction(t.Context(), "bad", req); !errors.Is(err, cause) {
		t.Errorf("error: got %v, want %v", err, cause)
	}

	calls := rec.Calls()
	if len(calls) != 2 {
		t.Fatalf("got %d calls, want 2", len(calls))
	}
	if c := calls[0]; c.Function != "good" || c.Request.GetMeta().GetTag() != "ask" || c.Response.GetMeta().GetTag() != "answer" || c.Err != nil {
		t.Errorf("first call: got %+v", c)
	}
	if c := calls[1]; c.Function != "bad" || c.Response != nil || !errors.Is(c.Err, cause) {
		t.Errorf("second call: got %+v", c)
	}
}

func TestRecorderTakesCallsAtOnce(t *testing.T) {
	rec := functiontest.Record(functiontest.Literal())
	req := request(t, `{"response": {}}`)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { _, _ = rec.RunFunction(t.Context(), "f", req) })
	}
	e2e.Wait(t, &wg)
	if got := len(rec.Calls()); got != 20 {
		t.Errorf("got %d calls, want 20", got)
	}
}
