package intercept_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/session/intercept"
)

// If these variables are set, the test binary is a child process that uses a
// cache folder: concurrently with other processes, or until it is killed.
const (
	childDir  = "CACHE_TEST_DIR"
	childKind = "CACHE_TEST_CHILD"
)

func TestMain(m *testing.M) {
	dir := os.Getenv(childDir)
	if dir == "" {
		os.Exit(m.Run())
	}
	rounds := 20
	if os.Getenv(childKind) == "endless" {
		rounds = 1 << 30
	}
	if err := hammer(context.Background(), dir, rounds); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// hammer requests eight responses from the cache in each round. The clock
// advances by half an hour per round, so that each response is alternately read
// and written. It prints a line after each round.
func hammer(ctx context.Context, dir string, rounds int) error {
	var fault error
	now := noon
	r := intercept.Cache(large, intercept.CacheOptions{Dir: dir, Identity: byName, Now: func() time.Time { return now }, Progress: func(e progress.Event) {
		fault = errors.New(e.Text)
	}})
	for round := range rounds {
		now = noon.Add(time.Duration(round) * time.Hour / 2)
		for i := range 8 {
			if err := right(ctx, r, i); err != nil {
				return err
			}
		}
		if _, err := intercept.PruneCache(ctx, dir, now); err != nil || fault != nil {
			return errors.Join(err, fault)
		}
		fmt.Println("round", round)
	}
	return nil
}

// right calls r with request i, and returns an error if the response is not the
// expected one.
func right(ctx context.Context, r function.Runner, i int) error {
	req := request(float64(i), "tag")
	want, _ := large(ctx, "fn", req)
	got, err := r.RunFunction(ctx, "fn", req)
	if err == nil && !proto.Equal(want, got) {
		err = fmt.Errorf("the answer to %d is wrong: %d bytes", i, proto.Size(got))
	}
	return err
}

// large is a Runner like echo, but its responses are large.
var large = function.RunnerFunc(func(_ context.Context, _ string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	rsp := answer(req, time.Hour)
	size := req.GetInput().GetFields()["size"]
	rsp.Desired = &fnv1.State{Composite: &fnv1.Resource{Resource: &structpb.Struct{Fields: map[string]*structpb.Value{
		"bulk": structpb.NewStringValue(strings.Repeat(size.String(), 10_000)),
	}}}}
	return rsp, nil
})

func child(t *testing.T, dir, kind string) *exec.Cmd {
	t.Helper()
	exe := e2e.Must(os.Executable())(t)
	cmd := exec.CommandContext(e2e.Context(t), exe)
	cmd.Env = append(os.Environ(), childDir+"="+dir, childKind+"="+kind)
	return cmd
}

func TestSeveralProcesses(t *testing.T) {
	dir := t.TempDir()
	var running []*exec.Cmd
	for range 4 {
		cmd := child(t, dir, "")
		var stderr strings.Builder
		cmd.Stderr = &stderr
		e2e.NoError(t, cmd.Start())
		running = append(running, cmd)
	}
	for _, cmd := range running {
		if err := e2e.Await(t, cmd.Wait); err != nil {
			t.Errorf("%v: %s", err, cmd.Stderr)
		}
	}
	e2e.Equal(t, "the cache has one file for each request", 8, len(e2e.Names(t, dir)))
}

func TestKilledProcess(t *testing.T) {
	dir := t.TempDir()
	for range 5 {
		kill(t, child(t, dir, "endless"))
		// All responses are correct, and no file of the killed process prevents caching.
		r := intercept.Cache(large, options(t, dir))
		for i := range 8 {
			e2e.NoError(t, right(t.Context(), r, i))
		}
	}
	e2e.NoError(t, e2e.Err(intercept.PruneCache(t.Context(), dir, time.Now().Add(48*time.Hour))))
	if left := e2e.Names(t, dir); len(left) > 0 {
		t.Errorf("these files are never removed: %q", left)
	}
}

// kill starts a child process and kills it after it has reported three rounds.
func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	out := e2e.Must(cmd.StdoutPipe())(t)
	e2e.NoError(t, cmd.Start())
	lines := bufio.NewScanner(out)
	for range 3 {
		if !lines.Scan() {
			t.Fatalf("the child ended: %v", cmd.Wait())
		}
	}
	e2e.NoError(t, cmd.Process.Kill())
	// Wait returns an error, because the child process was killed.
	_ = e2e.Await(t, cmd.Wait)
}
