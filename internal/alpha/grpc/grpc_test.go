package grpc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/xfn-dev/xfn/internal/alpha"
	containergrpc "github.com/xfn-dev/xfn/internal/alpha/grpc"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
)

const method = "/apiextensions.fn.proto.v1alpha1.ContainerizedFunctionRunnerService/RunFunction"

// serve serves gRPC calls with the runner r until the test ends. It returns the
// gRPC target.
func serve(t *testing.T, r alpha.ContainerRunnerFunc) (target string) {
	t.Helper()
	lis := e2e.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	serveOn(t, lis, r)
	return "dns:///" + lis.Addr().String()
}

func serveOn(t *testing.T, lis net.Listener, r alpha.ContainerRunnerFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- containergrpc.Serve(ctx, lis, r) }()
	t.Cleanup(func() {
		cancel()
		e2e.NoError(t, e2e.Receive(t, done))
	})
}

func dial(t *testing.T, target string) *containergrpc.Client {
	t.Helper()
	c := e2e.Must(containergrpc.Dial(target))(t)
	t.Cleanup(func() {
		e2e.NoError(t, c.Close())
	})
	return c
}

// raw returns a gRPC connection for requests that a Client cannot send.
func raw(t *testing.T, target string) *grpc.ClientConn {
	t.Helper()
	conn := e2e.Must(grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials())))(t)
	t.Cleanup(func() {
		e2e.NoError(t, conn.Close())
	})
	return conn
}

// recorder returns a runner that stores the last request in got.
func recorder(got *alpha.ContainerRequest) alpha.ContainerRunnerFunc {
	return func(_ context.Context, req alpha.ContainerRequest) ([]byte, error) {
		*got = req
		return []byte("out"), nil
	}
}

