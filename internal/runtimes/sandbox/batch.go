package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/sandbox"
)

// maxOutput is the maximum size of a container's standard output in bytes, as
// in alpha Crossplane.
const maxOutput = 100 << 20

// A batch is one run of a program in a sandbox. The program reads its input,
// writes an answer to its standard output, and ends. All streams are served
// concurrently, so the program may read and write in any order, or not at all.
type batch struct {
	// started is called when the program runs.
	started func(sandbox.Report)

	output []byte
	stderr proc.Output
}

// run returns the program's exit code after all of its processes have ended. It returns
// an error if the program was stopped, because ctx ended or because it wrote too much.
func (b *batch) run(ctx context.Context, spec sandbox.Spec, input []byte) (code int, err error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var read, write [3]*os.File
	for fd := range read {
		if read[fd], write[fd], err = os.Pipe(); err != nil {
			closeAll(append(read[:], write[:]...)...)
			return 0, fmt.Errorf("creating a pipe: %w", err)
		}
	}
	stdin, stdout, stderr := write[0], read[1], read[2]
	closeOurs := func() { closeAll(stdin, stdout, stderr) }
	defer closeOurs()
	spec.Stdin, spec.Stdout, spec.Stderr = read[0], write[1], write[2]
	process, err := sandbox.Start(ctx, spec)
	if err == nil {
		b.started(process.Report())
	}
	closeAll(spec.Stdin, spec.Stdout, spec.Stderr)
	if err != nil {
		return 0, err
	}
	// Another process may have a copy of the other ends, which would delay
	// the end of the copies.
	defer context.AfterFunc(ctx, closeOurs)()
	var copies sync.WaitGroup
	copies.Go(func() {
		_, _ = stdin.Write(input) // the program need not read it
		_ = stdin.Close()
	})
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

// collect reads the output, and stops the program if it writes too much.
func (b *batch) collect(stdout *os.File, stop context.CancelCauseFunc) {
	var err error
	b.output, err = io.ReadAll(io.LimitReader(stdout, maxOutput+1))
	switch {
	case err != nil:
		stop(fmt.Errorf("reading its output: %w", err))
	case len(b.output) > maxOutput:
		stop(fmt.Errorf("it wrote more than %d bytes to its standard output", maxOutput))
	}
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		_ = f.Close() // it may be nil, or closed already
	}
}
