package carry_test

import (
	"errors"
	"io"
	"net"
	"path/filepath"
	"testing"

	"github.com/xfn-dev/xfn/internal/sandbox/carry"
)

func listen(t *testing.T, network, address string) net.Listener {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// start forwards from a new unix socket, and returns the path of the socket.
func start(t *testing.T, to string) (socket string) {
	t.Helper()
	l := listen(t, "unix", filepath.Join(t.TempDir(), "s"))
	ended := make(chan error, 1)
	go func() { ended <- carry.Carry(l, "tcp", to) }()
	t.Cleanup(func() {
		l.Close()
		if err := <-ended; !errors.Is(err, net.ErrClosed) {
			t.Errorf("Carry() after its socket was closed: got error %v", err)
		}
	})
	return l.Addr().String()
}

// ask sends a text, closes the writing side, and returns the whole answer.
func ask(t *testing.T, socket, text string) string {
	t.Helper()
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.UnixConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	return string(answer)
}

// echo serves until its listener is closed.
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

func TestCarry(t *testing.T) {
	server := listen(t, "tcp", "127.0.0.1:0")
	go echo(server)
	socket := start(t, server.Addr().String())
	for _, text := range []string{"", "one", "another"} {
		if got := ask(t, socket, text); got != text {
			t.Errorf("carrying %q: got %q back", text, got)
		}
	}
}

func TestCarryBeforeTheServer(t *testing.T) {
	reserved := listen(t, "tcp", "127.0.0.1:0")
	address := reserved.Addr().String()
	reserved.Close()
	socket := start(t, address)
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "early"); err != nil {
		t.Fatal(err)
	}
	server, err := net.Listen("tcp", address)
	if err != nil {
		t.Skip("another process listens on the port")
	}
	defer server.Close()
	go echo(server)
	got := make([]byte, 5)
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != "early" {
		t.Errorf("data sent before the server listened: got %q, %v", got, err)
	}
}

// TestCarryBreaks checks that the connection of one side ends when the other
// side disappears.
func TestCarryBreaks(t *testing.T) {
	server := listen(t, "tcp", "127.0.0.1:0")
	socket := start(t, server.Addr().String())
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	far, err := server.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(far.(*net.TCPConn).SetLinger(0), far.Close()); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(conn); len(rest) > 0 {
		t.Errorf("after a reset: got %q, %v", rest, err)
	}
}
