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

// dialTimeout limits the time to connect to an engine.
const dialTimeout = 30 * time.Second

// sshFlags are options of the ssh command. They limit the time to connect, and keep ssh
// from opening a terminal.
var sshFlags = []string{"-o", "ConnectTimeout=30", "-T"}

// A dialer opens connections to an engine, and stores the error of the latest attempt.
// The errors of the client library do not contain that error.
type dialer struct {
	// host is the engine's address, as the client library gets it.
	host string
	// dial is nil if the client library must dial itself, as for named pipes on Windows.
	dial func(ctx context.Context, network, address string) (net.Conn, error)
	// ssh is nil if the engine's address is not an ssh:// address.
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

// throughSSH makes d connect over ssh as the docker command does: it runs docker system
// dial-stdio on the engine's machine.
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
	// helper.Dialer ignores the host name. With a unix:// address, the client library
	// uses no HTTP proxy.
	d.host, d.dial = "unix://ssh", helper.Dialer
	return nil
}

// option returns the option that makes the client library use the dialer.
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

// failure returns the error of the latest attempt to connect, or nil if that succeeded.
func (d *dialer) failure() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.latest
}

// Forwards reports whether connections to ports of the engine's machine need
// [Engine.Forward].
func (e *Engine) Forwards() bool { return e.dialer.ssh != nil }

// Forward connects over ssh to an address that the engine's machine can reach.
func (e *Engine) Forward(ctx context.Context, address string) (net.Conn, error) {
	args := append(append([]string{}, sshFlags...), "-W", address)
	conn, err := commandconn.New(ctx, "ssh", append(args, e.dialer.ssh.Args()...)...)
	if err != nil {
		return nil, fmt.Errorf("forwarding to %s by ssh: %w", address, err)
	}
	return conn, nil
}
