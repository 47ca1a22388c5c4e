package sdk

import "context"

// A Point is a part of an input that a call of a function may run, such as a patch.
type Point struct {
	// Kind is what the part is.
	Kind PointKind
	// Path is the path of the part's field in the input. If the part is inside of a text of
	// several lines, Line is its line in the text, counted from 1; otherwise it is 0.
	Path string
	Line int
	// Branch distinguishes parts with the same position, such as "else". It may be "".
	Branch string
}

// A PointKind is the kind of a Point.
type PointKind string

// The kinds of points.
const (
	ComposedTemplate PointKind = "composed resource"
	PatchPoint       PointKind = "patch"
	TransformBranch  PointKind = "transform branch"
	ReadinessCheck   PointKind = "readiness check"
	TemplateBranch   PointKind = "template branch"
)

// SourceMissing is the Branch of a patch that a call skips because its source has no value.
const SourceMissing = "source missing"

type coverageKey struct{}

// WithCoverage returns a context with which builtins report the points that they run to hit,
// in the goroutine of the call.
func WithCoverage(ctx context.Context, hit func(Point)) context.Context {
	return context.WithValue(ctx, coverageKey{}, hit)
}

// Coverage returns the hit of WithCoverage, or nil.
func Coverage(ctx context.Context) func(Point) {
	hit, _ := ctx.Value(coverageKey{}).(func(Point))
	return hit
}
