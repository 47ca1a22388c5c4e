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

// dialTimeout limits the time to connect.
const dialTimeout = 30 * time.Second

// sshFlags limit the time to connect, and keep ssh from opening a terminal.
var sshFlags = []string{"-o", "ConnectTimeout=30", "-T"}

// A dialer opens connections to an engine, and stores the error of the latest
// attempt, which the client library's errors do not contain.
type dialer struct {
	// host is the address for the client library.
	host string
	// dial is nil if the library must dial itself, as for Windows' named pipes.
	dial func(ctx context.Context, network, address string) (net.Conn, error)
	// ssh is nil for an engine without ssh.
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

// throughSSH connects as the docker command does, by running docker system
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
	// The host name is not used. A unix address also bypasses proxies.
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

// failure returns the error of the latest attempt to connect, or nil.
func (d *dialer) failure() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.latest
}

// Forwards reports whether connections to the engine's machine need Forward.
func (e *Engine) Forwards() bool { return e.dialer.ssh != nil }

// Forward connects over ssh to an address as the engine's machine sees it.
func (e *Engine) Forward(ctx context.Context, address string) (net.Conn, error) {
	args := append(append([]string{}, sshFlags...), "-W", address)
	conn, err := commandconn.New(ctx, "ssh", append(args, e.dialer.ssh.Args()...)...)
	if err != nil {
		return nil, fmt.Errorf("forwarding to %s by ssh: %w", address, err)
	}
	return conn, nil
}
