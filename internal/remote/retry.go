package remote

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"slices"
)

func busy(status int) bool {
	return slices.Contains([]int{
		http.StatusRequestTimeout,
		http.StatusTooManyRequests,
		http.StatusInternalServerError,
		http.StatusBadGateway,
		http.StatusServiceUnavailable,
		http.StatusGatewayTimeout,
	}, status)
}

// lost says whether err means that a connection broke or stalled. One that is
// refused is not lost: more often than not the address is wrong.
func lost(err error) bool {
	if errors.Is(err, context.Canceled) {
		return false
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) {
		return true
	}
	var broken textproto.ProtocolError
	if errors.As(err, &broken) {
		return true // in the middle of a header
	}
	var op *net.OpError
	if errors.As(err, &op) && (op.Op == "read" || op.Op == "write") {
		return true
	}
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// discard reads the rest of a short answer, so that its connection can be used
// again.
func discard(resp *http.Response) {
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
	_ = resp.Body.Close()
}
