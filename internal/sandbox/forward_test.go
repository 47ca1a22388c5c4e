package sandbox_test

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/sandbox"
)

// limit is how long a test waits for an event that takes milliseconds.
const limit = time.Minute

// dial connects to a unix socket, and sets a deadline for all reads and writes.
func dial(t *testing.T, socket string) net.Conn {
	t.Helper()
	conn := e2e.Must(net.Dial("unix", socket))(t)
	e2e.NoError(t, conn.SetDeadline(time.Now().Add(limit)))
	return conn
}

// start forwards connections from a new unix socket to the TCP address, and returns the
// socket's path.
func start(t *testing.T, to string) (socket string) {
	t.Helper()
	l := e2e.Open(net.Listen("unix", filepath.Join(t.TempDir(), "s")))(t)
	ended := make(chan error, 1)
	go func() { ended <- sandbox.ForwardConnections(l, "tcp", to) }()
	t.Cleanup(func() {
		l.Close()
		e2e.ErrorIs(t, "forwarding ends when its socket is closed", e2e.Receive(t, ended), net.ErrClosed)
	})
	return l.Addr().String()
}

// ask sends a text, closes the connection for writing, and returns the whole answer.
func ask(t *testing.T, socket, text string) string {
	t.Helper()
	conn := dial(t, socket)
	defer conn.Close()
	e2e.NoError(t, e2e.Err(io.WriteString(conn, text)))
	e2e.NoError(t, conn.(*net.UnixConn).CloseWrite())
	return string(e2e.Must(io.ReadAll(conn))(t))
}

// echo sends each client its own bytes back until l is closed.
func echo(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			_, _ = io.Copy(conn, conn)
			conn.Close()
		}()
	}
}

func TestForward(t *testing.T) {
	server := e2e.Open(net.Listen("tcp", "127.0.0.1:0"))(t)
	go echo(server)
	socket := start(t, server.Addr().String())
	for _, text := range []string{"", "one", "another"} {
		e2e.Equal(t, "the answer through the socket", text, ask(t, socket, text))
	}
}

func TestForwardBeforeTheServer(t *testing.T) {
	reserved := e2e.Open(net.Listen("tcp", "127.0.0.1:0"))(t)
	address := reserved.Addr().String()
	reserved.Close()
	socket := start(t, address)
	conn := dial(t, socket)
	defer conn.Close()
	e2e.NoError(t, e2e.Err(io.WriteString(conn, "early")))
	server, err := net.Listen("tcp", address)
	if err != nil {
		t.Skip("another process uses the port")
	}
	defer server.Close()
	go echo(server)
	got := make([]byte, 5)
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != "early" {
		t.Errorf("bytes that were sent before the server listened: got %q, %v", got, err)
	}
}

// TestForwardBreaks resets many connections, because a reset may arrive before
// or after ForwardConnections has dialed.
func TestForwardBreaks(t *testing.T) {
	server := e2e.Open(net.Listen("tcp", "127.0.0.1:0"))(t)
	socket := start(t, server.Addr().String())
	for range 200 {
		if !breaks(t, server, socket) {
			return
		}
	}
}

// breaks resets a connection on the server's side, and reports whether the client's side
// ended, too.
func breaks(t *testing.T, server net.Listener, socket string) bool {
	t.Helper()
	conn := dial(t, socket)
	defer conn.Close()
	e2e.NoError(t, server.(*net.TCPListener).SetDeadline(time.Now().Add(limit)))
	far := e2e.Must(server.Accept())(t)
	e2e.NoError(t, errors.Join(far.(*net.TCPConn).SetLinger(0), far.Close()))
	rest, err := io.ReadAll(conn)
	if len(rest) > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("after a reset: got %q, %v", rest, err)
		return false
	}
	return true
}
