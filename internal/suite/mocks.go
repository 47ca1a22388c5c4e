package suite

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/builtin/sdk"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/suite/spec"
)

// literal returns a Runner that always returns response. Desired state and
// context are copied from the request first; response is merged into them.
func literal(response map[string]any) (function.Runner, error) {
	text, err := json.Marshal(response)
	if err != nil {
		return nil, fmt.Errorf("encoding the response: %w", err)
	}
	answer := &fnv1.RunFunctionResponse{}
	if err := protojson.Unmarshal(text, answer); err != nil {
		if field, text := sdk.ResponseFault(response); text != "" {
			return nil, errors.New(field + " " + text)
		}
		_, reason, _ := strings.Cut(strings.ReplaceAll(err.Error(), "\u00a0", " "), ": ")
		return nil, fmt.Errorf("response: invalid RunFunctionResponse: %s", cmp.Or(reason, err.Error()))
	}
	return function.RunnerFunc(func(_ context.Context, _ string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		rsp := &fnv1.RunFunctionResponse{
			Meta:    &fnv1.ResponseMeta{Tag: req.GetMeta().GetTag()},
			Desired: proto.CloneOf(req.GetDesired()),
			Context: proto.CloneOf(req.GetContext()),
		}
		proto.Merge(rsp, answer)
		return rsp, nil
	}), nil
}

func (h *inputResolver) mocks() map[string]function.Runner {
	steps := map[string]function.Runner{}
	for _, name := range manifest.Keys(h.form.Mocks) {
		r, err := h.mock(h.form.Mocks[name])
		if err != nil {
			h.fault(fmt.Errorf("mocks.%s: %w", name, err), "mocks", name)
			continue
		}
		steps[name] = r
	}
	return steps
}

func (a *attempt) mock(m spec.Mock) (function.Runner, error) {
	switch {
	case (m.Response != nil) == (m.Recording != ""):
		return nil, errors.New("expected either a response or a recording")
	case m.Response != nil:
		return literal(m.Response)
	case a.options.Recording == nil:
		return nil, errors.New("recordings are not supported here")
	default:
		return a.options.Recording(a.path(m.Recording))
	}
}
