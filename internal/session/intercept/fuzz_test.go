package intercept

import (
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
)

// FuzzParse: replaying a recorded call with arbitrary content returns either a
// response or an error.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{"function":"f","step":"s","request":{},"response":{"meta":{"tag":"t"}}}`, `{"error":"e"}`, `{"response":null}`, `[]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := parseCall("f", text)
		if err != nil {
			return
		}
		if rsp, err := c.answer(&fnv1.RunFunctionRequest{}); (rsp == nil) == (err == nil) {
			t.Errorf("got %v, %v", rsp, err)
		}
	})
}
