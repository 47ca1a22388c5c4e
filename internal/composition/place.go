package composition

import "context"

type entryKey struct{}

// WithEntry returns a context with the Composition or Operation of a render, for the positions in
// warnings.
func WithEntry(ctx context.Context, e Entry) context.Context {
	return context.WithValue(ctx, entryKey{}, e)
}

// EntryOf returns the Composition or Operation in ctx. Its Composition is nil if there is none.
func EntryOf(ctx context.Context) Entry {
	e, _ := ctx.Value(entryKey{}).(Entry)
	return e
}

// Origins finds the places in a Composition, or in files, that wrote the resources of a pipeline step.
type Origins struct {
	// Of returns the place that wrote a field of a resource, or the first line with a text in the
	// resource. It returns "" if the place is unknown. The function of the step sets it.
	Of func(resource, field, text string) string
}

type originsKey struct{}

// WithOrigins returns a context with o, for a call of a function.
func WithOrigins(ctx context.Context, o *Origins) context.Context {
	return context.WithValue(ctx, originsKey{}, o)
}

// SetOrigins sets o.Of for the Origins o in ctx, if there are any.
func SetOrigins(ctx context.Context, of func(resource, field, text string) string) {
	if o, ok := ctx.Value(originsKey{}).(*Origins); ok {
		o.Of = of
	}
}

// At returns the place of a resource as the end of a sentence, or "". o may be nil.
func (o *Origins) At(resource, field, text string) string {
	if o == nil || o.Of == nil {
		return ""
	}
	if place := o.Of(resource, field, text); place != "" {
		return " (at " + place + ")"
	}
	return ""
}
