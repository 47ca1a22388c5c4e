package grpc

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net"
	"strings"
	"sync/atomic"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	fnv1beta1 "github.com/crossplane/function-sdk-go/proto/v1beta1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/xfn-dev/xfn/internal/hint"
)

// DefaultMaxMessageSize is the default limit for the size of a message, in bytes. The
// default of gRPC, 4 MiB, is less than the desired state of large Compositions.
const DefaultMaxMessageSize = 64 << 20

// reconnect is the backoff between attempts to connect. Its first pauses are
// short, because a function that has just started listens within milliseconds.
var reconnect = backoff.Config{
	BaseDelay:  time.Millisecond,
	Multiplier: 1.3,
	Jitter:     0.2,
	MaxDelay:   50 * time.Millisecond,
}

// Options are the options of a Client. The zero value works.
type Options struct {
	// MaxMessageSize limits the size of a response, in bytes. Zero means
	// DefaultMaxMessageSize.
	MaxMessageSize int
	// Certificates are for a function that is served with TLS. Nil means plaintext.
	Certificates *Certificates
	// ServerName is the name in the function's certificate. Empty means the host
	// of the target, or "localhost" for a unix socket.
	ServerName string
	// RoundRobin distributes calls over all addresses of the target, such as the
	// addresses of the pods behind "dns:///host:port". Otherwise the first address that
	// answers gets all calls.
	RoundRobin bool
	// Dial connects to the TCP address of the target, for example through a tunnel. Nil
	// means a direct connection.
	Dial func(ctx context.Context, address string) (net.Conn, error)
}

// A Client is a function.Runner that calls one function over gRPC. It must be closed.
type Client struct {
	target string
	conn   *grpc.ClientConn
	dialer *dialer
	beta   atomic.Bool // true if the function serves only v1beta1
}

// Dial returns a Client for the function at target: "host:port", "unix:///path", or
// another target of gRPC's name resolution, such as "dns:///host:port". Dial does not
// connect to the function: Connect, WaitReady or the first call connects.
//
// The Client uses no proxy, and no gRPC service configuration from DNS.
func Dial(target string, opts Options) (*Client, error) {
	if scheme, _, isURL := strings.Cut(target, "://"); isURL && resolver.Get(scheme) == nil {
		return nil, fmt.Errorf("connecting to %q: expected host:port, unix:///path or dns:///host:port, got the scheme %q", target, scheme)
	}
	limit := cmp.Or(opts.MaxMessageSize, DefaultMaxMessageSize)
	d := newDialer(opts.Dial)
	policy := "pick_first"
	if opts.RoundRobin {
		policy = "round_robin"
	}
	conn, err := grpc.NewClient(qualify(target),
		grpc.WithDefaultServiceConfig(fmt.Sprintf(`{"loadBalancingConfig": [{%q: {}}]}`, policy)),
		grpc.WithTransportCredentials(handshaker{opts.Certificates.client(opts.ServerName), d}),
		grpc.WithContextDialer(d.dial),
		grpc.WithDisableServiceConfig(),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: reconnect, MinConnectTimeout: 20 * time.Second}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(limit), grpc.MaxCallSendMsgSize(math.MaxInt32)))
	if err != nil {
		return nil, fmt.Errorf("connecting to %q: %w", target, err)
	}
	return &Client{target: target, conn: conn, dialer: d}, nil
}

// qualify adds the scheme passthrough to a target that has no scheme, so that gRPC does
// not resolve its host. The dialer then resolves the host, reports why a lookup fails, and
// tries all addresses concurrently.
func qualify(target string) string {
	scheme, _, _ := strings.Cut(target, ":")
	if resolver.Get(scheme) == nil {
		return "passthrough:///" + target
	}
	return target
}

// Connect makes one attempt to connect to each address of the target. An attempt that
// neither succeeds nor fails lasts until ctx is done.
func (c *Client) Connect(ctx context.Context) error {
	return c.wait(ctx, func(s connectivity.State) bool { return s == connectivity.TransientFailure })
}

// WaitReady connects, and tries again while no server listens. It returns an error
// when ctx is done, or as soon as a server answers with another protocol than gRPC.
func (c *Client) WaitReady(ctx context.Context) error {
	return c.wait(ctx, func(connectivity.State) bool { return false })
}

