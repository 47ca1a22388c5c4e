package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/xfn-dev/xfn/internal/hint"
)

// passedOn is set for the crossplane CLI, so that another xfn of that name does not pass the
// command on forever.
const passedOn = "XFN_PASSED_ON"

// passOn runs a command of the crossplane CLI with that CLI, and returns its exit code. It
// returns an error if PATH has no such CLI, or if the CLI cannot run.
func passOn(ctx context.Context, command string, args []string, stdin, stdout, stderr *os.File) (int, error) {
	if os.Getenv(passedOn) != "" {
		return 1, hint.Wrap(fmt.Errorf("running %q: this program is xfn, too", "crossplane "+command), "set XFN_CROSSPLANE to the path of the crossplane CLI")
	}
	path, err := crossplaneCLI(os.Getenv("XFN_CROSSPLANE"), os.Getenv("PATH"))
	if err != nil {
		return 1, hint.Wrap(fmt.Errorf("running %q, which xfn passes on to the crossplane CLI: %w", "crossplane "+command, err),
			"install the crossplane CLI, and set XFN_CROSSPLANE to its path")
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(os.Environ(), passedOn+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
	cmd.Cancel = func() error {
		if runtime.GOOS == "windows" {
			return cmd.Process.Kill()
		}
		return cmd.Process.Signal(syscall.SIGTERM)
	}
	err = cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return max(exit.ExitCode(), 1), nil
	}
	if err != nil {
		return 1, fmt.Errorf("running %q: %w", path, err)
	}
	return 0, nil
}

// crossplaneCLI returns the program named, or else the first "crossplane" in the directories of
// search that is not this program.
func crossplaneCLI(named, search string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding this program: %w", err)
	}
	own, err := os.Stat(self)
	if err != nil {
		return "", fmt.Errorf("finding this program: %w", err)
	}
	isOther := func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && !info.IsDir() && !os.SameFile(own, info)
	}
	if named != "" {
		path, err := exec.LookPath(named)
		switch {
		case err != nil:
			return "", fmt.Errorf("finding XFN_CROSSPLANE: %w", err)
		case !isOther(path):
			return "", fmt.Errorf("XFN_CROSSPLANE is %q, which is xfn", named)
		}
		return path, nil
	}
	for _, dir := range filepath.SplitList(search) {
		if !filepath.IsAbs(dir) {
			continue // as exec.LookPath: the working directory is not trusted
		}
		if path, err := exec.LookPath(filepath.Join(dir, "crossplane")); err == nil && isOther(path) {
			return path, nil
		}
	}
	return "", errors.New("PATH has no other program named crossplane")
}
