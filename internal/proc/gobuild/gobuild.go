package gobuild

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/proc"
)

// Options say what to compile, for which platform, and where to.
type Options struct {
	// Dir is the directory of the main package.
	Dir string
	// GOOS and GOARCH are the target, in Go's words. Both are needed.
	GOOS, GOARCH string
	// Variant is the CPU variant in OCI's words: "v6", "v7", "v8.1". Empty is
	// the one that the architecture's name means in an OCI image: v7 for arm,
	// v1 for amd64, v8.0 for arm64.
	Variant string
	// Output is the file to write. A directory Output+".work" holds the
	// compiler's temporary files, and is gone when Build returns.
	Output string
	// LDFlags are more flags of the linker, as -ldflags takes them. They come
	// after those that leave out symbols.
	LDFlags string
	// Flags are more flags of go build, each with its value after "=": "-tags=x".
	// They override what Build would do to keep the result repeatable.
	Flags []string
	// Env is the environment of the go command, as "KEY=value". PATH in it
	// says where go is. GOFLAGS, GOWORK and the like are obeyed, as far as
	// they leave the result a static, repeatable binary for the target.
	Env []string
}

// grace is how long a compiler that was killed may keep its output open.
const grace = 5 * time.Second

// flags override those of GOFLAGS, which go reads before its arguments, where
// they would make the binary another one: with a dynamic loader, with counters
// that are written to files, with paths or stamps.
var flags = []string{
	"-trimpath", "-buildvcs=false", "-compiler=gc",
	"-buildmode=default", "-linkshared=false", "-cover=false", "-race=false", "-msan=false", "-asan=false",
}

// Build compiles the main package in opts.Dir: static (no cgo), stripped, and
// without paths, VCS stamps or anything else that differs between machines. An
// error of the compiler ends in its last lines of output. When ctx ends, the
// compiler is killed with all its children.
func Build(ctx context.Context, opts Options) (err error) {
	target := opts.GOOS + "/" + opts.GOARCH
	goCmd, err := proc.LookPath("go", opts.Env)
	if err != nil {
		err = fmt.Errorf("compiling %q for %s: %w", opts.Dir, target, err)
		return hint.Wrap(err, "install Go from https://go.dev/dl and try again")
	}
	if err := checkDir(opts.Dir); err != nil {
		return fmt.Errorf("compiling %q for %s: %w", opts.Dir, target, err)
	}
	out, err := filepath.Abs(opts.Output)
	if err != nil {
		return fmt.Errorf("finding the directory of %q: %w", opts.Output, err)
	}
	work := out + ".work"
	if err := os.Mkdir(work, 0o700); err != nil {
		return fmt.Errorf("making a directory for the compiler: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()

	cmd := exec.CommandContext(ctx, goCmd, arguments(opts, out)...)
	cmd.Dir = opts.Dir
	cmd.Env = environment(opts, work)
	cmd.WaitDelay = grace
	proc.KillGroup(cmd)
	var said tail
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		return failure(ctx, opts, err, said.String())
	}
	return checkProgram(opts.Dir, out)
}

// arguments are those of the go command.
func arguments(opts Options, out string) []string {
	linker := "-ldflags=" + strings.TrimSpace("-s -w "+opts.LDFlags)
	return slices.Concat([]string{"build"}, flags, []string{linker}, opts.Flags, []string{"-o", out, "."})
}

func checkDir(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return fsx.Cause(err)
	}
	if !info.IsDir() {
		return hint.Wrap(errors.New("it is not a directory"), "name the directory of the main package, the one that holds func main")
	}
	return nil
}

// A CompileError is source that go build does not take.
type CompileError struct {
	// Dir is that of the package, and Target "GOOS/GOARCH".
	Dir, Target string
	// Said are the last lines that go build wrote, in which files are relative
	// to Dir.
	Said string
}

// Error ends in what go build wrote.
func (e *CompileError) Error() string {
	return fmt.Sprintf("compiling %q for %s: go build failed:\n%s", e.Dir, e.Target, e.Said)
}

// failure turns the end of a go command into an error for people.
func failure(ctx context.Context, opts Options, err error, said string) error {
	target := opts.GOOS + "/" + opts.GOARCH
	if ctx.Err() != nil {
		return fmt.Errorf("compiling %q for %s: %w", opts.Dir, target, context.Cause(ctx))
	}
	if said == "" {
		return fmt.Errorf("compiling %q for %s: %w", opts.Dir, target, err)
	}
	err = &CompileError{Dir: opts.Dir, Target: target, Said: said}
	if strings.Contains(said, "no Go files in") {
		return hint.Wrap(err, "name the directory of the main package, the one that holds func main")
	}
	return err
}

// checkProgram fails if out is not a program: go build writes an archive for
// a package that is not named main, and nothing if GOFLAGS says -n.
func checkProgram(dir, out string) error {
	f, err := os.Open(out)
	if err != nil {
		return fmt.Errorf("compiling %q: go build left no program", dir)
	}
	defer f.Close()
	magic := make([]byte, 8)
	if _, err := io.ReadFull(f, magic); err != nil {
		return fmt.Errorf("compiling %q: go build left no program", dir)
	}
	if !bytes.Equal(magic, []byte("!<arch>\n")) {
		return nil
	}
	err = fmt.Errorf("compiling %q: the Go package there is a library, not package main", dir)
	return errors.Join(hint.Wrap(err, "name the directory of the main package, the one that holds func main"), os.Remove(out))
}
