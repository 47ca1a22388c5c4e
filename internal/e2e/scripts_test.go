package e2e_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/xfn-dev/xfn/internal/alpha"
	"github.com/xfn-dev/xfn/internal/alpha/grpc"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
)

// Exit codes of xfn.
const (
	done   = 0
	failed = 1
	misuse = 2
)

func TestMain(m *testing.M) {
	testscript.Main(tests{m}, programs)
}

// tests are all tests of this package.
type tests struct{ *testing.M }

// Run runs the tests, and removes the folder of sharePrograms.
func (t tests) Run() int {
	defer func() {
		if dir, err := compiled(); err == nil {
			_ = os.RemoveAll(dir)
		}
	}()
	return t.M.Run()
}

// compiled returns the folder in which xfn keeps the programs that it compiled for all scripts
// and pages.
var compiled = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "compiled") })

// sharePrograms makes xfn with the home directory home keep its compiled programs in a folder
// for all tests, so that each source is compiled once.
func sharePrograms(home string) error {
	if runtime.GOOS != "linux" {
		return nil
	}
	dir, err := compiled()
	if err != nil {
		return err
	}
	cache := filepath.Join(home, ".cache/xfn")
	return errors.Join(os.MkdirAll(cache, 0o700), os.Symlink(dir, filepath.Join(cache, "go")))
}

// initGo is a command that creates a function from the bundled template go.
const initGo = "xpkg init function-hello go "

// compileTemplate compiles a function from the bundled template go, once for all scripts and
// pages that create one. Otherwise, scripts and pages that run at the same time would each
// compile it, and a render with an empty cache of the go command may exceed its timeout.
func compileTemplate(t testing.TB, env []string) error {
	t.Helper()
	template.Do(func() {
		dir := t.TempDir()
		for _, args := range []string{initGo + "-d .", "xpkg build -f package --embed-runtime-source . -o hello.xpkg"} {
			cmd := exec.CommandContext(t.Context(), e2e.Binary(t), strings.Fields(args)...)
			cmd.Dir, cmd.Env = dir, env
			if out, err := cmd.CombinedOutput(); err != nil {
				errTemplate = fmt.Errorf("xfn %s: %w\n%s", args, err, out)
				return
			}
		}
	})
	return errTemplate
}

// template is used to set errTemplate, the error of compileTemplate, once.
var (
	template    sync.Once
	errTemplate error
)

// programs are commands that tests can execute in processes of their own.
var programs = map[string]func(){"contained": contained, "containers": containers}

