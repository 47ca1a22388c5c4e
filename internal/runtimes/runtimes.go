package runtimes

import (
	"context"
	"errors"
	"time"

	"github.com/xfn-dev/xfn/function"
)

// A Function describes the function that a Runtime starts.
type Function struct {
	// Name is the Function object's metadata.name.
	Name string
	// Package is the Function's spec.package: an image reference, the path of an .xpkg
	// file, or the path of a folder with a Go main package.
	Package string
	// Annotations are the annotations of the Function object. Each runtime
	// documents the keys that it reads.
	Annotations map[string]string
	// Position is the position, as "path:line", of the Function object's annotation that
	// selects a runtime, or of the line where it would be. It is "" without a file.
	Position string
	// PackagePosition is the position of spec.package. It is "" without a file.
	PackagePosition string
}

// A Runtime starts functions. Start returns once the function answers. Its
// error names the function and quotes the last lines that the function wrote to
// stderr. A failed or canceled Start leaves nothing running.
type Runtime interface {
	Start(ctx context.Context, fn Function) (*Instance, error)
}

// A Preparer is a Runtime that can fetch the images of several functions before any of
// them starts. One error then names all images that are missing.
type Preparer interface {
	Prepare(ctx context.Context, fns ...Function) error
}

// Prepare prepares functions with r, if r is a Preparer.
func Prepare(ctx context.Context, r Runtime, fns ...Function) error {
	if p, ok := r.(Preparer); ok && len(fns) > 0 {
		return p.Prepare(ctx, fns...)
	}
	return nil
}

// A Prober is a Runtime that can report, before any function starts, why it cannot start
// functions on this system. Probe takes little time, and returns nil if the Runtime can
// start functions.
type Prober interface {
	Probe(ctx context.Context) error
}

// Probe returns why r cannot start functions, if r is a Prober, and otherwise nil.
func Probe(ctx context.Context, r Runtime) error {
	if p, ok := r.(Prober); ok {
		return p.Probe(ctx)
	}
	return nil
}

// An Annotated is a Runtime that is configured by annotations of a Function. Annotations
// returns their keys.
type Annotated interface {
	Annotations() []string
}

// ErrEnded is the error if the process of a function ended before it was stopped.
var ErrEnded = errors.New("the function ended unexpectedly")

// An Instance is a running function.
type Instance struct {
	// Runner calls the function. If the function has ended, the error says how, with the
	// last lines that the function wrote. It wraps ErrEnded if the function is a process here.
	function.Runner
	// Detail describes the running function for users: "built from ./fn".
	Detail string
	// Identity is the same text for functions that give equal answers, for example the
	// digest of an image. It is empty if the function may change: source code, or a
	// function that the user started.
	Identity string
	// Capabilities are the capabilities in the metadata of the function's package. They are
	// empty if the metadata has none or is not known.
	Capabilities []string
	// Inputs are the CRDs of the function's inputs in its package or source, if known.
	Inputs []map[string]any
	// Compiled is the duration of the compilation, or 0 if there was none.
	Compiled time.Duration
	// Stop ends the function and releases its resources. It must be called
	// exactly once, even after the context of Start is done.
	Stop func(context.Context) error
	// Grace is the time that Stop needs to clean up. Zero means that a function
	// may be killed after a short time.
	Grace time.Duration
	// Done is closed when the function has ended, also by Stop. After that, Ended returns
	// how the function ended. Both are nil if the runtime cannot observe the end.
	Done  <-chan struct{}
	Ended func() error
}
