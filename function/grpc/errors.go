package grpc

import (
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/xfn-dev/xfn/internal/hint"
)

// A callError is the error of a call, with its gRPC status for status.FromError.
type callError struct {
	text   string
	status *status.Status
}

func (e callError) Error() string              { return e.text }
func (e callError) GRPCStatus() *status.Status { return e.status }

func newCallError(name string, err error, req proto.Message, limit int) error {
	st := status.Convert(err)
	text := st.Code().String()
	if st.Message() != "" {
		text += ": " + st.Message()
	}
	tooLarge := explainSize(st, req, limit)
	if tooLarge != "" {
		text = tooLarge
	}
	err = callError{text: fmt.Sprintf("calling function %q: %s", name, text), status: st}
	if tooLarge != "" {
		return hint.Wrap(err, "raise the limit, in MiB, with "+hint.MaxMessageSize)
	}
	return err
}

// explainSize returns which message exceeded which limit. Client and function report
// that in the same words, but only the function reports the size of the request.
func explainSize(st *status.Status, req proto.Message, limit int) string {
	var size, limitOfPeer int
	if st.Code() != codes.ResourceExhausted {
		return ""
	}
	if _, err := fmt.Sscanf(st.Message(), "grpc: received message larger than max (%d vs. %d)", &size, &limitOfPeer); err != nil {
		return ""
	}
	if size == proto.Size(req) && limitOfPeer != limit {
		return fmt.Sprintf("the request has %d bytes, but the function accepts at most %d", size, limitOfPeer)
	}
	return fmt.Sprintf("its response has %d bytes, more than the limit of %d", size, limitOfPeer)
}
