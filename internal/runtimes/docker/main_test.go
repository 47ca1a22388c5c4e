package docker_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/moby/moby/client"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/remote/dockerengine"
	"github.com/xfn-dev/xfn/internal/remote/dockerengine/dockerenginetest"
	"github.com/xfn-dev/xfn/internal/runtimes"
	"github.com/xfn-dev/xfn/internal/runtimes/docker"
)

// Names that select a role of this test binary.
const (
	beUser = "docker-test-user" // the first argument: start the functions in the other arguments, and wait
	// beSSH is an environment variable with the path of the engine's socket. It makes
	// this test binary act as the ssh command. An argument cannot do that, because the
	// Docker library chooses the arguments of ssh.
	beSSH = "XFN_DOCKER_TEST_SSH"
)

func TestMain(m *testing.M) {
	if socket := os.Getenv(beSSH); socket != "" && filepath.Base(os.Args[0]) == "ssh" {
		os.Exit(pretendSSH(socket, os.Args[1:]))
	}
	if len(os.Args) > 1 && os.Args[1] == beUser {
		startAndWait(os.Args[2:])
		return
	}
	code := m.Run()
	removeLoaded()
	os.Exit(code)
}

// A place is a connection to an engine, and a directory for leases.
type place struct {
	env    dockerengine.Environment
	engine *dockerengine.Engine
	dir    string
	events *recorder
}

// A recorder records progress events.
type recorder struct {
	mu     sync.Mutex
	events []progress.Event
}

func (s *recorder) record(e progress.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
}

// texts returns the texts of the recorded events of this kind.
func (s *recorder) texts(kind progress.Kind) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var texts []string
	for _, e := range s.events {
		if e.Kind == kind {
			texts = append(texts, e.Text)
		}
	}
	return texts
}

// open connects to the engine and returns a place. At the end of the test it asserts that
// no leases are left.
func open(t testing.TB) place {
	t.Helper()
	p := place{env: dockerenginetest.Environment(t), engine: dockerenginetest.Open(t), dir: t.TempDir(), events: &recorder{}}
	t.Cleanup(func() { p.assertNoLeases(t) })
	return p
}

func (p place) assertNoLeases(t testing.TB) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(p.dir, "docker/renders/*"))
	if err != nil || len(left) > 0 {
		t.Errorf("leases were not removed: %q, %v", left, err)
	}
}

// config returns the Config of a runtime that uses the engine and the lease directory of p.
func (p place) config() docker.Config {
	return docker.Config{Environment: p.env, UserAgent: "xfn/test", Dir: p.dir, Remote: remote.New(remote.Options{}), LocalOptions: runtimes.LocalOptions{Progress: p.events.record}}
}

// render returns a new runtime, as another process would have.
func (p place) render() *docker.Docker { return docker.New(p.config()) }

const (
	// named is the prefix of the names of test images. The behavior of the function
	// follows.
	named  = "xfn.test/function:"
	prefix = "render.crossplane.io/runtime-docker-"
)

// image loads the image of a function with this behavior into the engine, and returns the
// image's name.
func (p place) image(t testing.TB, b functiontest.Behavior) string {
	t.Helper()
	as := named + string(b)
	if _, err := p.engine.ImageInspect(t.Context(), as); err == nil && loaded[as] {
		return as
	}
	tag := e2e.Must(name.NewTag(as))(t)
	e2e.NoError(t, p.engine.Load(t.Context(), tag, dockerenginetest.Function(t, b, nil)))
	loaded[as] = true
	return as
}

// loaded contains the names of the test images in the engine, which all tests share.
var loaded = map[string]bool{}

// removeLoaded removes the images in loaded from the engine. It ignores errors.
func removeLoaded() {
	for _, host := range []string{os.Getenv("XFN_TEST_DOCKER_HOST"), os.Getenv("DOCKER_HOST")} {
		if host == "" || len(loaded) == 0 {
			continue
		}
		engine, err := dockerengine.Open(context.Background(), dockerengine.Endpoint{Host: host}, "", "xfn/test")
		if err != nil {
			continue
		}
		for image := range loaded {
			_, _ = engine.ImageRemove(context.Background(), image, client.ImageRemoveOptions{Force: true})
		}
	}
}

// fn returns a Function with annotations. Each annotation is two arguments: its key
// without the common prefix, and its value.
func fn(pkg string, annotations ...string) runtimes.Function {
	f := runtimes.Function{Name: "f", Package: pkg, Annotations: map[string]string{}}
	for i := 0; i < len(annotations); i += 2 {
		f.Annotations[prefix+annotations[i]] = annotations[i+1]
	}
	return f
}

func start(t testing.TB, r runtimes.Runtime, f runtimes.Function) *runtimes.Instance {
	t.Helper()
	return e2e.Must(r.Start(t.Context(), f))(t)
}

func end(t testing.TB, instance *runtimes.Instance) {
	t.Helper()
	e2e.WantError(t, "Stop removes the container", instance.Stop(context.WithoutCancel(t.Context())), "")
}

// answers calls a Literal function, and returns an error unless it answers.
func answers(ctx context.Context, r function.Runner) error {
	req := &fnv1.RunFunctionRequest{}
	if err := protojson.Unmarshal([]byte(`{"input": {"response": {"meta": {"tag": "hi"}}}}`), req); err != nil {
		return err
	}
	rsp, err := r.RunFunction(ctx, "f", req)
	if err == nil && rsp.GetMeta().GetTag() != "hi" {
		err = fmt.Errorf("got %q, want the literal response", rsp.GetMeta().GetTag())
	}
	return err
}

func assertAnswers(t testing.TB, r function.Runner) {
	t.Helper()
	e2e.NoError(t, answers(t.Context(), r))
}

// containers returns the states of the containers with a label or name. It removes them
// at the end of the test.
func (p place) containers(t testing.TB, term, value string) []string {
	t.Helper()
	list := e2e.Must(p.engine.ContainerList(context.WithoutCancel(t.Context()), client.ContainerListOptions{All: true, Filters: client.Filters{}.Add(term, value)}))(t)
	var states []string
	for _, c := range list.Items {
		states = append(states, string(c.State))
		t.Cleanup(func() { p.remove(t, c.ID) })
	}
	return states
}

// remove removes a container from the engine, if it exists.
func (p place) remove(t testing.TB, id string) {
	t.Helper()
	_, _ = p.engine.ContainerRemove(context.WithoutCancel(t.Context()), id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
}

// ours returns the states of all containers that the runtime created.
func (p place) ours(t testing.TB) string {
	t.Helper()
	return strings.Join(p.containers(t, "label", "dev.xfn.function=f"), " ")
}

// startAndWait is the role of a process that is killed: it starts functions,
// prints "ready" and waits. Its arguments are the host, the directory, and for
// each function the package and annotations, separated by "--".
func startAndWait(args []string) {
	r := docker.New(docker.Config{Environment: dockerengine.Environment{Host: args[0]}, Dir: args[1], Remote: remote.New(remote.Options{})})
	for f := range strings.SplitSeq(strings.Join(args[2:], "\n"), "\n--\n") {
		parts := strings.Split(f, "\n")
		if _, err := r.Start(context.Background(), fn(parts[0], parts[1:]...)); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
}
