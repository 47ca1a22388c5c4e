package registry_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/registry"
)

// TestMain serves a registry forever if an environment variable names its
// directory. TestKilled kills this process.
func TestMain(m *testing.M) {
	dir := os.Getenv("XFN_TEST_REGISTRY_DIR")
	if dir == "" {
		os.Exit(m.Run())
	}
	h, err := registry.Open(dir)
	if err != nil {
		panic(err)
	}
	l := listen()
	fmt.Println(l.Addr())
	panic(registry.Serve(context.Background(), l, h))
}

func listen() net.Listener {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	return l
}

func TestServeStops(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	entered, release := make(chan struct{}), make(chan struct{})
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(entered)
		<-release
		_, _ = io.WriteString(w, "whole")
	})
	l := listen()
	served, answered := make(chan error), make(chan string)
	go func() { served <- registry.Serve(ctx, l, h) }()
	go func() {
		resp, err := http.Get("http://" + l.Addr().String())
		if err != nil {
			answered <- err.Error()
			return
		}
		defer func() { _ = resp.Body.Close() }()
		b, _ := io.ReadAll(resp.Body)
		answered <- string(b)
	}()
	e2e.Receive(t, entered)
	stop()
	close(release)
	e2e.Equal(t, "the running request is answered completely", "whole", e2e.Receive(t, answered))
	e2e.WantError(t, "a stopped server is not an error", e2e.Receive(t, served), "")
	if c, err := net.Dial("tcp", l.Addr().String()); err == nil {
		_ = c.Close()
		t.Error("the server still listens")
	}
}

// TestServeCutsOff: a request that does not end is cut off. TestKilled checks what happens to its upload.
func TestServeCutsOff(t *testing.T) {
	t.Parallel() // Serve waits for the whole drain time, so this test is slow.
	dir := t.TempDir()
	reg := e2e.Open(registry.Open(dir))(t)
	ctx, stop := context.WithCancel(t.Context())
	l := listen()
	served := make(chan error)
	go func() { served <- registry.Serve(ctx, l, reg) }()
	conn := upload(t, l.Addr().String())
	defer func() { _ = conn.Close() }()
	stop()
	e2e.NoError(t, e2e.Receive(t, served))
	e2e.Error(t, "the request is not answered", e2e.Err(bufio.NewReader(conn).ReadString('\n')))
}

func TestServeFails(t *testing.T) {
	l := listen()
	e2e.NoError(t, l.Close())
	e2e.ErrorIs(t, "an error of the listener is returned", registry.Serve(t.Context(), l, http.NotFoundHandler()), net.ErrClosed)
}

// TestKilled: a registry that is killed during an upload has all changes that it confirmed
// to clients, and no others.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	host, kill := child(t, dir)
	images := map[string]v1.Image{}
	for _, tagged := range []string{"r:v1", "r:v2"} {
		img := image(t)
		e2e.NoError(t, remote.Write(tag(t, host, tagged), img))
		images[tagged] = img
	}
	half := upload(t, host)
	kill()
	_ = half.Close()

	left := e2e.Must(filepath.Glob(filepath.Join(dir, "uploads", "*")))(t)
	if len(left) != 1 {
		t.Fatalf("got %v, want the one upload that was interrupted", left)
	}
	host, _ = start(t, dir)
	for tagged, img := range images {
		got := e2e.Must(remote.Image(tag(t, host, tagged)))(t)
		e2e.NoError(t, validate.Image(got))
		e2e.Equal(t, fmt.Sprintf("%s is another image", tagged), digest(t, img), digest(t, got))
	}
	e2e.Empty(t, filepath.Join(dir, "uploads"))
}

// child serves dir in another process.
func child(t *testing.T, dir string) (host string, kill func()) {
	t.Helper()
	c, line := e2e.Start(t, "XFN_TEST_REGISTRY_DIR="+dir)
	return line, sync.OnceFunc(func() { c.Kill(t) })
}

// upload starts an upload and stops in the middle of its body.
func upload(t *testing.T, host string) net.Conn {
	t.Helper()
	resp := e2e.Must(http.Post("http://"+host+"/v2/r/blobs/uploads/", "", nil))(t)
	e2e.NoError(t, resp.Body.Close())
	conn := e2e.Must(net.Dial("tcp", host))(t)
	e2e.Must(fmt.Fprintf(conn, "PATCH %s HTTP/1.1\r\nHost: %s\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n", resp.Header.Get("Location"), host))(t)
	e2e.Must(bufio.NewReader(conn).ReadString('\n'))(t)
	e2e.Must(io.WriteString(conn, "half"))(t)
	return conn
}
