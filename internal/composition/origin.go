package composition

import (
	"context"
	"sync/atomic"

	"github.com/xfn-dev/xfn/internal/manifest"
)

type entryKey struct{}

// WithEntry returns a context with the Composition or Operation of a render, for the positions in
// warnings.
func WithEntry(ctx context.Context, e Entry) context.Context {
	return context.WithValue(ctx, entryKey{}, e)
}

// EntryOf returns the Composition or Operation in ctx. If ctx has neither, the Composition of the
// Entry is nil.
func EntryOf(ctx context.Context) Entry {
	e, _ := ctx.Value(entryKey{}).(Entry)
	return e
}

// An Origin returns the place that wrote a field of a resource, or the first line with a text in the
// resource. It returns "" if the place is unknown.
type Origin func(resource, field, text string) string

// Origins finds the places in a Composition, or in files, that wrote the resources of a pipeline step.
// The function of the step sets the Origin. Two implementations of it may run concurrently.
type Origins struct{ of atomic.Pointer[Origin] }

type originsKey struct{}

// WithOrigins returns a context with o, for a call of a function.
func WithOrigins(ctx context.Context, o *Origins) context.Context {
	return context.WithValue(ctx, originsKey{}, o)
}

// SetOrigins sets the Origin of the Origins in ctx, if there are any.
func SetOrigins(ctx context.Context, of Origin) {
	if o, ok := ctx.Value(originsKey{}).(*Origins); ok {
		o.of.Store(&of)
	}
}

// At returns the place of a resource as the end of a sentence, or "". o may be nil.
func (o *Origins) At(resource, field, text string) string {
	if o == nil {
		return ""
	}
	if of := o.of.Load(); of != nil {
		return manifest.At((*of)(resource, field, text))
	}
	return ""
}
