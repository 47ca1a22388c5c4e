package grpc

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"

	"google.golang.org/grpc/credentials"
)

// A handshaker is credentials that record the result of each TLS handshake in a dialer.
type handshaker struct {
	credentials.TransportCredentials
	dialer *dialer
}

// errUntrusted is the reason to give if the server closes the connection after
// the TLS handshake. A server that rejects the client's certificate may close
// it before its TLS alert arrives.
var errUntrusted = errors.New("nothing answered in gRPC after the TLS handshake: it may not trust the client's certificate")

// Clone returns a copy that records results in the same dialer.
func (h handshaker) Clone() credentials.TransportCredentials {
	return handshaker{h.TransportCredentials.Clone(), h.dialer}
}

// ClientHandshake returns a connection that checks whether the server speaks gRPC.
func (h handshaker) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := h.TransportCredentials.ClientHandshake(ctx, authority, raw)
	if noTLS := (tls.RecordHeaderError{}); errors.As(err, &noTLS) {
		h.dialer.setAnswer(errors.New("it does not speak TLS, which was expected"))
	}
	if err != nil {
		h.dialer.setRefusal(err)
		return nil, nil, err
	}
	if h.Info().SecurityProtocol == "tls" {
		h.dialer.setRefusal(errUntrusted)
	}
	return &checkedConn{Conn: conn, dialer: h.dialer}, info, nil
}

// The first frame of an HTTP/2 server is SETTINGS (RFC 9113, section 3.4). A
// frame begins with a header of nine bytes, and the fourth is the type.
const (
	frameHeader   = 9
	frameType     = 3
	frameSettings = 4
	tlsAlert      = 0x15
)

// A checkedConn checks whether the server's first bytes are HTTP/2. Only one
// goroutine may read from it.
type checkedConn struct {
	net.Conn
	dialer  *dialer
	first   []byte
	checked bool
}

func (c *checkedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if !c.checked {
		c.check(p[:n], err)
	}
	return n, err
}

func (c *checkedConn) check(p []byte, err error) {
	c.first = append(c.first, p[:min(len(p), 80-len(c.first))]...)
	whole := len(c.first) >= frameHeader
	if !whole && err == nil {
		return
	}
	c.checked = true
	switch {
	case whole && c.first[frameType] == frameSettings:
		c.dialer.setRefusal(nil)
	case len(c.first) > 0:
		c.dialer.setAnswer(describe(c.first))
	case refused(err):
		c.dialer.setRefusal(err)
	}
}

// refused reports whether a read failed because the server rejected the
// client's certificate. In TLS 1.3 it does so only after the handshake.
func refused(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "remote error"
}

func describe(first []byte) error {
	if first[0] == tlsAlert {
		return errors.New("it speaks TLS where plaintext gRPC was expected")
	}
	line, _, _ := strings.Cut(string(first), "\r")
	line, _, _ = strings.Cut(line, "\n")
	return fmt.Errorf("it answered %q where gRPC was expected", line)
}
