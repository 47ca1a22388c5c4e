package function

import "context"

type stepKey struct{}

// WithStep returns a context with the name of the pipeline step that calls a
// function. The engine passes such a context to Runners.
func WithStep(ctx context.Context, step string) context.Context {
	return context.WithValue(ctx, stepKey{}, step)
}

// Step returns the name of the pipeline step in ctx, or "" if there is none.
func Step(ctx context.Context) string {
	step, _ := ctx.Value(stepKey{}).(string)
	return step
}

type passKey struct{}

// WithPass returns a context with the number of a pass, for renders that run a
// pipeline several times. The first pass is 1.
func WithPass(ctx context.Context, pass int) context.Context {
	return context.WithValue(ctx, passKey{}, pass)
}

// Pass returns the number of the pass in ctx, or 0 if there is none.
func Pass(ctx context.Context) int {
	pass, _ := ctx.Value(passKey{}).(int)
	return pass
}