func (c *Client) wait(ctx context.Context, failed func(connectivity.State) bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-c.dialer.notGRPC:
			cancel(c.dialer.reason())
		case <-ctx.Done():
		}
	}()
	for ctx.Err() == nil {
		state := c.conn.GetState()
		switch {
		case state == connectivity.Ready:
			return nil
		case failed(state):
			return fmt.Errorf("connecting to %q: %w", c.target, c.dialer.reason())
		}
		c.leave(ctx, state)
	}
	return fmt.Errorf("connecting to %q: %w", c.target, c.dialer.explain(context.Cause(ctx)))
}

// repeatConnect is the time after which Connect is called again on an idle connection. gRPC may
// ignore a call while a connection is becoming idle.
const repeatConnect = 100 * time.Millisecond

// leave waits until the connection has left a state, or ctx is done. If the state is idle, leave
// connects, and waits for repeatConnect at most.
func (c *Client) leave(ctx context.Context, state connectivity.State) {
	if state == connectivity.Idle {
		c.conn.Connect()
		short, cancel := context.WithTimeout(ctx, repeatConnect)
		defer cancel()
		ctx = short
	}
	c.conn.WaitForStateChange(ctx, state)
}

// RunFunction calls the function by v1, or by v1beta1 if it serves only that. If the
// function returned an error, the error has its gRPC status. If ctx is done, the
// error wraps its cause.
func (c *Client) RunFunction(ctx context.Context, name string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	rsp := &fnv1.RunFunctionResponse{}
	err := c.invoke(ctx, req, rsp)
	if err == nil {
		return rsp, nil
	}
	awaitDeadline(ctx, err)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("calling function %q: %w", name, context.Cause(ctx))
	}
	return nil, newCallError(name, err, req)
}

// invoke calls v1 or v1beta1. Their messages are the same on the wire; only the name
// of the service differs.
func (c *Client) invoke(ctx context.Context, req *fnv1.RunFunctionRequest, rsp *fnv1.RunFunctionResponse) error {
	if c.beta.Load() {
		return c.conn.Invoke(ctx, fnv1beta1.FunctionRunnerService_RunFunction_FullMethodName, req, rsp)
	}
	err := c.conn.Invoke(ctx, fnv1.FunctionRunnerService_RunFunction_FullMethodName, req, rsp)
	if status.Code(err) != codes.Unimplemented {
		return err
	}
	betaErr := c.conn.Invoke(ctx, fnv1beta1.FunctionRunnerService_RunFunction_FullMethodName, req, rsp)
	if status.Code(betaErr) == codes.Unimplemented {
		return err
	}
	c.beta.Store(true)
	return betaErr
}

// awaitDeadline waits until ctx is done if the function ended the call because of its
// deadline, less than a second before the deadline of ctx. A function receives the
// deadline with the request, and may notice it first.
func awaitDeadline(ctx context.Context, err error) {
	deadline, ok := ctx.Deadline()
	if ok && status.Code(err) == codes.DeadlineExceeded && time.Until(deadline) < time.Second {
		<-ctx.Done()
	}
}

// Close closes the connection and cancels all calls.
func (c *Client) Close() error {
	if err := c.conn.Close(); err != nil {
		return fmt.Errorf("closing the connection to %q: %w", c.target, err)
	}
	return nil
}

// A callError is the error of a call. status.FromError returns its gRPC status.
type callError struct {
	text   string
	status *status.Status
}

func (e callError) Error() string              { return e.text }
func (e callError) GRPCStatus() *status.Status { return e.status }

func newCallError(name string, err error, req proto.Message) error {
	st := status.Convert(err)
	text := st.Code().String()
	if st.Message() != "" {
		text += ": " + st.Message()
	}
	tooLarge := explainSize(st, req)
	if tooLarge != "" {
		text = tooLarge
	}
	err = callError{text: fmt.Sprintf("calling function %q: %s", name, text), status: st}
	if tooLarge != "" {
		return hint.Wrap(err, "raise the limit, in MiB, with "+hint.MaxMessageSize)
	}
	return err
}

// explainSize describes an error about a message that is too large, and returns "" for
// other errors. gRPC uses the same words if the function refuses the request and if the
// client refuses the response. The size in the error shows which one it was.
func explainSize(st *status.Status, req proto.Message) string {
	var size, limit int
	if st.Code() != codes.ResourceExhausted {
		return ""
	}
	if _, err := fmt.Sscanf(st.Message(), "grpc: received message larger than max (%d vs. %d)", &size, &limit); err != nil {
		return ""
	}
	if size == proto.Size(req) {
		return fmt.Sprintf("the request has %d bytes, but the function accepts at most %d", size, limit)
	}
	return fmt.Sprintf("its response has %d bytes, more than the limit of %d", size, limit)
}