// contained is "contained COMMAND ARGS…": it runs the command as in a
// container, where no namespaces can be created.
func contained() {
	program, err := exec.LookPath(os.Args[1])
	if err == nil {
		err = functiontest.ExecContained(program, os.Args[1:], os.Environ())
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// TestScripts runs the scripts of its folder, which check commands and their output.
func TestScripts(t *testing.T) {
	const dir = "../../testdata/script"
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		Setup:               func(env *testscript.Env) error { return setup(t, dir, env) },
		Deadline:            time.Now().Add(scriptsLimit),
		Cmds:                commands,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

// binary is the script variable with the path of xfn.
const binary = "XFN"

// scriptsLimit is the timeout of all scripts together. It is enough to compile their
// dependencies for the first time.
const scriptsLimit = 20 * time.Minute

// goVariables are the environment variables with which scripts use the Go
// caches of this machine.
var goVariables = []string{"GOCACHE", "GOMODCACHE", "GOPROXY", "GOSUMDB", "GOTOOLCHAIN"}

// goEnv returns the values of goVariables.
var goEnv = sync.OnceValues(func() ([]string, error) {
	out, err := exec.Command("go", append([]string{"env"}, goVariables...)...).Output()
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n"), err
})

// setup puts xfn first on the path of a script in dir, lets the script compile Go, and hides the
// credentials of this machine.
func setup(t *testing.T, dir string, env *testscript.Env) error {
	path := e2e.Binary(t)
	env.Setenv(binary, path)
	env.Setenv("PATH", filepath.Dir(path)+string(os.PathListSeparator)+env.Getenv("PATH"))
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		return err
	}
	env.Setenv("EXAMPLES", examples)
	values, err := goEnv()
	if err != nil {
		return err
	}
	for i, key := range goVariables {
		env.Setenv(key, values[i])
	}
	env.Setenv("GOFLAGS", "-gcflags=all=-dwarf=false") // Go commands use the packages that xfn compiles.
	if err := sharePrograms(env.WorkDir); err != nil {
		return err
	}
	env.Setenv("HOME", env.WorkDir)
	env.Setenv("DOCKER_CONFIG", env.WorkDir)
	env.Setenv("XDG_RUNTIME_DIR", env.WorkDir)
	env.Setenv("DOCKER_HOST", "unix://"+env.WorkDir+"/no-engine.sock")
	env.Setenv("NO_COLOR", "1")
	text, err := os.ReadFile(filepath.Join(dir, strings.TrimPrefix(filepath.Base(env.WorkDir), "script-")+".txt"))
	if err != nil || !strings.Contains(string(text), initGo) {
		return err
	}
	return compileTemplate(t, env.Vars)
}

// commands are additional commands of scripts.
var commands = map[string]func(*testscript.TestScript, bool, []string){
	"run":              runs,
	"as-user":          asUser,
	"digest":           digest,
	"sarif":            sarif,
	"serve":            serve,
	"serve-containers": serveContainersCmd,
	"serve-function":   serveFunction,
	"serve-run":        serveRun,
	"serve-alpha":      serveAlpha,
	"call-alpha":       callAlpha,
	"certificate":      certificate,
	"start-dev":        startDev,
	"await":            awaitDev,
}

// asUser is "as-user COMMAND ARGS…": xfn, or a command of TestMain, must
// succeed as an ordinary user, whose home is the script's folder home. Without
// root it runs as the user of this test.
func asUser(ts *testscript.TestScript, _ bool, args []string) {
	const user = 54321
	home, bin := ts.MkAbs("home"), filepath.Join(ts.Getenv("WORK"), "bin")
	path, err := copyBinary(bin, ts.Getenv(binary))
	ts.Check(err)
	if args[0] != "xfn" {
		path, err = exec.LookPath(args[0])
		ts.Check(err)
	}
	cmd := exec.CommandContext(limited(ts), path, args[1:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(os.Environ(), "HOME="+home, "TMPDIR="+home, "XFN_CACHE_DIR="+home, "PATH="+bin)
	ts.Check(os.MkdirAll(home, 0o700))
	if os.Geteuid() == 0 {
		ts.Check(os.Chown(home, user, user))
		for _, file := range []string{home, path} {
			ts.Check(open(filepath.Dir(file)))
		}
		setUser(cmd, user)
	}
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		ts.Fatalf("%v: %s", err, errs.String())
	}
	ts.Check(os.WriteFile(ts.MkAbs("user.out"), []byte(out.String()), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs("user.err"), []byte(errs.String()), 0o600))
}

// copyBinary copies xfn into a new directory that every user can enter, because
// its own may not be accessible. Another process writes the copy. If this process wrote it,
// a child that another test starts meanwhile could keep the file open, and the kernel would
// not run it.
func copyBinary(dir, binary string) (string, error) {
	path := filepath.Join(dir, filepath.Base(binary))
	return path, errors.Join(os.MkdirAll(dir, 0o755), exec.Command("cp", binary, path).Run(), open(dir))
}

// open makes a directory of the tests accessible to all users.
func open(dir string) error {
	for ; len(dir) > len(os.TempDir()); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// runs is "run CODE COMMAND ARGS…": the command must end with that exit code.
func runs(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var ee *exec.ExitError
		if !errors.As(err, &ee) {
			ts.Fatalf("%v", err)
		}
		got = ee.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// digest is "digest VAR": it sets VAR to the hexadecimal digits of the first
// digest in the output of the last command.
func digest(ts *testscript.TestScript, _ bool, args []string) {
	found := regexp.MustCompile(`sha256:([0-9a-f]{64})`).FindStringSubmatch(ts.ReadFile("stdout"))
	if found == nil {
		ts.Fatalf("no digest was printed")
	}
	ts.Setenv(args[0], found[1])
}

// sarif is "sarif": the output of the last command must be valid SARIF.
func sarif(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Check(e2e.CheckSARIF("../..", []byte(ts.ReadFile("stdout"))))
}

// serve is "serve VAR ARGS…": it starts `xfn registry serve ARGS` on a free port, and sets
// VAR to its address. At the end of the script it is interrupted, and must leave no files.
func serve(ts *testscript.TestScript, _ bool, args []string) {
	cmd := command(ts, "registry", "serve", args[1:])
	serveAt(ts, args[0], cmd, cmd.StdoutPipe, "listening on ")
}

// serveFunction is "serve-function VAR NAME ARGS…": it starts `xfn function
// serve NAME ARGS` on a free port, and sets VAR to its address. At the end of
// the script it is interrupted, and must succeed.
func serveFunction(ts *testscript.TestScript, _ bool, args []string) {
	cmd := command(ts, "function", "serve", args[1:])
	serveAt(ts, args[0], cmd, cmd.StderrPipe, "note: serving "+args[1]+" on ")
}

// serveAlpha is "serve-alpha VAR ARGS…": it starts `xfn alpha start ARGS`, and sets VAR to
// its target. At the end of the script it is interrupted, and must succeed.
func serveAlpha(ts *testscript.TestScript, _ bool, args []string) {
	cmd := inScript(ts, append([]string{"alpha", "start"}, args[1:]...))
	serveAt(ts, args[0], cmd, cmd.StderrPipe, "note: serving containers on ")
}

// serveRun is "serve-run VAR ARGS…": it starts `xfn run ARGS`, and sets VAR
// to its target. At the end of the script it is interrupted, and must succeed.
func serveRun(ts *testscript.TestScript, _ bool, args []string) {
	cmd := inScript(ts, append([]string{"run"}, args[1:]...))
	serveAt(ts, args[0], cmd, cmd.StdoutPipe, "listening on ")
}

// serveAt starts a server, which prints its address after a prefix, and sets variable to the address.
// At the end of the script it interrupts the server.
func serveAt(ts *testscript.TestScript, variable string, cmd *exec.Cmd, pipe func() (io.ReadCloser, error), prefix string) {
	out, err := pipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	ts.Defer(func() { interrupt(ts, cmd) })
	line, err := bufio.NewReader(out).ReadString('\n')
	ts.Check(err)
	address, ok := strings.CutPrefix(strings.TrimSpace(line), prefix)
	if !ok {
		ts.Fatalf("unexpected first line %q", line)
	}
	ts.Setenv(variable, address)
}

// inScript returns a command that runs xfn in the folder of a script, with the
// environment that servers need.
func inScript(ts *testscript.TestScript, args []string) *exec.Cmd {
	cmd := exec.CommandContext(limited(ts), ts.Getenv(binary), args...)
	cmd.Dir, cmd.Env = ts.MkAbs("."), os.Environ()
	for _, key := range []string{"HOME", "DOCKER_CONFIG", "XDG_RUNTIME_DIR", "NO_COLOR", "TMPDIR"} {
		cmd.Env = append(cmd.Env, key+"="+ts.Getenv(key))
	}
	return cmd
}

// callAlpha is "call-alpha TARGET IMAGE FILE": it calls a runner as Crossplane
// does, and prints the response or the error.
func callAlpha(ts *testscript.TestScript, _ bool, args []string) {
	client, err := grpc.Dial(args[0])
	ts.Check(err)
	output, err := client.RunContainer(limited(ts), alpha.ContainerRequest{Image: args[1], Input: []byte(ts.ReadFile(args[2]))})
	if err != nil {
		output = []byte(err.Error())
	}
	_, err = ts.Stdout().Write(output)
	ts.Check(errors.Join(err, client.Close()))
}

// limited returns a context that ends with the script, or after a limit.
func limited(ts *testscript.TestScript) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), scriptsLimit)
	ts.Defer(cancel)
	return ctx
}

// interrupt interrupts a server, which must succeed.
func interrupt(ts *testscript.TestScript, cmd *exec.Cmd) {
	ts.Check(cmd.Process.Signal(os.Interrupt))
	ts.Check(cmd.Wait())
}

func command(ts *testscript.TestScript, group, name string, args []string) *exec.Cmd {
	return inScript(ts, append([]string{group, name, "--address", "127.0.0.1:0"}, args...))
}
