package gobuild

import (
	"bytes"
	"cmp"
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

// Options say what Build compiles, for which platform, and where it writes the program.
type Options struct {
	// Dir is the directory of the main package.
	Dir string
	// GOOS and GOARCH are the target platform. Both are required.
	GOOS, GOARCH string
	// Variant is the CPU variant of an OCI platform: "v6", "v7", "v8.1". Empty means the
	// variant that the architecture implies: v7 for arm, v1 for amd64, v8.0 for arm64.
	Variant string
	// Output is the program file to write. Until Build returns, the directory
	// Output+".work" has the temporary files of the compiler.
	Output string
	// Kept is a folder in which Build keeps programs, so that the next Build links only what
	// has changed. If Kept is empty, and on Windows, Build keeps no programs.
	Kept string
	// LDFlags are additional linker flags, after -s and -w.
	LDFlags string
	// Flags are additional flags of go build. A value follows its flag after "=":
	// "-tags=x". They override the flags that make the program reproducible.
	Flags []string
	// Env is the environment of the go command, as "KEY=value". Build searches go in its
	// PATH. Variables such as GOFLAGS and GOWORK apply, except settings that would make
	// the program dynamically linked or not reproducible.
	Env []string
}

// grace is how long the output of the compiler may stay open after the compiler was killed.
const grace = 5 * time.Second

// flags override flags in GOFLAGS that would add a dynamic loader, coverage counters,
// file paths or version control stamps to the program.
var flags = []string{
	"-trimpath", "-buildvcs=false", "-compiler=gc",
	"-buildmode=default", "-linkshared=false", "-cover=false", "-race=false", "-msan=false", "-asan=false",
}

// withoutDebug leaves out the debug information that the linker would remove. A build after a change
// takes an eighth less time, and the go command's cache is a quarter smaller.
const withoutDebug = "-gcflags=all=-dwarf=false"

// maxLines limits the number of lines of the compiler's output in an error.
const maxLines = 40

const nameMainPackage = "give the directory of the main package, which contains func main"

// Build compiles the main package in opts.Dir: static (no cgo), stripped, and without
// paths, VCS stamps or anything else that differs between machines. If go build fails, the
// error is a CompileError. When ctx ends, the compiler is killed with all its children.
func Build(ctx context.Context, opts Options) error {
	err := build(ctx, opts)
	if err == nil || errors.As(err, new(*CompileError)) {
		return err
	}
	return fmt.Errorf("compiling %q for %s/%s: %w", opts.Dir, opts.GOOS, opts.GOARCH, err)
}

func build(ctx context.Context, opts Options) error {
	goCmd, err := proc.LookPath("go", opts.Env)
	if err != nil {
		return hint.Wrap(err, "install Go from https://go.dev/dl and try again")
	}
	switch info, err := os.Stat(opts.Dir); {
	case err != nil:
		return fsx.Cause(err)
	case !info.IsDir():
		return hint.Wrap(errors.New("expected a directory, got a file"), nameMainPackage)
	}
	out, err := filepath.Abs(opts.Output)
	if err != nil {
		return fmt.Errorf("finding the directory of %q: %w", opts.Output, err)
	}
	e := openEntry(opts)
	if e == nil {
		return compile(ctx, opts, goCmd, out)
	}
	defer e.close()
	ok, err := e.update(func() string { return sourceDigest(opts, goCmd) }, func(out string) error { return compile(ctx, opts, goCmd, out) })
	if err != nil || ok && e.linkTo(out) == nil {
		return err
	}
	return compile(ctx, opts, goCmd, out)
}

// workSuffix is added to the path of a program for the directory of the compiler's temporary
// files.
const workSuffix = ".work"

// compile runs go build, which writes the program to out unless out is up to date.
func compile(ctx context.Context, opts Options, goCmd, out string) (err error) {
	work := out + workSuffix
	if err := os.Mkdir(work, 0o700); err != nil {
		return fmt.Errorf("making a directory for the compiler: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()

	linker := "-ldflags=" + strings.TrimSpace("-s -w "+opts.LDFlags)
	args := slices.Concat([]string{"build"}, flagsFor(opts.Env), []string{linker}, opts.Flags, []string{"-o", out, "."})
	cmd := exec.CommandContext(ctx, goCmd, args...)
	cmd.Dir = opts.Dir
	cmd.Env = environment(opts, work)
	if _, err := os.Stat(out); err == nil && !limitsMemory(opts.Env) { // An earlier build compiled the dependencies.
		cmd.Env = append(cmd.Env, withoutGC...)
	}
	cmd.WaitDelay = grace
	proc.KillGroup(cmd)
	var output proc.Output
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		output.Flush()
		return explain(ctx, opts, err, strings.TrimSpace(output.Last(maxLines)))
	}
	return checkProgram(out)
}

// A CompileError says that go build could not compile the source.
type CompileError struct {
	// Dir is the directory of the package. Target is "GOOS/GOARCH".
	Dir, Target string
	// Output has the last lines of go build's output, with paths relative to Dir.
	Output string
}

// Error includes the output of go build.
func (e *CompileError) Error() string {
	return fmt.Sprintf("compiling %q for %s: go build failed:\n%s", e.Dir, e.Target, e.Output)
}

// explain returns why the go command failed with err, after it wrote output.
func explain(ctx context.Context, opts Options, err error, output string) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case output == "":
		return err
	}
	failed := &CompileError{Dir: opts.Dir, Target: opts.GOOS + "/" + opts.GOARCH, Output: output}
	err = failed
	if strings.Contains(output, "go.mod file not found") {
		failed.Output = "expected source code in Go, but neither the directory nor one above it has a go.mod"
		return hint.Wrap(err, "name the directory of a Go module; for another language, build an image of the function and give a package with it")
	}
	if strings.Contains(output, "no Go files in") {
		return hint.Wrap(err, nameMainPackage)
	}
	if strings.Contains(output, "function main is undeclared in the main package") || strings.Contains(output, "build constraints exclude all Go files") {
		return hint.Wrap(err, cmp.Or(leftOut(opts.Dir), nameMainPackage))
	}
	return err
}

var importC = proc.Regexp(`(?m)^[ \t]*(import[ \t]+)?"C"[ \t\r]*$`)

// leftOut returns a hint about a file of the package in dir that is not compiled because it uses
// cgo, or "".
func leftOut(dir string) string {
	entries, _ := os.ReadDir(dir) // The compiler has read it.
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".go" || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if at := importC().FindIndex(text); err == nil && at != nil {
			line := bytes.Count(text[:at[1]], []byte("\n")) + 1
			return fmt.Sprintf("remove import \"C\" from %s:%d: functions are compiled without cgo, which leaves out the files that use it", e.Name(), line)
		}
	}
	return ""
}

// checkProgram returns an error if the file out is not a program. go build writes an
// archive for a package that is not named main, and no file if GOFLAGS contains -n.
func checkProgram(out string) error {
	f, err := os.Open(out)
	if err != nil {
		return errors.New("go build wrote no program")
	}
	defer f.Close()
	magic := make([]byte, 8)
	if _, err := io.ReadFull(f, magic); err != nil {
		return errors.New("go build wrote no program")
	}
	if string(magic) != "!<arch>\n" {
		return nil
	}
	err = errors.New("the Go package is a library, expected package main")
	return errors.Join(hint.Wrap(err, nameMainPackage), os.Remove(out))
}