func TestRoundTrip(t *testing.T) {
	complete := alpha.ContainerRequest{Image: "a", PullPolicy: "IfNotPresent", Network: "Isolated", Timeout: 25 * time.Second}
	cases := map[string]struct {
		reason    string
		req, want alpha.ContainerRequest
	}{
		"Least": {"a runner gets the defaults of an empty request", alpha.ContainerRequest{Image: "a"}, complete},
		"All": {
			"a runner gets the request as sent, without the endpoint",
			alpha.ContainerRequest{
				Image: "a", Input: []byte("in"), PullPolicy: "Always", CPU: "100m", Memory: "1Mi", Network: "Runner", Timeout: time.Minute, Endpoint: "e",
				Auth: &alpha.Auth{Username: "u", Password: "p", Auth: "a", IdentityToken: "i", RegistryToken: "r"},
			},
			alpha.ContainerRequest{
				Image: "a", Input: []byte("in"), PullPolicy: "Always", CPU: "100m", Memory: "1Mi", Network: "Runner", Timeout: time.Minute,
				Auth: &alpha.Auth{Username: "u", Password: "p", Auth: "a", IdentityToken: "i", RegistryToken: "r"},
			},
		},
		"Never": {
			"each policy has its number",
			alpha.ContainerRequest{Image: "a", PullPolicy: "Never", Network: "Isolated"},
			alpha.ContainerRequest{Image: "a", PullPolicy: "Never", Network: "Isolated", Timeout: 25 * time.Second},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got alpha.ContainerRequest
			out, err := dial(t, serve(t, recorder(&got))).RunContainer(t.Context(), tc.req)
			if string(out) != "out" || err != nil {
				t.Fatalf("got %q, %v", out, err)
			}
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
}

// TestWire sends the server a request in Crossplane's format that was encoded by hand.
func TestWire(t *testing.T) {
	wire := []byte{
		0x0a, 1, 'i', // field 1: image
		0x12, 2, 'i', 'n', // field 2: input
		0x1a, 9, 0x08, 3, 0x12, 5, 0x0a, 1, 'u', 0x12, 0, // field 3, image_pull_config: pull_policy, auth {username, password}
		0x22, 18, 0x0a, 8, 0x0a, 6, 0x0a, 1, 'm', 0x12, 1, 'c', // field 4, run_function_config: resources {limits {memory, cpu}}
		0x12, 2, 0x08, 2, 0x1a, 2, 0x08, 7, // rest of run_function_config: network {policy}, timeout {seconds}
	}
	msg := &containergrpc.RunFunctionRequest{}
	e2e.NoError(t, proto.Unmarshal(wire, protoadapt.MessageV2Of(msg)))
	var got alpha.ContainerRequest
	rsp := &containergrpc.RunFunctionResponse{}
	e2e.NoError(t, raw(t, serve(t, recorder(&got))).Invoke(t.Context(), method, msg, rsp))
	want := alpha.ContainerRequest{
		Image: "i", Input: []byte("in"), PullPolicy: "Never", Auth: &alpha.Auth{Username: "u"},
		Memory: "m", CPU: "c", Network: "Runner", Timeout: 7 * time.Second,
	}
	e2e.Equal(t, "the server decodes each field of the request", want, got)
	answer, err := proto.Marshal(protoadapt.MessageV2Of(rsp))
	if err != nil || !bytes.Equal(answer, []byte{0x0a, 3, 'o', 'u', 't'}) {
		t.Errorf("got the answer %v, %v", answer, err)
	}
}

// TestStrangeRequests checks requests that Crossplane does not send.
func TestStrangeRequests(t *testing.T) {
	cases := map[string]struct {
		reason string
		msg    *containergrpc.RunFunctionRequest
		want   alpha.ContainerRequest
		code   codes.Code
	}{
		"NoImage": {"a request without an image is an error", &containergrpc.RunFunctionRequest{}, alpha.ContainerRequest{}, codes.InvalidArgument},
		"Newer": {
			"unknown policies count as unspecified",
			&containergrpc.RunFunctionRequest{
				Image:             "a",
				ImagePullConfig:   &containergrpc.ImagePullConfig{PullPolicy: 99},
				RunFunctionConfig: &containergrpc.RunFunctionConfig{Network: &containergrpc.NetworkConfig{Policy: 99}, Timeout: &durationpb.Duration{}},
			},
			alpha.ContainerRequest{Image: "a", PullPolicy: "IfNotPresent", Network: "Isolated", Timeout: 25 * time.Second},
			codes.OK,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got alpha.ContainerRequest
			err := raw(t, serve(t, recorder(&got))).Invoke(t.Context(), method, tc.msg, &containergrpc.RunFunctionResponse{})
			e2e.Equal(t, tc.reason, tc.code, status.Code(err))
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
}

func TestErrors(t *testing.T) {
	big := bytes.Repeat([]byte("x"), alpha.MaxMessage)
	cases := map[string]struct {
		reason     string
		runner     alpha.ContainerRunnerFunc
		input      []byte
		want, hint string
	}{
		"Text": {
			"an error without status has the status Unknown and its text",
			func(context.Context, alpha.ContainerRequest) ([]byte, error) {
				return nil, errors.New("exit status 3")
			},
			nil,
			"rpc error: code = Unknown desc = exit status 3",
			"",
		},
		"Status": {
			"an error with a status keeps it",
			func(context.Context, alpha.ContainerRequest) ([]byte, error) {
				return nil, fmt.Errorf("running: %w", status.Error(codes.NotFound, "no such image"))
			},
			nil,
			"rpc error: code = NotFound desc = running: rpc error: code = NotFound desc = no such image",
			"",
		},
		"Input": {
			"a request has a maximum size",
			func(context.Context, alpha.ContainerRequest) ([]byte, error) { return nil, nil },
			big,
			"rpc error: code = ResourceExhausted desc = grpc: received message larger than max (4194316 vs. 4194304)",
			"make the FunctionIO smaller: a message to or from a runner may have at most 4194304 bytes, and this limit cannot be raised",
		},
		"Output": {
			"a response has a maximum size",
			func(context.Context, alpha.ContainerRequest) ([]byte, error) { return big, nil },
			nil,
			"rpc error: code = ResourceExhausted desc = grpc: received message larger than max (4194309 vs. 4194304)",
			"make the FunctionIO smaller: a message to or from a runner may have at most 4194304 bytes, and this limit cannot be raised",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := dial(t, serve(t, tc.runner)).RunContainer(t.Context(), alpha.ContainerRequest{Image: "a", Input: tc.input})
			e2e.Equal(t, tc.reason, tc.want, fmt.Sprint(err))
			e2e.Equal(t, tc.reason, tc.hint, string(hint.Of(err)))
		})
	}
}

func TestNoServer(t *testing.T) {
	target := "unix://" + filepath.Join(t.TempDir(), "none.sock")
	_, err := dial(t, target).RunContainer(t.Context(), alpha.ContainerRequest{Image: "a"})
	e2e.Equal(t, "a missing server has the code Unavailable", codes.Unavailable, status.Code(err))
	e2e.Has(t, "the hint of a missing server is the command that starts one", string(hint.Of(err)), "xfn alpha start")
}

// TestNothingElseIsServed checks that no other service, such as health, exists.
func TestNothingElseIsServed(t *testing.T) {
	conn := raw(t, serve(t, recorder(new(alpha.ContainerRequest))))
	_, err := healthv1.NewHealthClient(conn).Check(t.Context(), &healthv1.HealthCheckRequest{})
	e2e.Equal(t, "the health service does not exist", codes.Unimplemented, status.Code(err))
}

// TestAtOnce checks that the server runs containers concurrently.
func TestAtOnce(t *testing.T) {
	const n = 20
	var all sync.WaitGroup
	all.Add(n)
	client := dial(t, serve(t, func(context.Context, alpha.ContainerRequest) ([]byte, error) {
		all.Done()
		all.Wait()
		return nil, nil
	}))
	var calls sync.WaitGroup
	for range n {
		calls.Go(func() {
			if _, err := client.RunContainer(t.Context(), alpha.ContainerRequest{Image: "a"}); err != nil {
				t.Error(err)
			}
		})
	}
	e2e.Wait(t, &calls)
}

// TestCallerGone checks that a container's context ends when the caller cancels the call.
func TestCallerGone(t *testing.T) {
	told := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	client := dial(t, serve(t, func(ctx context.Context, _ alpha.ContainerRequest) ([]byte, error) {
		cancel()
		<-ctx.Done()
		close(told)
		return nil, ctx.Err()
	}))
	e2e.Equal(t, "the canceled call has the code Canceled", codes.Canceled, status.Code(e2e.Err(client.RunContainer(ctx, alpha.ContainerRequest{Image: "a"}))))
	e2e.Receive(t, told)
}

// TestStop checks that Serve lets a call in progress finish.
func TestStop(t *testing.T) {
	lis := e2e.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- containergrpc.Serve(ctx, lis, alpha.ContainerRunnerFunc(func(context.Context, alpha.ContainerRequest) ([]byte, error) {
			cancel()
			return []byte("late"), nil
		}))
	}()
	e2e.Equal(t, "a call in progress is answered after the context has ended", "late", string(e2e.Must(dial(t, "dns:///"+lis.Addr().String()).RunContainer(t.Context(), alpha.ContainerRequest{Image: "a"}))(t)))
	e2e.NoError(t, e2e.Receive(t, done))
}

// TestStopWaits checks that Serve cancels a call that does not end, and waits for it.
func TestStopWaits(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	e2e.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var ended atomic.Bool
	go func() {
		_, _ = dial(t, "dns:///"+lis.Addr().String()).RunContainer(t.Context(), alpha.ContainerRequest{Image: "a"})
	}()
	err = containergrpc.Serve(ctx, lis, alpha.ContainerRunnerFunc(func(ctx context.Context, _ alpha.ContainerRequest) ([]byte, error) {
		cancel()
		<-ctx.Done()
		runtime.Gosched()
		ended.Store(true)
		return nil, ctx.Err()
	}))
	if err != nil || !ended.Load() {
		t.Errorf("got %v, and the call has ended: %v", err, ended.Load())
	}
}

func TestServeOnNothing(t *testing.T) {
	lis := e2e.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	e2e.NoError(t, lis.Close())
	if err := containergrpc.Serve(t.Context(), lis, nil); err == nil || !strings.HasPrefix(err.Error(), "serving containers at ") {
		t.Errorf("got %v", err)
	}
}

// TestAbstract checks abstract sockets, which only Linux has.
func TestAbstract(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("abstract sockets need Linux")
	}
	name := "crossplane/fn/test-" + filepath.Base(t.TempDir()) + fmt.Sprint(time.Now().UnixNano())
	lis := e2e.Must(net.Listen("unix", "@"+name))(t)
	var got alpha.ContainerRequest
	serveOn(t, lis, recorder(&got))
	e2e.Equal(t, "a server on an abstract socket can be called", "out", string(e2e.Must(dial(t, "unix-abstract:"+name).RunContainer(t.Context(), alpha.ContainerRequest{Image: "a"}))(t)))
}

func TestEndpoints(t *testing.T) {
	says := func(text string) alpha.ContainerRunnerFunc {
		return func(context.Context, alpha.ContainerRequest) ([]byte, error) { return []byte(text), nil }
	}
	r := containergrpc.Endpoints(says("here"))
	cases := map[string]struct{ reason, endpoint, want, err string }{
		"None":  {"a request without an endpoint uses the other runner", "", "here", ""},
		"There": {"a request with an endpoint uses that runner", serve(t, says("there")), "there", ""},
		"Bad":   {"a malformed endpoint is an error", "%zz", "", `connecting to the runner at "%zz"`},
		"Gone":  {"an endpoint without a server is an error", "unix://" + filepath.Join(t.TempDir(), "none.sock"), "", "rpc error: code = Unavailable"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			out, err := r.RunContainer(t.Context(), alpha.ContainerRequest{Image: "a", Endpoint: tc.endpoint})
			if string(out) != tc.want || (err == nil) != (tc.err == "") || err != nil && !strings.HasPrefix(err.Error(), tc.err) {
				t.Errorf("%s: got %q, %v", tc.reason, out, err)
			}
		})
	}
}
