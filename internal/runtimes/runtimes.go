package runtimes

import (
	"context"
	"time"

	"github.com/xfn-dev/xfn/function"
)

// A Function is what a Runtime needs to know to start one.
type Function struct {
	// Name is the Function object's metadata.name.
	Name string
	// Package is the Function's spec.package: a reference, or a path of an
	// .xpkg file or of a folder that holds a Go main package.
	Package string
	// Annotations are those of the Function object; each runtime documents
	// the keys that it reads.
	Annotations map[string]string
}

// A Runtime starts functions. Start returns once the function answers, or
// fails with an error that names it: with the last lines that the function wrote to stderr, where there
// are any. A failed or cancelled Start leaves nothing running.
type Runtime interface {
	Start(ctx context.Context, fn Function) (*Instance, error)
}

// A Preparer is a Runtime that can fetch what functions need before any of them
// starts, so that one error names all that is missing.
type Preparer interface {
	Prepare(ctx context.Context, fns ...Function) error
}

// A Prober is a Runtime that can tell, at little cost and before anything starts,
// why it could start nothing here: nil if it could.
type Prober interface {
	Probe(ctx context.Context) error
}

// An Instance is a running function.
type Instance struct {
	// Runner calls the function. A call that fails because the function died
	// says so, with the last lines of its stderr.
	function.Runner
	// Detail says what runs, for people: "built from ./fn".
	Detail string
	// Identity names what runs so that what has the same name answers the same:
	// the digest of an image, say. It is "" where that may change, as for
	// source code or a function that somebody else runs.
	Identity string
	// Compiled is how long compiling it took, or 0 where nothing was.
	Compiled time.Duration
	// Stop ends the function and frees what it held. It may be called once,
	// and has to be, even after the context of Start is done.
	Stop func(context.Context) error
	// Done is closed when the function has ended, also by Stop; after that Ended
	// says how. Both are nil where nobody notices.
	Done  <-chan struct{}
	Ended func() error
}
