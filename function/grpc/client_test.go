package grpc_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	fnv1beta1 "github.com/crossplane/function-sdk-go/proto/v1beta1"
	gogrpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/function/grpc"
	"github.com/xfn-dev/xfn/internal/e2e"
)

func answer(tag string) *fnv1.RunFunctionResponse {
	return &fnv1.RunFunctionResponse{Meta: &fnv1.ResponseMeta{Tag: tag}}
}

// echo responds with the tag of the request and the name of the function.
var echo = function.RunnerFunc(func(_ context.Context, name string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	return answer(name + " " + req.GetMeta().GetTag()), nil
})

func ask(tag string) *fnv1.RunFunctionRequest {
	return &fnv1.RunFunctionRequest{Meta: &fnv1.RequestMeta{Tag: tag}}
}

func listen(t *testing.T, network, address string) net.Listener {
	t.Helper()
	return e2e.Open(net.Listen(network, address))(t)
}

// socket returns a path short enough for a unix socket on every system.
func socket(t *testing.T) string {
	t.Helper()
	return filepath.Join(e2e.ShortDir(t), "s")
}

// serve serves r until the test ends, and returns the address.
func serve(t *testing.T, lis net.Listener, r function.Runner) string {
	t.Helper()
	return serveWith(t, lis, r, grpc.ServeOptions{})
}

func serveWith(t *testing.T, lis net.Listener, r function.Runner, opts grpc.ServeOptions) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- grpc.Serve(ctx, lis, "served", r, opts) }()
	t.Cleanup(func() {
		cancel()
		e2e.WantError(t, "Serve returns no error when its context has ended", e2e.Receive(t, done), "")
	})
	return lis.Addr().String()
}

func dial(t *testing.T, target string, opts grpc.Options) *grpc.Client {
	t.Helper()
	c := e2e.Must(grpc.Dial(target, opts))(t)
	t.Cleanup(func() {
		e2e.WantError(t, "closing a client is not an error", c.Close(), "")
	})
	return c
}

func TestCallByEveryKindOfTarget(t *testing.T) {
	tcp := serve(t, listen(t, "tcp", "127.0.0.1:0"), echo)
	unix := serve(t, listen(t, "unix", socket(t)), echo)
	_, port, err := net.SplitHostPort(tcp)
	e2e.NoError(t, err)
	cases := map[string]struct{ reason, target string }{
		"HostPort":  {"a target may be an address", tcp},
		"Localhost": {"a host name may have several addresses, one without a listener", "localhost:" + port},
		"DNS":       {"a target may have a scheme of gRPC", "dns:///" + tcp},
		"Unix":      {"a target may be a unix socket", "unix://" + unix},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rsp := e2e.Must(dial(t, tc.target, grpc.Options{}).RunFunction(t.Context(), "f", ask("hi")))(t)
			e2e.Equal(t, tc.reason, "served hi", rsp.GetMeta().GetTag())
		})
	}
}

func TestConnectWithoutAddress(t *testing.T) {
	cases := map[string]struct{ reason, target, want string }{
		"Port": {"Dial refuses an invalid port", "localhost:a-port", `connecting to "localhost:a-port": dial tcp: lookup`},
		"URL":  {"gRPC has no scheme http", "http://localhost:9443", `connecting to "http://localhost:9443": expected host:port, unix:///path or dns:///host:port, got the scheme "http"`},
		"DNS":  {"gRPC resolves the names of its schemes", "dns:///host:a:b", `connecting to "dns:///host:a:b": no address of the target was found`},
		"Unix": {"the path of a unix socket must be absolute", "unix://relative/path", `connecting to "unix://relative/path": no address of the target was found`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c, err := grpc.Dial(tc.target, grpc.Options{})
			if err == nil {
				err = c.Connect(t.Context())
			}
			e2e.ErrorHas(t, tc.reason, err, tc.want)
		})
	}
}

// betaServer serves v1beta1 only, as functions older than Crossplane v1.17 do.
type betaServer struct {
	fnv1beta1.UnimplementedFunctionRunnerServiceServer
	refuse bool
}

