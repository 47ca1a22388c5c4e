package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	ggcr "github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/xfn-dev/xfn/internal/alpha"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/internal/runtimes/sandbox"
	isolation "github.com/xfn-dev/xfn/internal/sandbox"
	"github.com/xfn-dev/xfn/xpkg"
)

// A world is a Containers, and a registry with images for it.
type world struct {
	sandbox.Containers
	registry string
}

func newWorld(t testing.TB) world {
	t.Helper()
	registry := remotetest.Serve(t, remotetest.Handler())
	return world{containers(t), registry}
}

func containers(t testing.TB) sandbox.Containers {
	t.Helper()
	return sandbox.Containers{Cache: t.TempDir(), Pull: image.Options{Remote: remote.New(remote.Options{RetryWait: time.Millisecond})}}
}

// push pushes an image to the registry with this tag, and returns its reference.
func (w world) push(t testing.TB, img v1.Image, tag string, options ...ggcr.Option) string {
	t.Helper()
	ref := e2e.Must(name.ParseReference(w.registry + "/acme/fn:" + tag))(t)
	e2e.NoError(t, ggcr.Write(ref, img, options...))
	return ref.Name()
}

// run runs a container. Without an image in the request, it pushes an image of the test
// program with these arguments.
func (w world) run(t testing.TB, req alpha.ContainerRequest, act ...string) (string, error) {
	t.Helper()
	if req.Image == "" {
		req.Image = w.push(t, programImage(t, act...), strings.ToLower(filepath.Base(t.Name())))
	}
	if req.Timeout == 0 {
		req.Timeout = time.Minute // The default would be too short on a slow machine.
	}
	output, err := w.RunContainer(t.Context(), req)
	functiontest.RequireSandbox(t, err)
	return string(output), err
}

func TestContainers(t *testing.T) {
	w := newWorld(t)
	large := strings.Repeat("x", 1<<20)
	cases := map[string]struct {
		reason string
		req    alpha.ContainerRequest
		act    []string
		want   string
	}{
		"Echo":    {"the program gets the input and its output is returned", alpha.ContainerRequest{Input: []byte("hello")}, []string{"echo"}, "heard: hello"},
		"Empty":   {"an empty input ends immediately", alpha.ContainerRequest{}, []string{"echo"}, "heard: "},
		"Nothing": {"an empty output is returned", alpha.ContainerRequest{}, []string{"say"}, ""},
		"Large":   {"input and output larger than a pipe are copied concurrently", alpha.ContainerRequest{Input: []byte(large)}, []string{"echo"}, "heard: " + large},
		"Deaf":    {"the program need not read its input", alpha.ContainerRequest{Input: []byte(large)}, []string{"deaf"}, "did not listen"},
		"Talk":    {"a full pipe of stderr does not block the program", alpha.ContainerRequest{Input: []byte(large)}, []string{"talk"}, "heard: " + large},
		"Orphan":  {"child processes end with the program", alpha.ContainerRequest{}, []string{"family", "orphan", "done"}, "done"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got, err := w.run(t, tc.req, tc.act...); got != tc.want || err != nil {
				t.Errorf("%s: got %.100q (%d bytes) and error %v, want %.100q", tc.reason, got, len(got), err, tc.want)
			}
		})
	}
}

// TestContainersImage checks that a container has the user, environment, arguments and
// working directory of its image, and that it is confined.
func TestContainersImage(t *testing.T) {
	w := newWorld(t)
	ref := w.push(t, imageOf(t, v1.Config{
		Entrypoint: []string{"program", "describe"}, Cmd: []string{"a", "b"}, Env: []string{"X=y", "PATH=/usr/bin"},
		WorkingDir: "/etc", User: "fn",
	}), "v1")
	const want = "args: a b\nenv: X=y PATH=/usr/bin\ndir: /etc\nids: 65532 65531\nlinks: 1\n" +
		"root: open /written: read-only file system\ntmp: <nil>\nprogram: -rwxr-xr-x <nil>\n"
	if got, err := w.run(t, alpha.ContainerRequest{Image: ref}); got != want || err != nil {
		t.Errorf("got:\n%s%v\nwant:\n%s", got, err, want)
	}
	_, err := w.run(t, alpha.ContainerRequest{Image: w.push(t, imageOf(t, v1.Config{}), "nothing")})
	if err == nil || !strings.HasSuffix(err.Error(), ": the image has no entrypoint") {
		t.Errorf("got error %v", err)
	}
}

