package suite

import (
	"encoding/base64"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/xfn-dev/xfn/internal/report"
	"github.com/xfn-dev/xfn/internal/session"
	"github.com/xfn-dev/xfn/internal/suite/check"
)

// subject returns the part of a result that is checked.
func (a *attempt) subject(r session.Result) *check.Subject {
	s := &check.Subject{
		Document: r.XR, XR: r.Full, Composed: r.Composed,
		Passes: r.Passes, ReadySince: r.ReadySince, Settled: r.Settled,
	}
	if s.XR == nil {
		s.XR = r.XR
	}
	s.Context, _ = r.Context["fields"].(map[string]any)
	s.Connection = connection(r.ConnectionDetails)
	if a.calls == nil {
		return s
	}
	calls := a.calls.LastCalls()
	for _, c := range calls {
		for _, r := range report.ResultsOf(c.Response) {
			s.Results = append(s.Results, check.Reported{Step: c.Step, Result: r})
		}
	}
	if len(calls) > 0 {
		s.Ready = map[string]bool{}
		for name, r := range calls[len(calls)-1].Response.GetDesired().GetResources() {
			s.Ready[name] = r.GetReady() == fnv1.Ready_READY_TRUE
		}
	}
	s.Trace = func() report.Trace { return a.calls.Trace(a.out.Name()) }
	return s
}

// connection returns connection details as strings.
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
