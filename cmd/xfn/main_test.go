package main

import (
	"bufio"
	"context"
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"xfn": main})
}

// TestScripts runs the programs of testdata/script: what a user types, and what
// comes of it.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "../../testdata/script",
		Setup:               setup,
		Cmds:                commands,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

// setup lets scripts compile Go with the caches of this machine, and keeps
// them from its credentials.
func setup(env *testscript.Env) error {
	out, err := exec.CommandContext(context.Background(), "go", "env", "GOCACHE", "GOMODCACHE", "GOPROXY", "GOSUMDB", "GOTOOLCHAIN").Output()
	if err != nil {
		return err
	}
	values := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	for i, key := range []string{"GOCACHE", "GOMODCACHE", "GOPROXY", "GOSUMDB", "GOTOOLCHAIN"} {
		env.Setenv(key, values[i])
	}
	env.Setenv("HOME", env.WorkDir)
	env.Setenv("DOCKER_CONFIG", env.WorkDir)
	env.Setenv("NO_COLOR", "1")
	return nil
}

// commands are those that scripts have besides testscript's own.
var commands = map[string]func(*testscript.TestScript, bool, []string){
	"run":   runs,
	"serve": serve,
}

// runs is "run CODE COMMAND ARGS…": the command ends with that exit code.
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

// serve is "serve VAR ARGS…": it starts `xfn registry serve ARGS` on a free
// port until the script ends, and sets VAR to its address.
func serve(ts *testscript.TestScript, _ bool, args []string) {
	cmd := exec.CommandContext(context.Background(), "xfn", append([]string{"registry", "serve", "--address", "127.0.0.1:0"}, args[1:]...)...)
	cmd.Dir = ts.MkAbs(".")
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	ts.Defer(func() {
		ts.Check(cmd.Process.Kill())
		// It was killed, so this is an error.
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	ts.Check(err)
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if !ok {
		ts.Fatalf("unexpected first line %q", line)
	}
	ts.Setenv(args[0], address)
}
