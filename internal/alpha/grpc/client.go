package grpc

import (
	"context"
	"fmt"
	"math"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/xfn-dev/xfn/internal/alpha"
	"github.com/xfn-dev/xfn/internal/hint"
)

// A Client is an alpha.ContainerRunner that calls one runner. Callers must close it.
type Client struct{ conn *grpc.ClientConn }

// Dial returns a Client for the runner at target: "unix-abstract:name", like
// alpha.DefaultEndpoint, "host:port" or another gRPC target. Dial does not connect. A call
// connects if necessary, and fails if the runner cannot be reached.
//
// The connection uses no proxy, and no gRPC service configuration from DNS.
func Dial(target string) (*Client, error) {
	conn, err := grpc.NewClient(target,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithNoProxy(),
		grpc.WithDisableServiceConfig(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(alpha.MaxMessage), grpc.MaxCallSendMsgSize(math.MaxInt32)))
	if err != nil {
		return nil, fmt.Errorf("connecting to the runner at %q: %w", target, err)
	}
	return &Client{conn: conn}, nil
}

// RunContainer calls the runner to which the client is connected. It ignores req.Endpoint.
// Errors have the text and status of gRPC, as in Crossplane's events.
func (c *Client) RunContainer(ctx context.Context, req alpha.ContainerRequest) ([]byte, error) {
	rsp := &RunFunctionResponse{}
	err := c.conn.Invoke(ctx, fullMethod, encode(req), rsp)
	switch status.Code(err) {
	case codes.OK:
		return rsp.Output, nil
	case codes.ResourceExhausted:
		err = hint.Wrap(err, fmt.Sprintf("make the FunctionIO smaller: a message to or from a runner may have at most %d bytes, and this limit cannot be raised", alpha.MaxMessage))
	case codes.Unavailable:
		err = hint.Wrap(err, "start a runner at the endpoint that the Composition names, for example by: xfn alpha start")
	}
	return nil, err
}

// Close closes the connection and cancels calls in progress.
func (c *Client) Close() error {
	if err := c.conn.Close(); err != nil {
		return fmt.Errorf("closing the connection to a runner: %w", err)
	}
	return nil
}

// Endpoints returns a ContainerRunner that sends each request to the runner at
// req.Endpoint, over a new connection. If req.Endpoint is empty, it calls otherwise.
func Endpoints(otherwise alpha.ContainerRunner) alpha.ContainerRunner {
	return alpha.ContainerRunnerFunc(func(ctx context.Context, req alpha.ContainerRequest) ([]byte, error) {
		if req.Endpoint == "" {
			return otherwise.RunContainer(ctx, req)
		}
		client, err := Dial(req.Endpoint)
		if err != nil {
			return nil, err
		}
		output, err := client.RunContainer(ctx, req)
		if closeErr := client.Close(); err == nil && closeErr != nil {
			return nil, closeErr
		}
		return output, err
	})
}
