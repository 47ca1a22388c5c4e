package grpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
)

// ErrSilent means that a server accepted the connection and did not answer. A server
// that expects TLS does not answer a client that sends plaintext.
var ErrSilent = errors.New("the connection was accepted, but nothing answered in gRPC")

// errUnknown and errWaiting are the reasons that a dialer returns until its first attempt
// to connect has ended.
var (
	errUnknown = errors.New("no address of the target was found")
	errWaiting = errors.New("nothing answered")
)

// A dialer opens connections, and records why gRPC cannot use them. gRPC itself
// does not report the reason before a call fails.
type dialer struct {
	notGRPC chan struct{} // closed when a server answers with another protocol
	special func(ctx context.Context, address string) (net.Conn, error)

	mu      sync.Mutex
	latest  error // the error of the latest attempt to connect
	refusal error // why client and server may not trust each other
	answer  error // what the server answered instead of gRPC
}

// newDialer returns a dialer that connects with special, or directly if special is nil.
func newDialer(special func(context.Context, string) (net.Conn, error)) *dialer {
	return &dialer{notGRPC: make(chan struct{}), special: special, latest: errUnknown}
}

// dial connects to an address in the form that gRPC passes to custom dialers.
func (d *dialer) dial(ctx context.Context, address string) (conn net.Conn, err error) {
	network := "tcp"
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		network, address = "unix", strings.TrimPrefix(path, "//")
	}
	if strings.HasPrefix(address, "\x00") {
		network = "unix" // the address of an abstract unix socket
	}
	d.update(func() {
		if d.latest == errUnknown { // keep the error of an earlier attempt, which is more specific
			d.latest = errWaiting
		}
	})
	if d.special != nil {
		conn, err = d.special(ctx, address)
	} else {
		conn, err = (&net.Dialer{}).DialContext(ctx, network, address)
	}
	d.update(func() {
		if d.latest = err; err != nil {
			d.refusal = nil
		}
	})
	return conn, err
}

func (d *dialer) update(change func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change()
}

// setRefusal records why client and server may not trust each other, or nil once they do.
func (d *dialer) setRefusal(refusal error) { d.update(func() { d.refusal = refusal }) }

// setAnswer records that a server answered with another protocol.
func (d *dialer) setAnswer(answer error) {
	d.update(func() {
		if d.answer == nil {
			d.answer = answer
			close(d.notGRPC)
		}
	})
}

// reason returns why there is no connection that gRPC can use.
func (d *dialer) reason() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, err := range []error{d.answer, d.refusal, d.latest} {
		if err != nil {
			return err
		}
	}
	return ErrSilent
}

// explain returns end, the error that ended the wait for a connection, with the reason why
// there is no connection.
func (d *dialer) explain(end error) error {
	reason := d.reason()
	if errors.Is(end, reason) {
		return end
	}
	return fmt.Errorf("%w: %w", end, reason)
}