func (s betaServer) RunFunction(_ context.Context, req *fnv1beta1.RunFunctionRequest) (*fnv1beta1.RunFunctionResponse, error) {
	if s.refuse {
		return nil, status.Error(codes.Aborted, "not today")
	}
	return &fnv1beta1.RunFunctionResponse{Meta: &fnv1beta1.ResponseMeta{Tag: "old " + req.GetMeta().GetTag()}}, nil
}

func serveOther(t *testing.T, register func(*gogrpc.Server), opts ...gogrpc.ServerOption) string {
	t.Helper()
	lis := listen(t, "tcp", "127.0.0.1:0")
	srv := gogrpc.NewServer(opts...)
	register(srv)
	done := make(chan error, 1)
	go func() { done <- srv.Serve(lis) }()
	t.Cleanup(func() {
		srv.Stop()
		e2e.NoError(t, e2e.Receive(t, done))
	})
	return lis.Addr().String()
}

func TestCallOfV1beta1Function(t *testing.T) {
	c := dial(t, serveOther(t, func(s *gogrpc.Server) {
		fnv1beta1.RegisterFunctionRunnerServiceServer(s, betaServer{})
	}), grpc.Options{})
	for _, tag := range []string{"first", "second"} {
		rsp := e2e.Must(c.RunFunction(t.Context(), "f", ask(tag)))(t)
		e2e.Equal(t, "a function that serves only v1beta1 is called again and again", "old "+tag, rsp.GetMeta().GetTag())
	}
}

func TestCallErrors(t *testing.T) {
	refuse := func(code codes.Code, msg string) function.Runner {
		return function.RunnerFunc(func(context.Context, string, *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
			return nil, status.Error(code, msg)
		})
	}
	big := function.RunnerFunc(func(context.Context, string, *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		return answer(strings.Repeat("x", 2000)), nil
	})
	v1 := func(r function.Runner) func(*testing.T) string {
		return func(t *testing.T) string { return serve(t, listen(t, "tcp", "127.0.0.1:0"), r) }
	}
	other := func(t *testing.T) string {
		return serveOther(t, func(s *gogrpc.Server) {
			fnv1.RegisterFunctionRunnerServiceServer(s, fnv1.UnimplementedFunctionRunnerServiceServer{})
		})
	}
	cases := map[string]struct {
		reason string
		server func(*testing.T) string
		limit  int
		tag    string
		code   codes.Code
		want   string
	}{
		"Status":      {reason: "the code and message of an error are kept", server: v1(refuse(codes.Internal, "machine on fire")), code: codes.Internal, want: `calling function "f": Internal: machine on fire`},
		"NoMessage":   {reason: "a status may have no message", server: v1(refuse(codes.NotFound, "")), code: codes.NotFound, want: `calling function "f": NotFound`},
		"Exhausted":   {reason: "a ResourceExhausted of the function is not the client's limit", server: v1(refuse(codes.ResourceExhausted, "out of luck")), code: codes.ResourceExhausted, want: `calling function "f": ResourceExhausted: out of luck`},
		"PlainError":  {reason: "an error without a status has the code Unknown", server: v1(function.Mux{}), code: codes.Unknown, want: `calling function "f": Unknown: unknown Function "served"`},
		"Deadline":    {reason: "a function may return DeadlineExceeded before the deadline", server: v1(refuse(codes.DeadlineExceeded, "slow database")), code: codes.DeadlineExceeded, want: `calling function "f": DeadlineExceeded: slow database`},
		"LargeAnswer": {reason: "an error about a large response names the limit", server: v1(big), limit: 1000, code: codes.ResourceExhausted, want: `calling function "f": its response has 2006 bytes, more than the limit of 1000`},
		"NoFunction": {
			reason: "the error of a server without the service names v1", code: codes.Unimplemented,
			server: func(t *testing.T) string { return serveOther(t, func(*gogrpc.Server) {}) },
			want:   `calling function "f": Unimplemented: unknown service apiextensions.fn.proto.v1.FunctionRunnerService`,
		},
		"Beta": {
			reason: "an error of a v1beta1 function is not replaced by the error of the v1 call", code: codes.Aborted,
			server: func(t *testing.T) string {
				return serveOther(t, func(s *gogrpc.Server) { fnv1beta1.RegisterFunctionRunnerServiceServer(s, betaServer{refuse: true}) })
			},
			want: `calling function "f": Aborted: not today`,
		},
		"LargeRequest": {
			reason: "an error about a large request names the function's limit", server: other, code: codes.ResourceExhausted, tag: strings.Repeat("x", 5<<20),
			want: `calling function "f": the request has 5242890 bytes, but the function accepts at most 4194304`,
		},
		"SameLimit": {
			reason: "the client may have the limit of the function that refuses a request", server: other, limit: 4 << 20, code: codes.ResourceExhausted, tag: strings.Repeat("x", 5<<20),
			want: `calling function "f": the request has 5242890 bytes, but the function accepts at most 4194304`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := dial(t, tc.server(t), grpc.Options{MaxMessageSize: tc.limit})
			_, err := c.RunFunction(t.Context(), "f", ask(tc.tag))
			e2e.Equal(t, tc.reason, tc.want, fmt.Sprint(err))
			e2e.Equal(t, tc.reason, tc.code, status.Code(err))
		})
	}
}

