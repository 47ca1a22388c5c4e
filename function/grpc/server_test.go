package grpc_test

import (
	"context"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	fnv1beta1 "github.com/crossplane/function-sdk-go/proto/v1beta1"
	gogrpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/function/grpc"
	"github.com/xfn-dev/xfn/internal/e2e"
)

func TestServeAnswersOldClients(t *testing.T) {
	conn := connect(t, serve(t, listen(t, "tcp", "127.0.0.1:0"), echo))
	rsp, err := fnv1beta1.NewFunctionRunnerServiceClient(conn).RunFunction(t.Context(), &fnv1beta1.RunFunctionRequest{Meta: &fnv1beta1.RequestMeta{Tag: "hi"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := rsp.GetMeta().GetTag(); got != "served hi" {
		t.Errorf("got %q", got)
	}
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
	rsp, err := dial(t, lis.Addr().String(), grpc.Options{}).RunFunction(t.Context(), "f", ask(""))
	if err != nil || rsp.GetMeta().GetTag() != "done" {
		t.Errorf("a running call: got %v, %v", rsp, err)
	}
	if err := e2e.Receive(t, served); err != nil {
		t.Errorf("Serve: %v", err)
	}
}

// connect returns a connection of a plain gRPC client.
func connect(t *testing.T, addr string) *gogrpc.ClientConn {
	t.Helper()
	conn, err := gogrpc.NewClient(addr, gogrpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
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
	watch, err := healthv1.NewHealthClient(connect(t, lis.Addr().String())).Watch(watching, &healthv1.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
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
	if err := e2e.Receive(t, answered); err != nil {
		t.Errorf("the running call: %v", err)
	}
	if err := e2e.Receive(t, served); err != nil {
		t.Errorf("Serve: %v", err)
	}
}

func TestServeReportsItsListener(t *testing.T) {
	lis := listen(t, "tcp", "127.0.0.1:0")
	if err := lis.Close(); err != nil {
		t.Fatal(err)
	}
	if err := grpc.Serve(t.Context(), lis, "served", echo, grpc.ServeOptions{}); err == nil {
		t.Error("a closed listener caused no error")
	}
}

func TestServeAfterTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := grpc.Serve(ctx, listen(t, "tcp", "127.0.0.1:0"), "served", echo, grpc.ServeOptions{}); err != nil {
		t.Errorf("got %v, want nil after the context is done", err)
	}
}
