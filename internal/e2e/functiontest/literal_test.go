package functiontest_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
)

// recorded is a line of a golden calls.jsonl.
type recorded struct {
	Function string          `json:"function"`
	Request  json.RawMessage `json:"request"`
	Response json.RawMessage `json:"response"`
	Error    *struct {
		Code    codes.Code `json:"code"`
		Message string     `json:"message"`
	} `json:"error"`
}

func TestLiteralAnswersAsRecorded(t *testing.T) {
	files := e2e.Glob(t, "testdata/calls/*.jsonl")
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".jsonl"), func(t *testing.T) {
			for _, call := range readCalls(t, file) {
				if call.Function == "function-literal" {
					replay(t, call)
				}
			}
		})
	}
}

func readCalls(t *testing.T, file string) []recorded {
	t.Helper()
	f := e2e.Must(os.Open(file))(t)
	defer f.Close()
	var calls []recorded
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var call recorded
		e2e.NoError(t, json.Unmarshal(lines.Bytes(), &call))
		calls = append(calls, call)
	}
	if lines.Err() != nil {
		t.Fatal(lines.Err())
	}
	return calls
}

func replay(t *testing.T, call recorded) {
	t.Helper()
	req, want := &fnv1.RunFunctionRequest{}, &fnv1.RunFunctionResponse{}
	e2e.NoError(t, protojson.Unmarshal(call.Request, req))
	got, err := functiontest.Literal().RunFunction(t.Context(), call.Function, req)
	if call.Error != nil {
		e2e.Equal(t, "the function answers with the recorded code", call.Error.Code, status.Code(err))
		e2e.Equal(t, "the function answers with the recorded message", call.Error.Message, status.Convert(err).Message())
		return
	}
	e2e.NoError(t, err)
	e2e.NoError(t, protojson.Unmarshal(call.Response, want))
	e2e.Equal(t, "the function answers with the recorded response", want, got, protocmp.Transform())
}

// request returns a request with an input and more fields, in JSON.
func request(t *testing.T, input string, more ...string) *fnv1.RunFunctionRequest {
	t.Helper()
	req := &fnv1.RunFunctionRequest{}
	fields := strings.Join(append([]string{`"input": ` + input}, more...), ",")
	e2e.NoError(t, protojson.Unmarshal([]byte("{"+fields+"}"), req))
	return req
}

func TestLiteral(t *testing.T) {
	cases := map[string]struct {
		reason, input string
		more          []string
		tag, err      string
	}{
		"Nothing":      {reason: "an empty input is an error", input: `{}`, err: `reading the input of function "f": the input has none of the fields response, sequence and grpcError`},
		"WrongType":    {reason: "a field of the wrong type is an error", input: `{"sequence": 1}`, err: `reading the input of function "f"`},
		"WrongField":   {reason: "an unknown field of a response is an error", input: `{"response": {"dessired": {}}}`, err: `reading the response in the input of function "f"`},
		"SequenceZero": {reason: "a request without required resources gets the first element", input: `{"sequence": [{"meta": {"tag": "a"}}, {"meta": {"tag": "b"}}]}`, tag: "a"},
		"SequenceOne":  {reason: "keys of extra resources are counted", input: `{"sequence": [{"meta": {"tag": "a"}}, {"meta": {"tag": "b"}}]}`, more: []string{`"extra_resources": {"x": {}}`}, tag: "b"},
		"SequenceSum":  {reason: "equal keys of required and extra resources are both counted", input: `{"sequence": [{}, {}, {"meta": {"tag": "c"}}, {}]}`, more: []string{`"extra_resources": {"x": {}}`, `"required_resources": {"x": {}}`}, tag: "c"},
		"SequencePast": {reason: "more keys than elements select the last element", input: `{"sequence": [{"meta": {"tag": "a"}}, {"meta": {"tag": "b"}}]}`, more: []string{`"extra_resources": {"x": {}}`, `"required_resources": {"x": {}, "y": {}}`}, tag: "b"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rsp, err := functiontest.Literal().RunFunction(t.Context(), "f", request(t, tc.input, tc.more...))
			if tc.err != "" {
				e2e.ErrorHas(t, tc.reason, err, tc.err)
				return
			}
			e2e.NoError(t, err)
			e2e.Equal(t, tc.reason, tc.tag, rsp.GetMeta().GetTag())
		})
	}
}
