package runtimes_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xfn-dev/xfn/function/grpc"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/runtimes"
)

func at(target string) runtimes.Function {
	return runtimes.Function{Name: "mine", Annotations: map[string]string{runtimes.TargetAnnotation: target}}
}

// serve serves a Literal function on lis until the test ends or end is called.
func serve(t *testing.T, lis net.Listener, o grpc.ServeOptions) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- grpc.Serve(ctx, lis, "mine", functiontest.Literal(), o) }()
	end = sync.OnceFunc(func() {
		cancel()
		e2e.WantError(t, "a function that is stopped", e2e.Receive(t, served), "")
	})
	t.Cleanup(end)
	return end
}

// ask returns a request to which a Literal function responds with this tag.
func ask(t *testing.T, tag string) *fnv1.RunFunctionRequest {
	t.Helper()
	in := e2e.Must(structpb.NewStruct(map[string]any{"response": map[string]any{"meta": map[string]any{"tag": tag}}}))(t)
	return &fnv1.RunFunctionRequest{Input: in}
}

func TestDevelopment(t *testing.T) {
	lis := e2e.Open(net.Listen("tcp", "127.0.0.1:0"))(t)
	serve(t, lis, grpc.ServeOptions{})
	for range 2 {
		fn := e2e.Must(runtimes.Development{}.Start(t.Context(), at(lis.Addr().String())))(t)
		e2e.Equal(t, "the running function answers", "hi", e2e.Must(fn.RunFunction(t.Context(), "mine", ask(t, "hi")))(t).GetMeta().GetTag())
		e2e.Equal(t, "the detail is the address of the running function", "already running at "+lis.Addr().String(), fn.Detail)
		e2e.WantError(t, "Stop closes the connection", fn.Stop(t.Context()), "")
		e2e.Error(t, "the connection is still open after Stop", e2e.Err(fn.RunFunction(t.Context(), "mine", ask(t, "hi"))))
	}
}

func TestDevelopmentUnix(t *testing.T) {
	dir := e2e.ShortDir(t)
	lis := e2e.Must(net.Listen("unix", filepath.Join(dir, "s")))(t)
	serve(t, lis, grpc.ServeOptions{})
	fn := e2e.Must(runtimes.Development{MaxMessageSize: 50}.Start(t.Context(), at("unix://"+lis.Addr().String())))(t)
	e2e.NoError(t, e2e.Err(fn.RunFunction(t.Context(), "mine", ask(t, "short"))))
	e2e.ErrorHas(t, "a request above the limit is an error", e2e.Err(fn.RunFunction(t.Context(), "mine", ask(t, strings.Repeat("long", 20)))), "more than the limit of 50")
	e2e.NoError(t, fn.Stop(t.Context()))
}

func TestDevelopmentStopped(t *testing.T) {
	lis := e2e.Open(net.Listen("tcp", "127.0.0.1:0"))(t)
	end := serve(t, lis, grpc.ServeOptions{})
	fn := e2e.Must(runtimes.Development{}.Start(t.Context(), at(lis.Addr().String())))(t)
	end()
	if _, err := fn.RunFunction(t.Context(), "mine", ask(t, "hi")); err == nil || !strings.HasPrefix(err.Error(), `calling function "mine": Unavailable`) {
		t.Errorf("got %v, want the code Unavailable", err)
	}
	e2e.NoError(t, fn.Stop(t.Context()))
}

func TestDevelopmentOther(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(srv.Close)
	target := strings.TrimPrefix(srv.URL, "http://")
	_, err := runtimes.Development{}.Start(t.Context(), at(target))
	want := `starting function "mine": connecting to "` + target + `": it answered "HTTP/1.1 `
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %s…", err, want)
	}
	if got := string(hint.Of(err)); !strings.Contains(got, "without TLS") {
		t.Errorf("hint %q does not say how to start the function", got)
	}
}

