package dockerengine

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/docker/cli/cli/connhelper"
	"github.com/docker/cli/cli/connhelper/commandconn"
	"github.com/docker/cli/cli/connhelper/ssh"
	"github.com/moby/moby/client"
)

// dialTimeout is how long a connection may take to be made.
const dialTimeout = 30 * time.Second

// sshFlags keep ssh from waiting for ever and from opening a terminal.
var sshFlags = []string{"-o", "ConnectTimeout=30", "-T"}

// A dialer opens connections to an engine, and remembers how the latest attempt
// failed: the client library's errors do not tell.
type dialer struct {
	// host is the address as the client library takes it.
	host string
	// dial is nil where the library knows best: for Windows' named pipes.
	dial func(ctx context.Context, network, address string) (net.Conn, error)
	// ssh is nil for an engine that is reached without.
	ssh *ssh.Spec

	mu     sync.Mutex
	latest error
}

func newDialer(at Endpoint) (*dialer, error) {
	d := &dialer{host: at.Host}
	switch scheme, path, _ := strings.Cut(at.Host, "://"); scheme {
	case "npipe":
	case "unix":
		d.dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "unix", path)
		}
	case "ssh":
		return d, d.throughSSH()
	default:
		d.dial = (&net.Dialer{Timeout: dialTimeout}).DialContext
	}
	return d, nil
}

// throughSSH makes connections as the docker command does: by its own command
// dial-stdio on the other machine.
func (d *dialer) throughSSH() error {
	u, err := url.Parse(d.host)
	if err == nil {
		d.ssh, err = ssh.NewSpec(u)
	}
	if err != nil {
		return fmt.Errorf("reading the engine's address: %w", err)
	}
	helper, err := connhelper.GetConnectionHelperWithSSHOpts(d.host, sshFlags)
	if err != nil {
		return fmt.Errorf("reading the engine's address: %w", err)
	}
	// The name is never looked up. As that of a socket it uses no proxy.
	d.host, d.dial = "unix://ssh", helper.Dialer
	return nil
}

// option makes the client library use the dialer.
func (d *dialer) option() client.Opt {
	if d.dial == nil {
		return nil
	}
	return client.WithDialContext(func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := d.dial(ctx, network, address)
		d.mu.Lock()
		defer d.mu.Unlock()
		d.latest = err
		return conn, err
	})
}

// failure is how the latest attempt to connect failed, or nil.
func (d *dialer) failure() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.latest
}

// Forwards reports whether Forward is the way to the ports of the engine's
// machine.
func (e *Engine) Forwards() bool { return e.dialer.ssh != nil }

// Forward connects through ssh to an address as the engine's machine sees it.
func (e *Engine) Forward(ctx context.Context, address string) (net.Conn, error) {
	args := append(append([]string{}, sshFlags...), "-W", address)
	conn, err := commandconn.New(ctx, "ssh", append(args, e.dialer.ssh.Args()...)...)
	if err != nil {
		return nil, fmt.Errorf("forwarding to %s by ssh: %w", address, err)
	}
	return conn, nil
}
