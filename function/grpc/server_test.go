package grpc_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	fnv1beta1 "github.com/crossplane/function-sdk-go/proto/v1beta1"
	gogrpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/function/grpc"
	"github.com/xfn-dev/xfn/internal/e2e"
)

func TestServeAnswersOldClients(t *testing.T) {
	conn := connect(t, serve(t, listen(t, "tcp", "127.0.0.1:0"), echo))
	rsp := e2e.Must(fnv1beta1.NewFunctionRunnerServiceClient(conn).RunFunction(t.Context(), &fnv1beta1.RunFunctionRequest{Meta: &fnv1beta1.RequestMeta{Tag: "hi"}}))(t)
	e2e.Equal(t, "a client of v1beta1 gets the response", "served hi", rsp.GetMeta().GetTag())
}

func TestServeFinishesCallsUnderWay(t *testing.T) {
	called, finish := make(chan struct{}), make(chan struct{})
	slow := function.RunnerFunc(func(context.Context, string, *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		close(called)
		<-finish
		return answer("done"), nil
	})
	lis := listen(t, "tcp", "127.0.0.1:0")
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- grpc.Serve(ctx, lis, "served", slow, grpc.ServeOptions{}) }()
	go func() {
		<-called
		cancel()
		close(finish)
	}()
	e2e.Equal(t, "a running call is answered after the context has ended", "done", e2e.Must(dial(t, lis.Addr().String(), grpc.Options{}).RunFunction(t.Context(), "f", ask("")))(t).GetMeta().GetTag())
	e2e.WantError(t, "Serve returns no error when the running call has ended", e2e.Receive(t, served), "")
}

// TestServeEndsIdleConnections checks that Serve ends and closes a connection without a
// handshake, long before the default limit of gRPC, which is two minutes.
func TestServeEndsIdleConnections(t *testing.T) {
	t.Parallel()
	lis := listen(t, "tcp", "127.0.0.1:0")
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- grpc.Serve(ctx, lis, "served", echo, grpc.ServeOptions{}) }()
	idle := e2e.Must(net.Dial("tcp", lis.Addr().String()))(t)
	defer idle.Close()
	// The server accepts connections in order: after this call, it has accepted idle.
	e2e.NoError(t, e2e.Err(dial(t, lis.Addr().String(), grpc.Options{}).RunFunction(t.Context(), "f", ask(""))))
	cancel()
	e2e.NoError(t, idle.SetReadDeadline(time.Now().Add(time.Minute)))
	e2e.WantError(t, "an idle connection is closed", e2e.Err(io.Copy(io.Discard, idle)), "")
	e2e.WantError(t, "Serve does not wait for an idle connection", e2e.Receive(t, served), "")
}

func TestServeLimitsRequests(t *testing.T) {
	cases := map[string]struct {
		reason      string
		limit, size int
		want        codes.Code
	}{
		"Default": {"by default, a request can be larger than 4 MiB, the default of gRPC", 0, 5 << 20, codes.OK},
		"Over":    {"a request over the limit is refused", 1 << 20, 1<<20 + 1, codes.ResourceExhausted},
		"Under":   {"a request under the limit is served", 1 << 20, 1 << 19, codes.OK},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lis := listen(t, "tcp", "127.0.0.1:0")
			go func() { _ = grpc.Serve(t.Context(), lis, "served", echo, grpc.ServeOptions{MaxMessageSize: tc.limit}) }()
			client := fnv1.NewFunctionRunnerServiceClient(connect(t, lis.Addr().String()))
			_, err := client.RunFunction(t.Context(), ask(strings.Repeat("x", tc.size)), gogrpc.MaxCallRecvMsgSize(64<<20))
			e2e.Equal(t, tc.reason, tc.want, status.Code(err))
		})
	}
}