// TestContainersNetwork checks that the network policy Runner gives a container this
// machine's network, and that Isolated does not.
func TestContainersNetwork(t *testing.T) {
	w := newWorld(t)
	var said []string
	w.Progress = func(e progress.Event) { said = append(said, e.Text) }
	for policy, want := range map[alpha.NetworkPolicy]string{
		alpha.NetworkIsolated: "(loopback only",
		alpha.NetworkRunner:   "(network of this machine",
	} {
		said = nil
		e2e.NoError(t, e2e.Err(w.run(t, alpha.ContainerRequest{Network: policy}, "describe")))
		e2e.Has(t, fmt.Sprintf("the progress names the network of policy %s", policy), strings.Join(said, "\n"), want)
	}
}

func TestContainersFail(t *testing.T) {
	w := newWorld(t)
	var complaints strings.Builder
	for n := 10; n < 30; n++ {
		fmt.Fprintf(&complaints, "\n  complaint %d", n)
	}
	cases := map[string]struct {
		reason string
		req    alpha.ContainerRequest
		act    []string
		want   string // part of the error
	}{
		"Exit":    {"the error quotes the last lines, and the output is discarded", alpha.ContainerRequest{}, []string{"fail", "3"}, ": the program ended with exit code 3; its last lines on stderr:" + complaints.String()},
		"Flood":   {"an endless output is stopped", alpha.ContainerRequest{}, []string{"flood"}, ": the program wrote more than 104857600 bytes to its standard output; it wrote no lines on stderr"},
		"Above":   {"one byte above the limit is an error", alpha.ContainerRequest{}, []string{"write", "104857601"}, ": the program wrote more than 104857600 bytes to its standard output; it wrote no lines on stderr"},
		"Timeout": {"a process that keeps the streams open does not delay the timeout", alpha.ContainerRequest{Timeout: 2 * time.Second}, []string{"family", unique("timeout")}, ": timed out after 2s"},
		"Memory":  {"a limit is a quantity", alpha.ContainerRequest{Memory: "much"}, []string{"echo"}, `: memory limit: expected a quantity such as 128Mi or 500m, got "much"`},
		"NoTime":  {"a timeout is positive", alpha.ContainerRequest{Timeout: -1}, []string{"echo"}, ": the timeout must be positive, got -1ns"},
		"CPU":     {"a limit is positive", alpha.ContainerRequest{CPU: "0"}, []string{"echo"}, `: CPU limit: must be positive, got "0"`},
		"Network": {"the network policy is one of two", alpha.ContainerRequest{Network: "Host"}, []string{"echo"}, `: unknown network "Host": expected Isolated or Runner`},
		"Policy":  {"the pull policy is one of three", alpha.ContainerRequest{PullPolicy: "Maybe"}, []string{"echo"}, `: unknown pull policy "Maybe": expected IfNotPresent, Always or Never`},
		"NoTag":   {"an image needs a tag", alpha.ContainerRequest{Image: "registry.example.org/fn"}, nil, `: parsing reference "registry.example.org/fn": it has no tag`},
		"NoHost":  {"an image needs a registry", alpha.ContainerRequest{Image: "acme/fn:v1"}, nil, `: parsing reference "acme/fn:v1": it names no registry`},
		"Path":    {"a path is not an image unless Files is set", alpha.ContainerRequest{Image: "/etc/passwd"}, nil, `: parsing reference "/etc/passwd": it is the path of a file, and not a reference`},
		"Never":   {"the policy Never does not fetch", alpha.ContainerRequest{Image: w.registry + "/acme/other:v1", PullPolicy: alpha.PullNever}, nil, " (pull policy Never) is not in the cache, and must not be fetched"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := w.run(t, tc.req, tc.act...)
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.HasPrefix(err.Error(), "running container ") {
				t.Errorf("%s: got error %v, want one with %q", tc.reason, err, tc.want)
			}
			e2e.Equal(t, tc.reason+": there is no result", "", got)
		})
	}
	assertNothingLeft(t, unique("timeout"))
}

func TestContainersMost(t *testing.T) {
	w := newWorld(t)
	e2e.Equal(t, "an output with the maximum size is returned", 100<<20, len(e2e.Must(w.run(t, alpha.ContainerRequest{}, "write", "104857600"))(t)))
}

func TestContainersMemory(t *testing.T) {
	w := newWorld(t)
	req := alpha.ContainerRequest{Memory: "200Mi", CPU: "1500m"}
	e2e.Equal(t, "memory below the limit can be used", "10485760", e2e.Must(w.run(t, req, "eat", "10"))(t))
	req.Image = w.push(t, programImage(t, "eat", "400"), "greedy")
	got, err := w.run(t, req)
	if err == nil {
		t.Fatalf("above its limit: got %q", got)
	}
	e2e.Equal(t, "the hint", "the program may need more memory than its limit of 200 MiB", string(hint.Of(err)))
}

