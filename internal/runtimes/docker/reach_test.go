package docker_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
	"github.com/xfn-dev/xfn/internal/remote/dockerengine"
	"github.com/xfn-dev/xfn/internal/runtimes/docker"
)

func TestPublish(t *testing.T) {
	p := open(t)
	image := p.image(t, functiontest.Serves)
	for name, tc := range map[string]struct{ reason, annotation, value, want string }{
		"Loopback": {"the default is the loopback address", "", "", "127.0.0.1"},
		"Other":    {"the publish address can be set", "publish-address", "127.0.0.2", "127.0.0.2"},
		"All":      {"the port can be published on all addresses", "publish-address", "0.0.0.0", "0.0.0.0"},
		"Target":   {"the target replaces the published host", "target", "localhost", "127.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			f := fn(image)
			if tc.annotation != "" {
				f.Annotations[prefix+tc.annotation] = tc.value
			}
			instance := start(t, p.render(), f)
			defer end(t, instance)
			assertAnswers(t, instance)
			_, container, _ := strings.Cut(instance.Detail, " in container ")
			info := e2e.Must(p.engine.ContainerInspect(t.Context(), container, client.ContainerInspectOptions{}))(t)
			e2e.Equal(t, tc.reason, tc.want, info.Container.NetworkSettings.Ports[port][0].HostIP.String())
		})
	}
}

// TestNetwork checks functions with the annotation network. Such a function publishes no
// port, and only members of its network can resolve the name of its container.
func TestNetwork(t *testing.T) {
	p := open(t)
	image := p.image(t, functiontest.Serves)
	const network = "xfn-test-network"
	e2e.NoError(t, e2e.Err(p.engine.NetworkCreate(t.Context(), network, client.NetworkCreateOptions{Driver: "bridge"})))
	t.Cleanup(func() {
		e2e.NoError(t, e2e.Err(p.engine.NetworkRemove(context.WithoutCancel(t.Context()), network, client.NetworkRemoveOptions{})))
	})
	config := p.config()
	config.StartTimeout = time.Second
	_, err := docker.New(config).Start(t.Context(), fn(image, "network", network, "name", "xfn-test-member"))
	e2e.ErrorHint(t, "a function in an unreachable network is an error with a hint", err, "xfn-test-member", `run xfn in a container of network "xfn-test-network"`)
	// This machine is not a member of the network: it reaches the container by its IP
	// address.
	orphan := fn(image, "network", network, "name", "xfn-test-member", "cleanup", "Orphan", "target", p.memberOf(t, image, network))
	instance := start(t, p.render(), orphan)
	assertAnswers(t, instance)
	end(t, instance)
}

// memberOf runs a function in a network, and returns its IP address there.
func (p place) memberOf(t *testing.T, image, network string) string {
	t.Helper()
	created := e2e.Must(p.engine.ContainerCreate(t.Context(), client.ContainerCreateOptions{Name: "xfn-test-member", Config: configOf(image), HostConfig: in(network)}))(t)
	t.Cleanup(func() { p.remove(t, created.ID) })
	e2e.NoError(t, e2e.Err(p.engine.ContainerStart(t.Context(), created.ID, client.ContainerStartOptions{})))
	info := e2e.Must(p.engine.ContainerInspect(t.Context(), created.ID, client.ContainerInspectOptions{}))(t)
	if ports := info.Container.HostConfig.PortBindings; len(ports) > 0 {
		t.Errorf("published: %v", ports)
	}
	return info.Container.NetworkSettings.Networks[network].IPAddress.String()
}

// carry accepts connections from l until the end of the test, and forwards each to the engine's
// socket.
func (p place) carry(t *testing.T, l net.Listener) *severable {
	t.Helper()
	m := &severable{listener: l}
	t.Cleanup(m.die)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			m.mu.Lock()
			m.conns = append(m.conns, conn)
			m.mu.Unlock()
			go join(conn, strings.TrimPrefix(p.env.Host, "unix://"))
		}
	}()
	return m
}

func join(conn net.Conn, socket string) {
	defer conn.Close()
	engine, err := net.Dial("unix", socket)
	if err != nil {
		return
	}
	defer engine.Close()
	go func() {
		_, _ = io.Copy(engine, conn)
		_ = engine.Close()
	}()
	_, _ = io.Copy(conn, engine)
}

