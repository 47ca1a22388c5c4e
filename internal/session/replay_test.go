package session_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/session/intercept"
)

// A replayer is a function.Runner that responds with recorded responses. The calls must
// equal the recorded calls, in the same order.
type replayer struct {
	mu    sync.Mutex
	calls []recordedCall
}

// recordedCall is a line of a recording: a function, its request, and its
// response or error. Messages are in protobuf's JSON form.
type recordedCall struct {
	Function string          `json:"function"`
	Request  json.RawMessage `json:"request"`
	Response json.RawMessage `json:"response"`
	Error    json.RawMessage `json:"error"`
}

// newReplayer returns a replayer of the recorded calls in a text, which has one JSON
// object per line. A call must have the recorded function and request; fields
// that intercept.Mask masks may differ.
func newReplayer(t *testing.T, text string) *replayer {
	t.Helper()
	p := &replayer{}
	for line := range strings.Lines(text) {
		var c recordedCall
		e2e.NoError(t, json.Unmarshal([]byte(line), &c))
		p.calls = append(p.calls, c)
	}
	return p
}

// RunFunction returns the next recorded response, with the tag of the request.
func (p *replayer) RunFunction(_ context.Context, name string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.calls) == 0 {
		return nil, fmt.Errorf("function %q is called after the last recorded call", name)
	}
	c := p.calls[0]
	if c.Function != name {
		return nil, fmt.Errorf("the recorded call is of function %q, not %q", c.Function, name)
	}
	if err := sameRequest(c.Request, req); err != nil {
		return nil, fmt.Errorf("calling function %q: %w", name, err)
	}
	p.calls = p.calls[1:]
	if c.Error != nil {
		return nil, fmt.Errorf("calling function %q: %s", name, c.Error)
	}
	rsp := &fnv1.RunFunctionResponse{}
	if err := protojson.Unmarshal(c.Response, rsp); err != nil {
		return nil, fmt.Errorf("reading the recorded response of function %q: %w", name, err)
	}
	if rsp.GetMeta().GetTag() != "" {
		rsp.Meta.Tag = req.GetMeta().GetTag()
	}
	return rsp, nil
}

func (p *replayer) left() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.calls)
}

func sameRequest(want json.RawMessage, got *fnv1.RunFunctionRequest) error {
	recorded := &fnv1.RunFunctionRequest{}
	if err := protojson.Unmarshal(want, recorded); err != nil {
		return fmt.Errorf("reading the recorded request: %w", err)
	}
	w, err := intercept.Mask(recorded)
	if err != nil {
		return err
	}
	g, err := intercept.Mask(got)
	if err != nil {
		return err
	}
	if diff := cmp.Diff(w, g); diff != "" {
		return fmt.Errorf("it was called with another request (-recorded +now):\n%s", diff)
	}
	return nil
}
