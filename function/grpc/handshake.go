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

// A handshaker is credentials that tell a dialer how they were taken.
type handshaker struct {
	credentials.TransportCredentials
	dialer *dialer
}

// errUntrusted is all that is known if the other side hangs up after the TLS
// handshake: of its reason it may tell too late to be heard.
var errUntrusted = errors.New("nothing answered in gRPC after the TLS handshake: it may not trust the client's certificate")

// Clone returns a copy for the same dialer.
func (h handshaker) Clone() credentials.TransportCredentials {
	return handshaker{h.TransportCredentials.Clone(), h.dialer}
}

// ClientHandshake shakes hands, and checks on what follows whether it is gRPC.
func (h handshaker) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := h.TransportCredentials.ClientHandshake(ctx, authority, raw)
	if noTLS := (tls.RecordHeaderError{}); errors.As(err, &noTLS) {
		h.dialer.meet(errors.New("it does not speak TLS, which was expected"))
	}
	if err != nil {
		h.dialer.trusted(err)
		return nil, nil, err
	}
	if h.Info().SecurityProtocol == "tls" {
		h.dialer.trusted(errUntrusted)
	}
	return &checkedConn{Conn: conn, dialer: h.dialer}, info, nil
}

// An HTTP/2 server's first frame is SETTINGS (RFC 9113, section 3.4): a
// header of nine bytes with the type in the fourth.
const (
	frameHeader   = 9
	frameType     = 3
	frameSettings = 4
	tlsAlert      = 0x15
)

// A checkedConn is a connection that checks whether the other side's first words
// are HTTP/2. It is read by one goroutine.
type checkedConn struct {
	net.Conn
	dialer *dialer
	first  []byte
	judged bool
}

func (c *checkedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if !c.judged {
		c.judge(p[:n], err)
	}
	return n, err
}

func (c *checkedConn) judge(p []byte, err error) {
	c.first = append(c.first, p[:min(len(p), 80-len(c.first))]...)
	whole := len(c.first) >= frameHeader
	if !whole && err == nil {
		return
	}
	c.judged = true
	switch {
	case whole && c.first[frameType] == frameSettings:
		c.dialer.trusted(nil)
	case len(c.first) > 0:
		c.dialer.meet(describe(c.first))
	case refused(err):
		c.dialer.trusted(err)
	}
}

// refused reports whether err is the other side's refusal of our certificate,
// which it tells in TLS 1.3 only after the handshake.
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
