package functiontest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/function/grpc"
)

// A Behavior is the behavior of a child process.
type Behavior string

// The behaviors of child processes.
const (
	// Serves responds as Literal does, and exits on SIGTERM.
	Serves Behavior = "serves"
	// ServesTCP is Serves for a function that has no flag --network.
	ServesTCP Behavior = "serves-tcp"
	// Crashes writes 30 numbered lines to stderr and exits with status 3.
	Crashes Behavior = "crashes"
	// Hangs never listens.
	Hangs Behavior = "hangs"
	// Babbles listens, and answers in HTTP/1.
	Babbles Behavior = "babbles"
	// DiesInCall writes a line to stderr and kills itself when it is called.
	DiesInCall Behavior = "dies-in-call"
	// HangsInCall never answers a call.
	HangsInCall Behavior = "hangs-in-call"
	// Stays is Serves, but ignores SIGTERM.
	Stays Behavior = "stays"
	// Forks is Serves with a child process of its own, which Hangs.
	Forks Behavior = "forks"
)

// childMark is the first argument of a child.
const childMark = "functiontest-child"

// ChildArgs returns the arguments that make a program which calls RunChild a child with
// a behavior. The child and its own child connect to the unix socket lifeline, write
// their process id and a newline to it, and keep the connection open. If lifeline is
// empty, they do not connect.
func ChildArgs(b Behavior, lifeline string) []string {
	return []string{childMark, string(b), lifeline}
}

// RunChild acts as a function in a child process if args, the arguments of the program,
// begin with the arguments that ChildArgs returns. A runtime may add --insecure,
// --network and --address. It returns the exit status, and whether the program was a
// child. Call it at the beginning of TestMain.
func RunChild(ctx context.Context, args []string, stderr io.Writer) (exit int, isChild bool) {
	if len(args) < len(ChildArgs("", "")) || args[0] != childMark {
		return 0, false
	}
	c := child{behavior: Behavior(args[1]), lifeline: args[2], network: "tcp", stderr: stderr}
	if err := c.parse(args[3:]); err != nil {
		return 2, true
	}
	if err := c.run(ctx); err != nil {
		fmt.Fprintln(stderr, err)
		return 3, true
	}
	return 0, true
}

type child struct {
	behavior         Behavior
	lifeline         string
	network, address string
	stderr           io.Writer
}

func (c *child) parse(args []string) error {
	flags := flag.NewFlagSet(childMark, flag.ContinueOnError)
	flags.SetOutput(c.stderr)
	flags.StringVar(&c.address, "address", ":9443", "where to listen")
	flags.Bool("insecure", false, "serve plaintext")
	if c.behavior != ServesTCP {
		flags.StringVar(&c.network, "network", "tcp", "tcp or unix")
	}
	return flags.Parse(args)
}

func (c *child) run(ctx context.Context) error {
	ctx, stop := c.untilTold(ctx)
	defer stop()
	if c.lifeline != "" {
		conn, err := (&net.Dialer{}).DialContext(ctx, "unix", c.lifeline)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }()
		fmt.Fprintln(conn, os.Getpid())
	}
	switch c.behavior {
	case Crashes:
		return c.crash()
	case Hangs:
		<-ctx.Done()
		return nil
	case Forks:
		if err := c.fork(); err != nil {
			return err
		}
	}
	return c.listen(ctx)
}

func (c *child) untilTold(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.behavior == Stays {
		signal.Ignore(syscall.SIGTERM)
		return signal.NotifyContext(ctx, os.Interrupt)
	}
	return signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
}

func (c *child) crash() error {
	for line := range 30 {
		fmt.Fprintln(c.stderr, "line", line+1)
	}
	return errors.New("a simulated crash")
}

func (c *child) fork() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, ChildArgs(Hangs, c.lifeline)...)
	cmd.Stderr = os.Stderr
	return cmd.Start()
}

func (c *child) listen(ctx context.Context) error {
	lis, err := (&net.ListenConfig{}).Listen(ctx, c.network, c.address)
	if err != nil {
		return err
	}
	if c.behavior == Babbles {
		srv := &http.Server{Handler: http.NotFoundHandler()}
		defer context.AfterFunc(ctx, func() { _ = srv.Close() })()
		return srv.Serve(lis)
	}
	return grpc.Serve(ctx, lis, "child", function.RunnerFunc(c.answer), grpc.ServeOptions{})
}

func (c *child) answer(ctx context.Context, name string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	switch c.behavior {
	case HangsInCall:
		<-ctx.Done()
		return nil, ctx.Err()
	case DiesInCall:
		fmt.Fprintln(c.stderr, "a simulated crash in a call")
		self, err := os.FindProcess(os.Getpid())
		if err != nil {
			return nil, err
		}
		return nil, self.Kill()
	default:
		return literal(ctx, name, req)
	}
}

// BuildChild returns a static program for Linux that prints the environment variable SAY
// and calls RunChild. The go command builds it once, from the module of the working
// directory.
func BuildChild() ([]byte, error) { return built() }

var built = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "child")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := BuildStatic(dir, "github.com/xfn-dev/xfn/internal/e2e/functiontest/testdata/child"); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(dir, "child"))
})

// BuildStatic compiles programs for Linux, statically linked, into the folder dir, which every
// user can then enter.
func BuildStatic(dir string, packages ...string) error {
	build := exec.Command("go", append([]string{"build", "-trimpath", "-ldflags=-s -w", "-o", dir + "/"}, packages...)...)
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w: %s", packages, err, out)
	}
	return os.Chmod(dir, 0o755)
}