func TestContainersCancel(t *testing.T) {
	w := newWorld(t)
	ref := w.push(t, programImage(t, "family", unique("cancelled")), "v1")
	ctx, cancel := context.WithCancel(t.Context())
	w.Progress = func(e progress.Event) {
		if strings.HasPrefix(e.Text, "running ") {
			cancel()
		}
	}
	_, err := w.RunContainer(ctx, alpha.ContainerRequest{Image: ref, Timeout: time.Hour})
	functiontest.RequireSandbox(t, err)
	e2e.ErrorIs(t, "canceling ends the container", err, context.Canceled)
	e2e.ErrorIs(t, "a container with a context that has ended does not start", e2e.Err(w.RunContainer(ctx, alpha.ContainerRequest{Image: ref})), context.Canceled)
	assertNothingLeft(t, unique("cancelled"))
}

// TestContainersHeldFiles checks calls while another process keeps a container's pipes
// open, for example because it received them over a socket. RunContainer must still
// return at its timeout.
func TestContainersHeldFiles(t *testing.T) {
	for _, act := range [][]string{{"family", unique("held")}, {"say", "done"}} {
		w := newWorld(t)
		w.Progress = func(e progress.Event) {
			if strings.HasPrefix(e.Text, "running ") {
				holdPipes(t)
			}
		}
		e2e.ErrorHas(t, act[0]+": a call whose pipes are held ends at its timeout", e2e.Err(w.run(t, alpha.ContainerRequest{Timeout: 3 * time.Second}, act...)), ": timed out after 3s")
	}
	assertNothingLeft(t, unique("held"))
}

// holdPipes duplicates all pipes that are open now, and closes the copies at the end of
// the test.
func holdPipes(t *testing.T) {
	t.Helper()
	for _, file := range pipes(t) {
		n := e2e.Must(strconv.Atoi(filepath.Base(file)))(t)
		if held, err := syscall.Dup(n); err == nil {
			t.Cleanup(func() { _ = syscall.Close(held) })
		}
	}
}

// TestContainersSlowRegistry checks that the timeout of a call includes the time to pull
// the image.
func TestContainersSlowRegistry(t *testing.T) {
	w := newWorld(t)
	w.registry = remotetest.Serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	_, err := w.run(t, alpha.ContainerRequest{Image: w.registry + "/acme/fn:v1", Timeout: time.Second})
	if err == nil || !strings.HasSuffix(err.Error(), ": timed out after 1s") {
		t.Errorf("got error %v", err)
	}
}

func TestContainersPullPolicy(t *testing.T) {
	w := newWorld(t)
	for _, step := range []struct {
		reason string
		there  string // what the image with the tag says when the step begins
		policy alpha.PullPolicy
		want   string
	}{
		{"an image that is not in the cache is fetched", "1", alpha.PullIfNotPresent, "1"},
		{"IfNotPresent uses the cache", "2", alpha.PullIfNotPresent, "1"},
		{"Always fetches the image again", "3", alpha.PullAlways, "3"},
		{"Never uses the newest image in the cache", "4", alpha.PullNever, "3"},
	} {
		ref := w.push(t, programImage(t, "say", step.there), "v1")
		e2e.Equal(t, step.reason, step.want, e2e.Must(w.run(t, alpha.ContainerRequest{Image: ref, PullPolicy: step.policy}))(t))
	}
}

// TestContainersAuth checks that only the request's credentials are used, and
// that no error contains them.
func TestContainersAuth(t *testing.T) {
	handler := remotetest.Handler()
	open := world{containers(t), remotetest.Serve(t, handler)}
	open.push(t, programImage(t, "say", "private"), "v1")
	registry := remotetest.Serve(t, remotetest.BasicAuth(handler, "me", "secret"))
	req := alpha.ContainerRequest{Image: registry + "/acme/fn:v1"}
	for _, tc := range []struct {
		reason string
		auth   *alpha.Auth
		want   string
	}{
		{"the runner has no credentials", nil, ""},
		{"wrong credentials are rejected", &alpha.Auth{Username: "me", Password: "wrong secret"}, ""},
		{"empty credentials are rejected", &alpha.Auth{}, ""},
		{"user name and password are accepted", &alpha.Auth{Username: "me", Password: "secret"}, "private"},
		{"an encoded user name and password are accepted", &alpha.Auth{Auth: "bWU6c2VjcmV0"}, "private"},
	} {
		w := world{containers(t), registry}
		req.Auth = tc.auth
		got, err := w.run(t, req)
		e2e.Equal(t, tc.reason, tc.want, got)
		e2e.Equal(t, tc.reason, tc.want != "", err == nil)
		if err != nil && strings.Contains(err.Error(), "wrong secret") {
			t.Errorf("%s: the error contains a password: %v", tc.reason, err)
		}
	}
}

