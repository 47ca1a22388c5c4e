package dockerengine_test

import (
	stdcontext "context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/moby/moby/api/types/registry"
	"github.com/moby/moby/client"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/remote/dockerengine"
	"github.com/xfn-dev/xfn/internal/remote/dockerengine/dockerenginetest"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

// beOtherUser is an environment variable with the path of a socket. If it is set, this
// test binary connects to the socket and prints the error.
const beOtherUser = "XFN_ENGINE_TEST_SOCKET"

func TestMain(m *testing.M) {
	if socket := os.Getenv(beOtherUser); socket != "" {
		_, err := dockerengine.Open(stdcontext.Background(), dockerengine.Endpoint{Host: "unix://" + socket, From: "DOCKER_HOST"}, "", "xfn/test")
		fmt.Printf("%v\nhint: %s\n", err, hint.Of(err))
		return
	}
	os.Exit(m.Run())
}

// TestNegotiation checks the oldest supported API version with simulated engines, and
// negotiates the version with the real engine.
func TestNegotiation(t *testing.T) {
	e := dockerenginetest.Open(t)
	version := e2e.Must(e.ServerVersion(t.Context(), client.ServerVersionOptions{}))(t)
	if got := e.ClientVersion(); got > version.APIVersion && len(got) >= len(version.APIVersion) {
		t.Errorf("got %s, but the engine supports %s", got, version.APIVersion)
	}
	e2e.Equal(t, "the platform is that of the engine", version.Os+"/"+version.Arch, e2e.Must(e.Platform(t.Context()))(t).String())
	for speaks, want := range map[string]string{"1.41": "", "1.40": "", "1.39": "API version 1.39 is not supported"} {
		_, err := open(t, serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Api-Version", speaks) }))
		e2e.WantError(t, fmt.Sprintf("an engine with API version %s", speaks), err, want)
	}
}

// serve starts a simulated engine with this handler, and returns its address.
func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return "tcp://" + s.Listener.Addr().String()
}

func open(t *testing.T, host string) (*dockerengine.Engine, error) {
	t.Helper()
	e, err := dockerengine.Open(t.Context(), dockerengine.Endpoint{Host: host, From: "DOCKER_HOST"}, "", "xfn/test")
	if err == nil {
		t.Cleanup(func() { _ = e.Close() })
	}
	return e, err
}

func TestOpenFails(t *testing.T) {
	const nobody = remotetest.Nobody
	missing := filepath.Join(t.TempDir(), "docker.sock")
	cases := map[string]struct{ reason, host, want, hint string }{
		"Missing": {"the socket does not exist", "unix://" + missing, "connecting to the container engine at unix://" + missing + " (DOCKER_HOST): the socket does not exist", "start the engine, or set DOCKER_HOST"},
		"Nobody":  {"no server listens at the address", "tcp://" + nobody, "connecting to the container engine at tcp://" + nobody + " (DOCKER_HOST): connection refused", "start the engine, or"},
		"Web":     {"the server is not an engine", serve(t, http.NotFound), "404 page not found", ""},
		"SSH":     {"an address must not contain a password", "ssh://ada:secret@x", "plain-text password is not supported", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := open(t, tc.host)
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "secret") || !strings.HasPrefix(string(hint.Of(err)), tc.hint) {
				t.Errorf("%s: got %v, hint %q", tc.reason, err, hint.Of(err))
			}
		})
	}
	ctx, cancel := stdcontext.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	e2e.Equal(t, "opening an engine returns the cause of the context", "enough", fmt.Sprint(e2e.Err(dockerengine.Open(ctx, dockerengine.Endpoint{Host: "unix://" + missing}, "", ""))))
}

// TestPermission checks that the error for a user without permission names the
// group of the socket.
func TestPermission(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can change the user")
	}
	dir := e2e.ShortDir(t)
	socket := filepath.Join(dir, "s")
	l := e2e.Must(net.Listen("unix", socket))(t)
	defer l.Close()
	self := filepath.Join(dir, "self")
	copyFile(t, self)
	for gid, group := range map[int]string{0: "docker", 1: "daemon", 54321: "docker"} {
		e2e.NoError(t, errors.Join(os.Chown(socket, 0, gid), os.Chmod(socket, 0o660)))
		cmd := exec.CommandContext(e2e.Context(t), self)
		cmd.Env = []string{beOtherUser + "=" + socket}
		cmd.SysProcAttr = asNobody()
		out, err := cmd.CombinedOutput()
		want := fmt.Sprintf("connecting to the container engine at unix://%s (DOCKER_HOST): permission denied; the group of the socket is %q\nhint: add yourself to the group (sudo usermod -aG %s $USER)", socket, group, group)
		if err != nil || !strings.HasPrefix(string(out), want) {
			t.Errorf("group %d: got %v:\n%s\nwant:\n%s", gid, err, out, want)
		}
	}
}

