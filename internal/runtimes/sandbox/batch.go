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

// A batch is one run of a program in a sandbox. The program reads its input,
// writes an answer to its standard output, and ends. All streams are served
// concurrently, so the program may read and write in any order, or not at all.
type batch struct {
	// limit is the number of bytes that the program may write.
	limit int64
	// started is called when the program runs.
	started func(sandbox.Report)

	output []byte
	stderr local.Output
}

// run returns the program's exit code after all of its processes have ended. It
// returns an error if the program was stopped, because ctx ended or because it
// wrote too much.
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
	// Another process may have a copy of the other ends, which would delay
	// the end of the copies.
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

// start starts the sandbox, unless creating its files failed with err.
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

// feed writes the input. The program need not read it.
func feed(stdin *os.File, input []byte) {
	_, _ = stdin.Write(input)
	_ = stdin.Close()
}

// collect reads the output, and stops the program if it writes too much.
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

// files are open files that are closed together.
type files []*os.File

// pipe creates a pipe and returns this process's end. The program gets the
// other end: the reading end if reads is set, otherwise the writing end.
func (f *files) pipe(end **os.File, theirs *files, reads bool) (*os.File, error) {
	our, their, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("creating a pipe: %w", err)
	}
	if reads {
		our, their = their, our
	}
	*f, *theirs, *end = append(*f, our), append(*theirs, their), their
	return our, nil
}

func (f files) close() {
	for _, file := range f {
		_ = file.Close() // it may be closed already
	}
}
