package grpc_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/xfn-dev/xfn/function/grpc"
	"github.com/xfn-dev/xfn/internal/e2e"
)

func TestWaitReadyForSocketThatAppearsLater(t *testing.T) {
	path := socket(t)
	c := dial(t, "unix://"+path, grpc.Options{})
	if err := c.Connect(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("before the server listens: got %v", err)
	}
	ready := make(chan error, 1)
	go func() { ready <- c.WaitReady(t.Context()) }()
	serve(t, listen(t, "unix", path), echo)
	e2e.NoError(t, e2e.Receive(t, ready))
	e2e.WantError(t, "a connected client can be connected again", c.Connect(t.Context()), "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e2e.ErrorIs(t, "a context that is done is an error, also if the client is connected", c.WaitReady(ctx), context.Canceled)
}

func TestWaitReadyEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	err := dial(t, "unix://"+socket(t), grpc.Options{}).WaitReady(ctx)
	e2e.ErrorIs(t, "the error has the reason of the context", err, context.DeadlineExceeded)
	e2e.ErrorIs(t, "the error has the reason why the connection failed", err, os.ErrNotExist)
}

// Options.Dial connects to a target that this machine cannot reach directly.
func TestDialOtherwise(t *testing.T) {
	path := socket(t)
	serve(t, listen(t, "unix", path), echo)
	var asked string
	c := dial(t, "far.example.org:9443", grpc.Options{Dial: func(ctx context.Context, address string) (net.Conn, error) {
		asked = address
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}})
	if err := c.Connect(t.Context()); err != nil || asked != "far.example.org:9443" {
		t.Errorf("the dialer got the address %q: %v", asked, err)
	}
}

func TestConnectFailsAtOnce(t *testing.T) {
	lis := listen(t, "tcp", "127.0.0.1:0")
	e2e.NoError(t, lis.Close())
	e2e.ErrorHas(t, "the error names the target", dial(t, lis.Addr().String(), grpc.Options{}).Connect(t.Context()), `connecting to "`+lis.Addr().String()+`": `)
}

// say accepts connections, reads, writes text, and closes them.
func say(t *testing.T, text string) string {
	t.Helper()
	lis := listen(t, "tcp", "127.0.0.1:0")
	go func() {
		for {
			conn, err := lis.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 24)) // the HTTP/2 preface of the client
			_, _ = io.WriteString(conn, text)
			_ = conn.Close()
		}
	}()
	return lis.Addr().String()
}

func TestStrangers(t *testing.T) {
	cases := map[string]struct{ reason, says, want string }{
		"HTTP1":  {"the response of a web server is quoted", "HTTP/1.1 400 Bad Request\r\nServer: x\r\n\r\n", `it answered "HTTP/1.1 400 Bad Request" where gRPC was expected`},
		"Short":  {"a response shorter than a frame is quoted", "no\n", `it answered "no" where gRPC was expected`},
		"Long":   {"the length of a quoted response is limited", strings.Repeat("a", 1000), `it answered "` + strings.Repeat("a", 80) + `" where gRPC was expected`},
		"Binary": {"control characters in a response are escaped", "\x1b[2Jxxxxxxx", `it answered "\x1b[2Jxxxxxxx" where gRPC was expected`},
		"TLS":    {"a TLS alert is reported as TLS", "\x15\x03\x01\x00\x02\x02\x46", "it speaks TLS where plaintext gRPC was expected"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := dial(t, say(t, tc.says), grpc.Options{}).WaitReady(t.Context())
			if err == nil || !strings.HasSuffix(err.Error(), tc.want) {
				t.Errorf("%s: got %v, want %s", tc.reason, err, tc.want)
			}
		})
	}
	t.Run("Mute", func(t *testing.T) {
		err := dial(t, say(t, ""), grpc.Options{}).Connect(t.Context())
		if want := "the connection was accepted, but nothing answered in gRPC"; err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("Connect reports a server that closes the connection: got %v, want %s", err, want)
		}
	})
}

func FuzzFirstWords(f *testing.F) {
	f.Add([]byte("HTTP/1.1 400 Bad Request\r\n"))
	f.Add([]byte("\x00\x00\x00\x04\x00\x00\x00\x00\x00"))
	f.Add([]byte("\x15\x03\x01\x00\x02\x02\x46"))
	f.Fuzz(func(t *testing.T, words []byte) {
		if err := dial(t, say(t, string(words)), grpc.Options{}).Connect(t.Context()); err == nil && len(words) < 9 {
			t.Errorf("connected to a server that responded %q", words)
		}
	})
}
