package sandbox

import (
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"time"
)

// maxConnections is the number of connections that ForwardConnections forwards at a time.
// Further clients wait until it accepts them.
const maxConnections = 128

// The first and the longest pause between two dials while no server listens. Each pause
// is an eighth longer than the previous one, so that a client waits little longer than
// the server needs to start.
const (
	firstPause = 500 * time.Microsecond
	lastPause  = 10 * time.Millisecond
)

// ForwardConnections accepts connections from l and forwards each to an address of a
// network. It dials until a server listens there, so a client may connect before the
// server starts. ForwardConnections returns the error of l.Accept, for example after l is
// closed. Pending dials stop then.
func ForwardConnections(l net.Listener, network, address string) error {
	closed := make(chan struct{})
	defer close(closed)
	free := make(chan struct{}, maxConnections)
	for {
		free <- struct{}{}
		client, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer func() { <-free }()
			defer client.Close()
			if server := reach(closed, network, address); server != nil {
				defer server.Close()
				join(client, server)
			}
		}()
	}
}

// reach dials until a server accepts the connection. It returns nil when the channel is
// closed. It also returns nil if Dial fails with ECONNRESET: the server has accepted the
// connection and reset it. To dial again would give the server a second connection for
// one client.
func reach(closed <-chan struct{}, network, address string) net.Conn {
	for pause := firstPause; ; pause = min(pause+pause/8, lastPause) {
		conn, err := net.Dial(network, address)
		if err == nil {
			return conn
		}
		if errors.Is(err, syscall.ECONNRESET) {
			return nil
		}
		select {
		case <-closed:
			return nil
		case <-time.After(pause):
		}
	}
}

// join copies between two connections, in both directions, until both directions have ended.
func join(a, b net.Conn) {
	var both sync.WaitGroup
	both.Go(func() { relay(a, b) })
	both.Go(func() { relay(b, a) })
	both.Wait()
}

// relay copies everything from one connection to the other, and then closes the write
// side of the connection that it wrote to.
func relay(to, from net.Conn) {
	_, err := io.Copy(to, from)
	half, ok := to.(interface{ CloseWrite() error })
	if err != nil || !ok || half.CloseWrite() != nil {
		_ = to.Close() // closing both connections ends both directions
		_ = from.Close()
	}
}