func TestDevelopmentNothing(t *testing.T) {
	lis := e2e.Open(net.Listen("tcp", "127.0.0.1:0"))(t)
	e2e.NoError(t, lis.Close())
	_, err := runtimes.Development{}.Start(t.Context(), at(lis.Addr().String()))
	want := `starting function "mine": connecting to "` + lis.Addr().String() + `": dial tcp`
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %s…", err, want)
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("the error has more than one sentence: %v", err)
	}
	if got := string(hint.Of(err)); !strings.Contains(got, runtimes.TargetAnnotation) {
		t.Errorf("hint %q does not say how to name another target", got)
	}
}

// TestDevelopmentNoAnswer checks the timeout for a listener that never accepts: the kernel completes
// the connection, but no server answers.
func TestDevelopmentNoAnswer(t *testing.T) {
	lis := e2e.Open(net.Listen("tcp", "127.0.0.1:0"))(t)
	start := runtimes.Development{ConnectTimeout: 20 * time.Millisecond}
	e2e.ErrorHas(t, "a listener that never accepts is an error after the timeout", e2e.Err(start.Start(t.Context(), at(lis.Addr().String()))), "no connection within 20ms")
}

func TestDevelopmentCanceled(t *testing.T) {
	lis := e2e.Open(net.Listen("tcp", "127.0.0.1:0"))(t)
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := runtimes.Development{}.Start(ctx, at(lis.Addr().String()))
		failed <- err
	}()
	conn := e2e.Must(lis.Accept())(t)
	defer conn.Close()
	cancel()
	if err := e2e.Receive(t, failed); !errors.Is(err, context.Canceled) || hint.Of(err) != "" {
		t.Errorf("got %v with hint %q, want a cancellation without a hint", err, hint.Of(err))
	}
}

func TestDevelopmentDefaultTarget(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e2e.ErrorHas(t, "an error that names the default target", e2e.Err(runtimes.Development{}.Start(ctx, runtimes.Function{Name: "mine"})), `"localhost:9443"`)
}

// TestDevelopmentTLS checks calls of a function over TLS, with the certificates in the folder of
// CertificatesAnnotation.
func TestDevelopmentTLS(t *testing.T) {
	ca := functiontest.NewAuthority(t)
	certificates := e2e.Must(grpc.LoadCertificates(ca.Issue(t, "localhost", time.Hour, ca)))(t)
	lis := e2e.Open(net.Listen("tcp", "127.0.0.1:0"))(t)
	serve(t, lis, grpc.ServeOptions{Certificates: certificates})
	own := ca.Issue(t, "client", time.Hour, ca)
	_, port, err := net.SplitHostPort(lis.Addr().String())
	e2e.NoError(t, err)
	cases := map[string]struct{ reason, target, dir, name, err string }{
		"Name":  {"the server name of the certificate can be set", lis.Addr().String(), own, "localhost", ""},
		"Host":  {"the default server name is the target's host, also with several addresses", "dns:///localhost:" + port, own, "", ""},
		"Other": {"the server name must be in the certificate", lis.Addr().String(), own, "elsewhere", "certificate is valid for localhost, not elsewhere"},
		"None":  {"the folder must contain certificates", lis.Addr().String(), t.TempDir(), "localhost", "ca.crt"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			fn := at(tc.target)
			fn.Annotations[runtimes.CertificatesAnnotation] = tc.dir
			fn.Annotations[runtimes.ServerNameAnnotation] = tc.name
			instance, err := runtimes.Development{}.Start(t.Context(), fn)
			if tc.err != "" {
				e2e.ErrorHas(t, tc.reason, err, tc.err)
				return
			}
			e2e.NoError(t, err)
			e2e.Equal(t, tc.reason, "hi", e2e.Must(instance.RunFunction(t.Context(), "mine", ask(t, "hi")))(t).GetMeta().GetTag())
			e2e.NoError(t, instance.Stop(t.Context()))
		})
	}
}
