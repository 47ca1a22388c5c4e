package carry

import (
	"io"
	"net"
	"sync"
	"time"
)

// maxConnections is how many are carried at a time; more wait to be accepted.
const maxConnections = 128

// The pauses between tries to reach an address that nobody listens at yet. Each
// is an eighth longer than the one before, so that a client waits little longer
// than the server took to come.
const (
	firstPause = 500 * time.Microsecond
	lastPause  = 10 * time.Millisecond
)

// Carry accepts connections and carries each to an address of a network, trying
// until somebody listens there: so a client may come before the server. It ends
// when l fails to accept, as when it is closed, with that error, and then tries
// no more.
func Carry(l net.Listener, network, address string) error {
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

// reach returns a connection, or nil once the channel is closed.
func reach(closed <-chan struct{}, network, address string) net.Conn {
	for pause := firstPause; ; pause = min(pause+pause/8, lastPause) {
		if conn, err := net.Dial(network, address); err == nil {
			return conn
		}
		select {
		case <-closed:
			return nil
		case <-time.After(pause):
		}
	}
}

// join copies both ways until both have ended.
func join(a, b net.Conn) {
	var both sync.WaitGroup
	both.Go(func() { relay(a, b) })
	both.Go(func() { relay(b, a) })
	both.Wait()
}

// relay copies one way, and passes the end of it on.
func relay(to, from net.Conn) {
	_, err := io.Copy(to, from)
	half, ok := to.(interface{ CloseWrite() error })
	if err != nil || !ok || half.CloseWrite() != nil {
		_ = to.Close() // then the other way ends too
		_ = from.Close()
	}
}