// TestContainersFile checks that an image may be a file if Files is set.
func TestContainersFile(t *testing.T) {
	w := newWorld(t)
	w.Files = true
	path := filepath.Join(t.TempDir(), "image.xpkg")
	e2e.NoError(t, xpkg.WriteFile(t.Context(), path, programImage(t, "say", "from a file"), nil))
	e2e.Equal(t, "the image in the file runs", "from a file", e2e.Must(w.run(t, alpha.ContainerRequest{Image: path}))(t))
	e2e.ErrorIs(t, "a missing file is an error", e2e.Err(w.run(t, alpha.ContainerRequest{Image: path + ".xpkg"})), fs.ErrNotExist)
}

// TestContainersIDs checks that the files of containers belong to HostUID and HostGID.
func TestContainersIDs(t *testing.T) {
	w := newWorld(t)
	w.HostUID, w.HostGID = 200000, 300000
	got, err := w.run(t, alpha.ContainerRequest{}, "describe")
	if err != nil || !strings.Contains(got, "ids: 0 0\n") || !strings.Contains(got, "program: -rwxr-xr-x <nil>\n") {
		t.Errorf("got %s%v", got, err)
	}
	if os.Geteuid() != 0 {
		return // an ordinary user can map only its own id
	}
	found, err := filepath.Glob(filepath.Join(w.Cache, "roots/sha256/*/rootfs/usr/bin/program"))
	if err != nil || len(found) != 1 {
		t.Fatalf("found %q, %v", found, err)
	}
	var st syscall.Stat_t
	if err := syscall.Stat(found[0], &st); err != nil || st.Uid != 200000 || st.Gid != 300000 {
		t.Errorf("the program belongs to %d:%d, %v", st.Uid, st.Gid, err)
	}
}

// TestContainersLeaveNothing checks that a call of RunContainer leaves no pipes open, and
// no cgroups.
func TestContainersLeaveNothing(t *testing.T) {
	w := newWorld(t)
	good, bad := w.push(t, programImage(t, "echo"), "good"), w.push(t, programImage(t, "fail", "1"), "bad")
	both := func() {
		if _, err := w.run(t, alpha.ContainerRequest{Image: good, Input: []byte("x")}); err != nil {
			t.Error(err)
		}
		e2e.Error(t, "running "+bad, e2e.Err(w.run(t, alpha.ContainerRequest{Image: bad})))
	}
	both() // The first calls open files that later calls share.
	before := len(pipes(t))
	both()
	e2e.Equal(t, "the pipes that are open afterwards", before, len(pipes(t)))
	groups, err := filepath.Glob(fmt.Sprintf("/sys/fs/cgroup/*/xfn-%d-*", os.Getpid()))
	if err != nil || len(groups) > 0 {
		t.Errorf("cgroups were not removed: %q, %v", groups, err)
	}
}

// TestContainersAsOrdinaryUser repeats some tests as a user without privileges. It omits
// the test of the memory limit, because a supervisor with the race detector cannot start
// under a resource limit.
func TestContainersAsOrdinaryUser(t *testing.T) {
	if testing.Short() {
		t.Skip("it repeats tests of this package")
	}
	if os.Geteuid() != 0 {
		t.Skip("this user is an ordinary user already")
	}
	dir := filepath.Dir(program(t, "program"))
	out := asOrdinaryUser(t, []string{programsVar + "=" + dir}, "-test.v", "-test.run=^TestContainers($|Image|Fail|IDs|LeaveNothing)", "-test.skip=/(Flood|Above)$")
	if !strings.Contains(out, "--- PASS: TestContainersImage ") {
		functiontest.RequireSandbox(t, &isolation.NamespaceError{Err: errors.New("the tests did not run as an ordinary user")})
	}
}

// unique returns an argument by which assertNothingLeft finds the processes of this test
// program, but not the processes of another run of the same tests on this machine.
func unique(arg string) string { return fmt.Sprintf("%s-%d", arg, os.Getpid()) }

// assertNothingLeft fails the test if a process exists whose last argument is arg.
func assertNothingLeft(t *testing.T, arg string) {
	t.Helper()
	files := e2e.Glob(t, "/proc/[0-9]*/cmdline")
	for _, file := range files {
		line, _ := os.ReadFile(file) // ignore an error: the process may have ended
		if bytes.HasSuffix(line, []byte("\x00"+arg+"\x00")) {
			t.Errorf("%s is still running: %q", file, line)
		}
	}
}

// pipes returns the paths, in /proc/self/fd, of the pipes that this process has open.
func pipes(t *testing.T) (open []string) {
	t.Helper()
	for _, file := range e2e.Must(filepath.Glob("/proc/self/fd/*"))(t) {
		if target, _ := os.Readlink(file); strings.HasPrefix(target, "pipe:") {
			open = append(open, file)
		}
	}
	return open
}
