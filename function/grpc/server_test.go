package grpc_test

import (
	"context"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	fnv1beta1 "github.com/crossplane/function-sdk-go/proto/v1beta1"
	gogrpc "google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/function/grpc"
)

func TestServeAnswersOldClients(t *testing.T) {
	conn, err := gogrpc.NewClient(serve(t, listen(t, "tcp", "127.0.0.1:0"), echo), gogrpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
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
	go func() { served <- grpc.Serve(ctx, lis, "served", slow) }()
	go func() {
		<-called
		cancel()
		close(finish)
	}()
	rsp, err := dial(t, lis.Addr().String(), grpc.Options{}).RunFunction(t.Context(), "f", ask(""))
	if err != nil || rsp.GetMeta().GetTag() != "done" {
		t.Errorf("a call under way: got %v, %v", rsp, err)
	}
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

func TestServeReportsItsListener(t *testing.T) {
	lis := listen(t, "tcp", "127.0.0.1:0")
	if err := lis.Close(); err != nil {
		t.Fatal(err)
	}
	if err := grpc.Serve(t.Context(), lis, "served", echo); err == nil {
		t.Error("a listener that is closed should be an error")
	}
}

func TestServeAfterTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := grpc.Serve(ctx, listen(t, "tcp", "127.0.0.1:0"), "served", echo); err != nil {
		t.Errorf("got %v, want nil: the context was done", err)
	}
}