// TestTLS checks functions on an engine that needs mutual TLS.
func TestTLS(t *testing.T) {
	p := open(t)
	image := p.image(t, functiontest.Serves)
	authority := functiontest.NewAuthority(t)
	server := authority.Issue(t, "localhost", time.Hour, authority)
	pair := e2e.Must(tls.LoadX509KeyPair(filepath.Join(server, "tls.crt"), filepath.Join(server, "tls.key")))(t)
	pool := x509.NewCertPool()
	pool.AddCert(authority.Certificate)
	l := e2e.Must(tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert}))(t)
	p.carry(t, l)
	_, at, _ := net.SplitHostPort(l.Addr().String())
	config := p.config()
	config.Environment = dockerengine.Environment{Host: "tcp://localhost:" + at, CertPath: dockerFiles(t, authority.Issue(t, "ada", time.Hour, authority)), Verify: true}
	instance := start(t, docker.New(config), fn(image))
	assertAnswers(t, instance)
	end(t, instance)
	config.Environment.CertPath = dockerFiles(t, authority.Issue(t, "eve", time.Hour, functiontest.NewAuthority(t)))
	e2e.ErrorHas(t, "a server with an unknown certificate is an error", e2e.Err(docker.New(config).Start(t.Context(), fn(image))), "certificate signed by unknown authority")
	config.Environment.Verify = false
	instance = start(t, docker.New(config), fn(image))
	end(t, instance)
}

// dockerFiles renames the certificates in a folder to the file names that Docker uses.
func dockerFiles(t *testing.T, from string) string {
	t.Helper()
	for old, name := range map[string]string{"ca.crt": "ca.pem", "tls.crt": "cert.pem", "tls.key": "key.pem"} {
		e2e.NoError(t, os.Rename(filepath.Join(from, old), filepath.Join(from, name)))
	}
	return from
}

// TestSSH checks functions on an engine of another machine over ssh. Connections to ports
// of that machine also use ssh.
func TestSSH(t *testing.T) {
	p := open(t)
	image := p.image(t, functiontest.Serves)
	self, err := os.Executable()
	e2e.NoError(t, err)
	bin := t.TempDir()
	e2e.NoError(t, os.Symlink(self, filepath.Join(bin, "ssh")))
	t.Setenv("PATH", bin)
	t.Setenv(beSSH, strings.TrimPrefix(p.env.Host, "unix://"))
	config := p.config()
	config.Environment = dockerengine.Environment{Host: "ssh://ada@build.example.org:2222"}
	instance := start(t, docker.New(config), fn(image))
	assertAnswers(t, instance)
	end(t, instance)

	t.Setenv("PATH", t.TempDir())
	_, err = docker.New(config).Start(t.Context(), fn(image))
	e2e.ErrorHas(t, "a missing ssh command is an error", err, "connecting to the container engine at ssh://ada@build.example.org:2222 (DOCKER_HOST): command ssh not found")
}

// pretendSSH acts as the ssh command. It connects to the engine or the port on this
// machine.
func pretendSSH(socket string, args []string) int {
	said := strings.Join(args, " ")
	var network, address string
	switch {
	case !strings.Contains(said, "-l ada -p 2222"):
	case strings.HasSuffix(said, "-- build.example.org docker system dial-stdio"):
		network, address = "unix", socket
	case strings.HasSuffix(said, "-- build.example.org"):
		network, address = "tcp", args[slices.Index(args, "-W")+1]
	}
	if network == "" {
		fmt.Fprintln(os.Stderr, "cannot do", said)
		return 255
	}
	conn, err := net.Dial(network, address)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 255
	}
	go func() {
		_, _ = io.Copy(conn, os.Stdin)
		os.Exit(0)
	}()
	_, _ = io.Copy(os.Stdout, conn)
	return 0
}

// TestRemoteLoopback checks that a function whose port is published on the loopback
// interface of another machine is an error without a wait, with a hint.
func TestRemoteLoopback(t *testing.T) {
	p := open(t)
	image := p.image(t, functiontest.Serves)
	name := e2e.Must(os.Hostname())(t)
	addresses, err := net.LookupHost(name)
	if err != nil {
		t.Skipf("this machine has no host name: %v", err)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(addresses[0], "0"))
	e2e.NoError(t, err)
	p.carry(t, l)
	_, at, _ := net.SplitHostPort(l.Addr().String())
	config := p.config()
	config.Environment = dockerengine.Environment{Host: "tcp://" + net.JoinHostPort(name, at)}
	_, err = docker.New(config).Start(t.Context(), fn(image))
	e2e.ErrorHint(t, "a port on the loopback interface of another machine is an error with a hint", err, "the port of the function is published on 127.0.0.1 of "+name, prefix+"publish-address: 0.0.0.0")
}
