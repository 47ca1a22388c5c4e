package process_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
	"github.com/xfn-dev/xfn/internal/runtimes"
	"github.com/xfn-dev/xfn/internal/runtimes/process"
)

// Roles of this test binary, in addition to functiontest.RunChild. The first argument is
// the role.
const (
	beTalker = "process-test-talker" // print the arguments and the environment, and end
	beUser   = "process-test-user"   // start the package in the second argument, and wait
	beNoisy  = "process-test-noisy"  // write to stdout without end
)

// removeBuilt removes the programs that shared built for all tests.
var removeBuilt = func() {}

var roles = map[string]func(args []string){beTalker: talk, beUser: startAndWait, beNoisy: makeNoise}

func TestMain(m *testing.M) {
	functiontest.Supervise()
	args := os.Args[1:]
	if exit, isChild := functiontest.RunChild(context.Background(), args, os.Stderr); isChild {
		os.Exit(exit)
	}
	if len(args) > 0 && roles[args[0]] != nil {
		roles[args[0]](args[1:])
		return
	}
	code := m.Run()
	removeBuilt()
	os.Exit(code)
}

func talk([]string) {
	dir, _ := os.Getwd()
	fmt.Println("args:", strings.Join(os.Args[1:], " "))
	fmt.Println("dir:", filepath.Base(dir))
	for _, kv := range os.Environ() {
		fmt.Println("env:", strings.ReplaceAll(kv, dir, "DIR"))
	}
	fmt.Println("odd: \x1b[31mred\a\u202e\xff end")
	fmt.Println("long:", strings.Repeat("x", 5000))
	fmt.Fprint(os.Stderr, "no newline")
}

func makeNoise([]string) {
	for line := 0; ; line++ {
		fmt.Println("noise", line)
	}
}

func startAndWait(args []string) {
	_, err := process.Process{GoEnv: os.Environ(), LocalOptions: runtimes.LocalOptions{TempDir: args[1]}}.Start(context.Background(), runtimes.Function{Name: "f", Package: args[0]})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// A life is a child process that has connected to a lifeline. The connection ends when
// the process ends.
type life struct {
	net.Conn
	pid int
}

// A lifeline is a unix socket to which child processes of a test connect. It records each
// of them.
type lifeline struct {
	path string
	born chan life
}

func newLifeline(t *testing.T) lifeline {
	t.Helper()
	dir := e2e.Must(os.MkdirTemp("", "life"))(t)
	lis := e2e.Must(net.Listen("unix", filepath.Join(dir, "s")))(t)
	t.Cleanup(func() {
		_ = lis.Close()
		_ = os.RemoveAll(dir)
	})
	l := lifeline{path: lis.Addr().String(), born: make(chan life, 100)}
	go func() {
		for {
			conn, err := lis.Accept()
			if err != nil {
				return
			}
			line, _ := bufio.NewReader(conn).ReadString('\n')
			pid, _ := strconv.Atoi(strings.TrimSpace(line))
			l.born <- life{conn, pid}
		}
	}()
	return l
}

// next returns the next child process that connected to the lifeline.
func (l lifeline) next(t *testing.T) life {
	t.Helper()
	select {
	case one := <-l.born:
		return one
	case <-time.After(time.Minute):
		t.Fatal("no child process connected within a minute")
		return life{}
	}
}

// awaitDeath returns when the process has ended.
func (l life) awaitDeath(t *testing.T) {
	t.Helper()
	e2e.NoError(t, l.SetReadDeadline(time.Now().Add(time.Minute)))
	if _, err := l.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("process %d is still running: %v", l.pid, err)
	}
	_ = l.Close()
}

// shortDir returns an empty directory whose path is short enough for sockets.
// It fails the test if the directory is not empty at the end.
func shortDir(t *testing.T) string {
	t.Helper()
	dir := e2e.ShortDir(t)
	t.Cleanup(func() { e2e.Empty(t, dir) })
	return dir
}

func request(t testing.TB, input string) *fnv1.RunFunctionRequest {
	t.Helper()
	req := &fnv1.RunFunctionRequest{}
	e2e.NoError(t, protojson.Unmarshal([]byte(`{"input": `+input+`}`), req))
	return req
}

// assertAnswers calls a Literal function, and fails the test unless it answers.
func assertAnswers(t *testing.T, r function.Runner) {
	t.Helper()
	rsp, err := r.RunFunction(t.Context(), "f", request(t, `{"response": {"meta": {"tag": "hi"}}}`))
	if err != nil {
		t.Error(err)
		return
	}
	e2e.Equal(t, "the function answers with the response in the request", "hi", rsp.GetMeta().GetTag())
}

func stop(t *testing.T, fn *runtimes.Instance) {
	t.Helper()
	e2e.WantError(t, "Stop ends the function", fn.Stop(context.WithoutCancel(t.Context())), "")
}