func TestLargeMessagesPass(t *testing.T) {
	tag := strings.Repeat("x", 20<<20)
	rsp := e2e.Must(dial(t, serve(t, listen(t, "tcp", "127.0.0.1:0"), echo), grpc.Options{}).RunFunction(t.Context(), "f", ask(tag)))(t)
	e2e.Equal(t, "a message of 20 MiB comes back complete", len("served ")+20<<20, len(rsp.GetMeta().GetTag()))
}

func TestCallsAtOnce(t *testing.T) {
	c := dial(t, serve(t, listen(t, "tcp", "127.0.0.1:0"), echo), grpc.Options{})
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			tag := strconv.Itoa(i)
			rsp, err := c.RunFunction(t.Context(), "f", ask(tag))
			if err != nil || rsp.GetMeta().GetTag() != "served "+tag {
				t.Errorf("call %s: got %v, %v", tag, rsp, err)
			}
		})
	}
	e2e.Wait(t, &wg)
}

// A client reconnects to a function that restarts at the same address.
func TestServerThatComesBack(t *testing.T) {
	path := socket(t)
	c := dial(t, "unix://"+path, grpc.Options{})
	for range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		lis, served := listen(t, "unix", path), make(chan error, 1)
		go func() { served <- grpc.Serve(ctx, lis, "served", echo, grpc.ServeOptions{}) }()
		e2e.NoError(t, c.WaitReady(t.Context()))
		e2e.NoError(t, e2e.Err(c.RunFunction(t.Context(), "f", ask("hi"))))
		cancel()
		e2e.NoError(t, e2e.Receive(t, served))
		e2e.Equal(t, "a call without a server has the code Unavailable", codes.Unavailable, status.Code(e2e.Err(c.RunFunction(t.Context(), "f", ask("hi")))))
	}
}

func TestCallAfterClose(t *testing.T) {
	c := e2e.Must(grpc.Dial(serve(t, listen(t, "tcp", "127.0.0.1:0"), echo), grpc.Options{}))(t)
	e2e.NoError(t, c.Close())
	e2e.Error(t, "a closed client made a call", e2e.Err(c.RunFunction(t.Context(), "f", ask("hi"))))
	e2e.Error(t, "a second Close returned no error", c.Close())
}

func TestCallEndsWithContext(t *testing.T) {
	called := make(chan struct{}, 2)
	hang := function.RunnerFunc(func(ctx context.Context, _ string, _ *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		called <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	})
	addr := serve(t, listen(t, "tcp", "127.0.0.1:0"), hang)

	t.Run("Cancel", func(t *testing.T) {
		cause := errors.New("changed my mind")
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			<-called
			cancel(cause)
		}()
		e2e.ErrorIs(t, "a canceled call returns the cause of its context", e2e.Err(dial(t, addr, grpc.Options{}).RunFunction(ctx, "f", ask(""))), cause)
	})
	t.Run("Deadline", func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("out of time"))
		defer cancel()
		_, err := dial(t, addr, grpc.Options{}).RunFunction(ctx, "f", ask(""))
		e2e.Equal(t, "a call after the deadline returns the cause of its context", `calling function "f": out of time`, fmt.Sprint(err))
	})
}
