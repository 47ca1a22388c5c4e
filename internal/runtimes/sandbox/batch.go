package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/xfn-dev/xfn/internal/runtimes/local"
	"github.com/xfn-dev/xfn/internal/sandbox"
)

// A batch is one run of a program in a sandbox that reads its input, answers on
// its standard output, and ends. All its files are served at once: so it may
// read and write in any order, or not at all.
type batch struct {
	// limit is how many bytes the program may write.
	limit int64
	// started is called when the program runs.
	started func(sandbox.Report)

	output []byte
	stderr local.Output
}

// run returns the program's exit code once nothing of it is left. It is an error
// if the program was stopped: since ctx ended, or since it wrote too much.
func (b *batch) run(ctx context.Context, spec sandbox.Spec, input []byte) (code int, err error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var theirs, ours files
	stdin, err1 := ours.pipe(&spec.Stdin, &theirs, true)
	stdout, err2 := ours.pipe(&spec.Stdout, &theirs, false)
	stderr, err3 := ours.pipe(&spec.Stderr, &theirs, false)
	defer ours.close()
	process, err := b.start(ctx, spec, errors.Join(err1, err2, err3))
	theirs.close()
	if err != nil {
		return 0, err
	}
	// Somebody else may have got hold of the other ends: once it is over, they
	// are not waited for.
	defer context.AfterFunc(ctx, ours.close)()
	var copies sync.WaitGroup
	copies.Go(func() { feed(stdin, input) })
	copies.Go(func() { b.collect(stdout, stop) })
	copies.Go(func() {
		_, _ = io.Copy(&b.stderr, stderr)
		b.stderr.Flush()
	})
	copies.Wait()
	code, err = process.Wait()
	if ctx.Err() != nil {
		err = errors.Join(context.Cause(ctx), err)
	}
	return code, err
}

// start starts the sandbox, unless its files could not be made.
func (b *batch) start(ctx context.Context, spec sandbox.Spec, err error) (*sandbox.Process, error) {
	if err != nil {
		return nil, err
	}
	process, err := sandbox.Start(ctx, spec)
	if err == nil {
		b.started(process.Report())
	}
	return process, err
}

// feed writes the input. A program need not read it.
func feed(stdin *os.File, input []byte) {
	_, _ = stdin.Write(input)
	_ = stdin.Close()
}

// collect reads the output, and stops the program if that is too much.
func (b *batch) collect(stdout *os.File, stop context.CancelCauseFunc) {
	var err error
	b.output, err = io.ReadAll(io.LimitReader(stdout, b.limit+1))
	switch {
	case err != nil:
		stop(fmt.Errorf("reading its output: %w", err))
	case int64(len(b.output)) > b.limit:
		stop(fmt.Errorf("it wrote more than %d bytes to its standard output", b.limit))
	}
}

// files are open files of one owner.
type files []*os.File

// pipe makes a pipe and returns this end of it. The other one is for the program,
// to read from if reads is set, else to write to.
func (f *files) pipe(end **os.File, theirs *files, reads bool) (*os.File, error) {
	our, their, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("making a pipe: %w", err)
	}
	if reads {
		our, their = their, our
	}
	*f, *theirs, *end = append(*f, our), append(*theirs, their), their
	return our, nil
}

func (f files) close() {
	for _, file := range f {
		_ = file.Close() // it may be closed
	}
}
