package suite

import (
	"context"
	"encoding/base64"

	"github.com/xfn-dev/xfn/internal/report"
	"github.com/xfn-dev/xfn/internal/session"
	"github.com/xfn-dev/xfn/internal/suite/check"
)

// subject returns what is to be checked of a result.
func (a *attempt) subject(ctx context.Context, r session.Result) *check.Subject {
	s := &check.Subject{
		Document: r.XR, XR: r.Full, Composed: r.Composed,
		Passes: r.Passes, ReadySince: r.ReadySince, Settled: r.Settled,
	}
	if s.XR == nil {
		s.XR = r.XR
	}
	s.Context, _ = r.Context["fields"].(map[string]any)
	s.Connection = connection(r.ConnectionDetails)
	if a.tape == nil {
		return s
	}
	s.Results, s.Ready = a.tape.results(), a.tape.ready()
	s.Trace = func() report.Trace { return a.tape.trace(ctx, a.out.Name()) }
	return s
}

// connection returns connection details as texts.
func connection(doc map[string]any) map[string]any {
	data, _ := doc["data"].(map[string]any)
	out := make(map[string]any, len(data))
	for key, v := range data {
		text, _ := v.(string)
		if raw, err := base64.StdEncoding.DecodeString(text); err == nil {
			out[key] = string(raw)
		}
	}
	return out
}
