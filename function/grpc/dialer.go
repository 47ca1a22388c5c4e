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
// that expects TLS does so when it gets plaintext.
var ErrSilent = errors.New("the connection was accepted, but nothing answered in gRPC")

// What is wrong with attempts until one has ended.
var (
	errUnknown = errors.New("no address of it was found")
	errWaiting = errors.New("nothing answered")
)

// A dialer opens connections and remembers why none of them became one that
// gRPC can use, which gRPC itself does not tell before a call is made.
type dialer struct {
	stranger chan struct{} // closed when something answered that is not gRPC
	special  func(ctx context.Context, address string) (net.Conn, error)

	mu      sync.Mutex
	latest  error // how the latest attempt failed to connect; nil if it did connect
	refusal error // why the two may not trust each other; nil once they do
	answer  error // what the stranger said
}

// newDialer returns one that connects by special, if that is not nil.
func newDialer(special func(context.Context, string) (net.Conn, error)) *dialer {
	return &dialer{stranger: make(chan struct{}), special: special, latest: errUnknown}
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
	d.begun()
	conn, err := d.connect(ctx, network, address)
	d.attempted(err)
	return conn, err
}

func (d *dialer) connect(ctx context.Context, network, address string) (net.Conn, error) {
	if d.special != nil {
		return d.special(ctx, address)
	}
	return (&net.Dialer{}).DialContext(ctx, network, address)
}

// begun takes note of an attempt. How an earlier one failed is still worth more.
func (d *dialer) begun() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.latest == errUnknown {
		d.latest = errWaiting
	}
}

func (d *dialer) attempted(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.latest = err
	if err != nil {
		d.refusal = nil
	}
}

// trusted takes note of how the two sides came to terms.
func (d *dialer) trusted(refusal error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.refusal = refusal
}

// meet takes note that somebody answered who does not speak gRPC.
func (d *dialer) meet(answer error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.answer != nil {
		return
	}
	d.answer = answer
	close(d.stranger)
}

// reason says why there is no connection that gRPC can use.
func (d *dialer) reason() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.answer != nil:
		return d.answer
	case d.refusal != nil:
		return d.refusal
	case d.latest != nil:
		return d.latest
	default:
		return ErrSilent
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
