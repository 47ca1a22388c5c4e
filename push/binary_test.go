package push_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

// largePackage builds a package with a layer larger than the buffers of a connection.
func largePackage(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	img := e2e.Must(mutate.ConfigFile(empty.Image, &v1.ConfigFile{OS: "linux", Architecture: "amd64"}))(t)
	img = e2e.Must(mutate.AppendLayers(img, e2e.Must(random.Layer(4<<20, types.DockerLayer))(t)))(t)
	saved := filepath.Join(dir, "runtime.tar")
	e2e.NoError(t, tarball.WriteToFile(saved, nil, img))
	e2e.WriteFile(t, filepath.Join(dir, "crossplane.yaml"), "apiVersion: meta.pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: large}\n")
	file := filepath.Join(dir, "large.xpkg")
	build := e2e.Command(t, "xpkg", "build", "-f", dir, "--embed-runtime-image-tarball", saved, "-o", file)
	e2e.Output(t, build)
	return file
}

// TestPushTellsNoPassword: the output of a push that fails contains no credentials,
// with --verbose too.
func TestPushTellsNoPassword(t *testing.T) {
	t.Parallel()
	reg := remotetest.Embedded(t)
	file := largePackage(t)
	storage := "http://" + remotetest.Serve(t, reg)
	for seed, fate := range []string{"", "full", "readonly", "forbidden", "shut", ""} {
		t.Run(fmt.Sprint(seed, fate), func(t *testing.T) {
			t.Parallel()
			proxy := &faultProxy{Direct: reg, Storage: storage, Rate: 0.2, Fate: fate, FateAt: 6}
			proxy.Next = remotetest.BasicAuth(reg, "gold", canary)
			if seed%2 == 0 {
				proxy.Tokens = newTokenServer(reg, "gold", canary)
				proxy.Next = proxy.Tokens
			}
			proxy.Begin(uint64(seed))
			host := remotetest.Serve(t, proxy)
			ref := fmt.Sprintf("%s/acme/chaos-%d:v1", host, seed)
			config := t.TempDir()
			login := fmt.Sprintf(`{"auths": {%q: {"username": "gold", "password": %q}}}`, host, canary)
			e2e.WriteFile(t, filepath.Join(config, "config.json"), login)
			cmd := e2e.Command(t, "xpkg", "push", "-f", file, "--verbose", "--retry-delay=1ms", ref)
			cmd.Env = append(os.Environ(), "DOCKER_CONFIG="+config)
			out, err := cmd.CombinedOutput()
			harm := proxy.End()
			if strings.Contains(string(out), canary) || strings.Contains(string(out), "Z29sZDpzM2NyZXQ") { // the login in base64
				t.Errorf("the output contains a password: %s", out)
			}
			var exit *exec.ExitError
			if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(out), "error: pushing")) {
				t.Errorf("after %v: %v: %s", harm, err, out)
			}
			if fate != "" && (err == nil || harm[fate] == 0) {
				t.Errorf("the fault %q did not occur: %v, %v", fate, harm, err)
			}
		})
	}
}

// TestPushInterrupted: Ctrl-C ends a push at once while the registry neither reads nor
// responds.
func TestPushInterrupted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows cannot send an interrupt to a process")
	}
	t.Parallel()
	reg := remotetest.Embedded(t)
	stalled, end := make(chan struct{}, 9), make(chan struct{})
	host := remotetest.Serve(t, remotetest.Faults(reg, 99, "^PATCH ", func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.CopyN(io.Discard, r.Body, 1<<20)
		stalled <- struct{}{}
		<-end
	}))
	t.Cleanup(func() { close(end) }) // Cleanups run in reverse order: release the handlers, then close the server.
	var out strings.Builder
	cmd := e2e.Command(t, "xpkg", "push", "-f", largePackage(t), host+"/acme/large:v1")
	cmd.Stdout, cmd.Stderr = &out, &out
	e2e.NoError(t, cmd.Start())
	e2e.Receive(t, stalled)
	e2e.NoError(t, cmd.Process.Signal(os.Interrupt))
	if err := e2e.Await(t, cmd.Wait); err == nil || !strings.Contains(out.String(), "interrupted") {
		t.Errorf("got %v: %s", err, &out)
	}
}