// TestReflection lists the services with both versions of the protocol.
func TestReflection(t *testing.T) {
	conn := connect(t, serve(t, listen(t, "tcp", "127.0.0.1:0"), echo))
	for _, version := range []string{"v1", "v1alpha"} {
		stream := e2e.Must(conn.NewStream(t.Context(), &gogrpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/grpc.reflection."+version+".ServerReflection/ServerReflectionInfo"))(t)
		for _, symbol := range []string{"apiextensions.fn.proto.v1.FunctionRunnerService", "apiextensions.fn.proto.v1beta1.FunctionRunnerService"} {
			// Both versions have the same messages on the wire.
			req := &reflectionv1.ServerReflectionRequest{MessageRequest: &reflectionv1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: symbol}}
			var rsp reflectionv1.ServerReflectionResponse
			e2e.NoError(t, errors.Join(stream.SendMsg(req), stream.RecvMsg(&rsp)))
			if len(rsp.GetFileDescriptorResponse().GetFileDescriptorProto()) == 0 {
				t.Errorf("%s: %s: got %v", version, symbol, &rsp)
			}
		}
	}
}

// connect returns a connection of a plain gRPC client.
func connect(t *testing.T, addr string) *gogrpc.ClientConn {
	t.Helper()
	return e2e.Open(gogrpc.NewClient(addr, gogrpc.WithTransportCredentials(insecure.NewCredentials())))(t)
}

func TestHealth(t *testing.T) {
	health := healthv1.NewHealthClient(connect(t, serve(t, listen(t, "tcp", "127.0.0.1:0"), echo)))
	cases := map[string]struct {
		reason, service string
		code            codes.Code
	}{
		"Server":  {"the health of the server is SERVING", "", codes.OK},
		"V1":      {"the health of v1 is SERVING", "apiextensions.fn.proto.v1.FunctionRunnerService", codes.OK},
		"V1beta1": {"the health of v1beta1 is SERVING", "apiextensions.fn.proto.v1beta1.FunctionRunnerService", codes.OK},
		"Other":   {"an unknown service has no health", "apiextensions.fn.proto.v2.FunctionRunnerService", codes.NotFound},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rsp, err := health.Check(t.Context(), &healthv1.HealthCheckRequest{Service: tc.service})
			if status.Code(err) != tc.code {
				t.Fatalf("%s: got %v, want %v", tc.reason, err, tc.code)
			}
			if tc.code == codes.OK && rsp.GetStatus() != healthv1.HealthCheckResponse_SERVING {
				t.Errorf("%s: got %v", tc.reason, rsp.GetStatus())
			}
		})
	}
}

func TestHealthEndsBeforeTheServer(t *testing.T) {
	called, finish := make(chan struct{}), make(chan struct{})
	slow := function.RunnerFunc(func(context.Context, string, *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		close(called)
		<-finish
		return answer("done"), nil
	})
	lis := listen(t, "tcp", "127.0.0.1:0")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	served := make(chan error, 1)
	go func() { served <- grpc.Serve(ctx, lis, "served", slow, grpc.ServeOptions{}) }()

	watching, unwatch := context.WithCancel(t.Context())
	defer unwatch()
	watch := e2e.Must(healthv1.NewHealthClient(connect(t, lis.Addr().String())).Watch(watching, &healthv1.HealthCheckRequest{}))(t)
	next := func(want healthv1.HealthCheckResponse_ServingStatus) {
		t.Helper()
		if rsp, err := watch.Recv(); err != nil || rsp.GetStatus() != want {
			t.Errorf("got %v, %v, want %v", rsp, err, want)
		}
	}
	next(healthv1.HealthCheckResponse_SERVING)
	c, answered := dial(t, lis.Addr().String(), grpc.Options{}), make(chan error, 1)
	go func() {
		_, err := c.RunFunction(t.Context(), "f", ask(""))
		answered <- err
	}()
	e2e.Receive(t, called)
	cancel()
	next(healthv1.HealthCheckResponse_NOT_SERVING)
	unwatch()
	close(finish)
	e2e.WantError(t, "a running call is answered after the context has ended", e2e.Receive(t, answered), "")
	e2e.WantError(t, "Serve returns no error when the running call has ended", e2e.Receive(t, served), "")
}

func TestServeReportsItsListener(t *testing.T) {
	lis := listen(t, "tcp", "127.0.0.1:0")
	e2e.NoError(t, lis.Close())
	e2e.Error(t, "a closed listener caused no error", grpc.Serve(t.Context(), lis, "served", echo, grpc.ServeOptions{}))
}

func TestServeNothing(t *testing.T) {
	e2e.WantError(t, "a nil Runner would panic in the first call", grpc.Serve(t.Context(), listen(t, "tcp", "127.0.0.1:0"), "served", nil, grpc.ServeOptions{}), `serving function "served": the Runner is nil`)
}

func TestServeAfterTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e2e.WantError(t, "no error after the context is done", grpc.Serve(ctx, listen(t, "tcp", "127.0.0.1:0"), "served", echo, grpc.ServeOptions{}), "")
}
