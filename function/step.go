package function

import "context"

type stepKey struct{}

// WithStep returns a context that says which pipeline step calls. The engine
// gives it to a Runner, so that one that records calls knows what they are for.
func WithStep(ctx context.Context, step string) context.Context {
	return context.WithValue(ctx, stepKey{}, step)
}

// Step returns the pipeline step that ctx belongs to, or "".
func Step(ctx context.Context) string {
	step, _ := ctx.Value(stepKey{}).(string)
	return step
}

type passKey struct{}

// WithPass returns a context that says which pass of several over the same
// pipeline calls, from 1.
func WithPass(ctx context.Context, pass int) context.Context {
	return context.WithValue(ctx, passKey{}, pass)
}

// Pass returns the pass that ctx belongs to, or 0.
func Pass(ctx context.Context) int {
	pass, _ := ctx.Value(passKey{}).(int)
	return pass
}