// copyFile copies this test program to a file that other users can execute.
func copyFile(t *testing.T, to string) {
	t.Helper()
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Skip(err)
	}
	e2e.NoError(t, os.WriteFile(to, self, 0o755))
}

// TestExplain checks that Explain does not change the message of an engine, and that the
// error of a broken connection says so.
func TestExplain(t *testing.T) {
	e, err := open(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/_ping":
		case strings.HasSuffix(r.URL.Path, "/version"):
			http.Error(w, "no version today", http.StatusInternalServerError)
		case strings.HasSuffix(r.URL.Path, "/images/load"):
			fmt.Fprintln(w, `{"stream":"Loading"}`+"\n"+`{"errorDetail":{"message":"no space left"},"error":"no space left"}`)
		case strings.HasSuffix(r.URL.Path, "/images/create"):
			fmt.Fprintln(w, `{"status":"Pulling"}`+"\n"+`{"errorDetail":{"message":"manifest unknown"}}`)
		default:
			panic(http.ErrAbortHandler)
		}
	}))
	e2e.NoError(t, err)
	e2e.Equal(t, "the message of the engine is the error of a request", "no version today", fmt.Sprint(e2e.Err(e.Platform(t.Context()))))
	e2e.Equal(t, "the message of the engine is the error of loading an image", "no space left", fmt.Sprint(e.LoadArchive(t.Context(), strings.NewReader(""))))
	e2e.Equal(t, "the message of the engine is the error of a pull", "manifest unknown", fmt.Sprint(e.Pull(t.Context(), "x", registry.AuthConfig{}, nil)))
	_, err = e.Info(t.Context(), client.InfoOptions{})
	if err := e.Explain(t.Context(), err); !errors.As(err, new(*dockerengine.ConnectionError)) || !strings.HasPrefix(err.Error(), "the connection to the container engine at tcp://127.0.0.1:") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := stdcontext.WithTimeoutCause(t.Context(), time.Nanosecond, errors.New("too late"))
	defer cancel()
	<-ctx.Done()
	_, err = e.Info(ctx, client.InfoOptions{})
	e2e.Equal(t, "the cause of the context is the error", "too late", fmt.Sprint(e.Explain(ctx, err)))
	e2e.NoError(t, e.Explain(t.Context(), nil))
}

// TestPullProgress checks that the progress of a pull is the sum of all layers, and ends
// with the total.
func TestPullProgress(t *testing.T) {
	e := e2e.Must(open(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		for _, line := range []string{
			`{"status":"Downloading","id":"a","progressDetail":{"current":1,"total":10}}`,
			`{"status":"Downloading","id":"b","progressDetail":{"current":5,"total":20}}`,
			`{"status":"Extracting","id":"a","progressDetail":{"current":3,"total":3}}`,
			`{"status":"Downloading","id":"a","progressDetail":{"current":10,"total":10}}`,
			`{"status":"Download complete","id":"b"}`,
		} {
			if r.URL.Path != "/_ping" {
				fmt.Fprintln(w, line)
			}
		}
	})))(t)
	var told []string
	e2e.NoError(t, e.Pull(t.Context(), "x", registry.AuthConfig{}, func(ev progress.Event) { told = append(told, fmt.Sprint(ev.Text, " ", ev.Done, "/", ev.Total)) }))
	e2e.Equal(t, "the progress is the sum of all layers, and ends with the total", "pulling x 1/10, pulling x 6/30, pulling x 15/30, pulling x 30/30", strings.Join(told, ", "))
}

// TestTagFor checks that the tag for an image contains the digest of the image's config.
func TestTagFor(t *testing.T) {
	img := dockerenginetest.Image(t, []byte("program"), func(*v1.ConfigFile) {})
	tag, err := dockerengine.TagFor(img)
	config, configErr := img.ConfigName()
	if err != nil || configErr != nil || tag.Name() != "xfn.invalid/package:sha256-"+config.Hex {
		t.Errorf("got %v, %v, %v", tag, err, configErr)
	}
}

func TestMachine(t *testing.T) {
	e := e2e.Must(open(t, serve(t, func(http.ResponseWriter, *http.Request) {})))(t)
	if got := e.Machine(); got != "" || e.Forwards() {
		t.Errorf("a loopback address is this machine: got %q", got)
	}
}
