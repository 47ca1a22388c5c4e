package grpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
)

// A dialer opens connections and remembers why none of them became one that
// gRPC can use, which gRPC itself does not tell before a call is made.
type dialer struct {
	stranger chan struct{} // closed when something answered that is not gRPC

	mu     sync.Mutex
	latest error // how the latest attempt failed to connect; nil if it did connect
	answer error // what the stranger said
}

func newDialer() *dialer {
	return &dialer{stranger: make(chan struct{}), latest: errors.New("no address of it was found")}
}

// dial takes an address as gRPC hands it to custom dialers.
func (d *dialer) dial(ctx context.Context, address string) (net.Conn, error) {
	network := "tcp"
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		network, address = "unix", strings.TrimPrefix(path, "//")
	}
	if strings.HasPrefix(address, "\x00") {
		network = "unix" // an abstract socket
	}
	d.attempted(errors.New("nothing answered"))
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	d.attempted(err)
	if err != nil {
		return nil, err
	}
	return &checkedConn{Conn: conn, report: d.meet}, nil
}

func (d *dialer) attempted(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.latest = err
}

// meet takes note of the first bytes that somebody said who does not speak gRPC.
func (d *dialer) meet(first []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.answer != nil {
		return
	}
	d.answer = describe(first)
	close(d.stranger)
}

// reason says why there is no connection that gRPC can use.
func (d *dialer) reason() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.answer != nil:
		return d.answer
	case d.latest != nil:
		return d.latest
	default:
		return errors.New("the connection was accepted, but nothing answered in gRPC")
	}
}

// explain adds to the end of a wait what was wrong until then.
func (d *dialer) explain(end error) error {
	reason := d.reason()
	if errors.Is(end, reason) {
		return end
	}
	return fmt.Errorf("%w: %w", end, reason)
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
	report func(first []byte)
	first  []byte
	judged bool
}

func (c *checkedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if !c.judged {
		c.judge(p[:n], err != nil)
	}
	return n, err
}

func (c *checkedConn) judge(p []byte, last bool) {
	c.first = append(c.first, p[:min(len(p), 80-len(c.first))]...)
	whole := len(c.first) >= frameHeader
	if !whole && !last {
		return
	}
	c.judged = true
	if len(c.first) > 0 && (!whole || c.first[frameType] != frameSettings) {
		c.report(c.first)
	}
}

func describe(first []byte) error {
	if first[0] == tlsAlert {
		return errors.New("it speaks TLS where plaintext gRPC was expected")
	}
	line, _, _ := strings.Cut(string(first), "\r")
	line, _, _ = strings.Cut(line, "\n")
	return fmt.Errorf("it answered %q where gRPC was expected", line)
}
