package grpc_test

import (
	"context"
	"crypto/tls"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	gogrpc "google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/function/grpc"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
)

// TestRoundRobin: calls to a target with several addresses, such as several
// pods, are distributed to all of them or sent to one.
func TestRoundRobin(t *testing.T) {
	const servers, calls = 3, 60
	var asked [servers]atomic.Int64
	var addresses []resolver.Address
	for i := range servers {
		addr := serveWith(t, listen(t, "tcp", "127.0.0.1:0"), function.RunnerFunc(func(context.Context, string, *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
			asked[i].Add(1)
			return &fnv1.RunFunctionResponse{}, nil
		}), grpc.ServeOptions{})
		addresses = append(addresses, resolver.Address{Addr: addr})
	}
	pods := manual.NewBuilderWithScheme("pods")
	pods.InitialState(resolver.State{Addresses: addresses})
	resolver.Register(pods)
	for _, roundRobin := range []bool{true, false} {
		c := dial(t, "pods:///fn", grpc.Options{RoundRobin: roundRobin})
		e2e.NoError(t, c.Connect(t.Context()))
		// Some connections may be established after the first calls, so call until
		// each server has received a call.
		busy := func() (n int) {
			for i := range asked {
				if asked[i].Load() > 0 {
					n++
				}
			}
			return n
		}
		for i := range asked {
			asked[i].Store(0)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		for n := 0; n < calls || roundRobin && busy() < servers; n++ {
			if _, err := c.RunFunction(ctx, "f", &fnv1.RunFunctionRequest{}); err != nil {
				t.Fatalf("round robin %t: %v, with %d servers busy", roundRobin, err, busy())
			}
		}
		cancel()
		if want := map[bool]int{true: servers, false: 1}[roundRobin]; busy() != want {
			t.Errorf("round robin %t: %d servers were called, want %d", roundRobin, busy(), want)
		}
	}
}

// TestPlainTLS: a client without a certificate is refused by a server that
// requires one, and verifies the server by its authority.
func TestPlainTLS(t *testing.T) {
	ca := functiontest.NewAuthority(t)
	only := ca.Issue(t, "client", time.Hour, ca)
	remove(t, only, "tls.crt", "tls.key")
	c := e2e.Must(grpc.LoadClientCertificates(only))(t)
	for _, mutual := range []bool{false, true} {
		addr := serveTLS(t, ca.Issue(t, "localhost", time.Hour, ca), mutual)
		client := dial(t, addr, grpc.Options{Certificates: c, ServerName: "localhost"})
		if err := client.Connect(t.Context()); (err != nil) != mutual {
			t.Errorf("mutual %t: got %v", mutual, err)
		}
	}
	remove(t, only, "ca.crt")
	e2e.Error(t, "a folder without authorities is accepted", e2e.Err(grpc.LoadClientCertificates(only)))
	half := ca.Issue(t, "client", time.Hour, ca)
	remove(t, half, "tls.key")
	e2e.Error(t, "a certificate without its key is accepted", e2e.Err(grpc.LoadClientCertificates(half)))
}

func remove(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		e2e.NoError(t, os.Remove(filepath.Join(dir, name)))
	}
}

// serveTLS accepts TLS connections and may require a client certificate.
func serveTLS(t *testing.T, dir string, ask bool) string {
	t.Helper()
	own := e2e.Must(tls.LoadX509KeyPair(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")))(t)
	config := &tls.Config{Certificates: []tls.Certificate{own}, MinVersion: tls.VersionTLS12}
	if ask {
		config.ClientAuth = tls.RequireAnyClientCert
	}
	return serveOther(t, func(*gogrpc.Server) {}, gogrpc.Creds(credentials.NewTLS(config)))
}
