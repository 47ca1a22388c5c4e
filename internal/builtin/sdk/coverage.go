package sdk

import "context"

// A Point is a part of an input, or of a file that it names, which a call of a function may
// run, such as a patch.
type Point struct {
	// Kind is what the part is.
	Kind PointKind
	// Path is the path of the part's field in the input. It is empty if File is set, which is
	// the path of a file.
	Path, File string
	// Line is a line, counted from 1: of File, or of the text of the field if it has several
	// lines. It is 0 for any other field.
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

// A Coverage receives the points of one call of a function. It is safe for concurrent use.
type Coverage interface {
	// Known receives all points of the input. The caller must not change them.
	Known(all []Point)
	// Hit receives a point that the call runs.
	Hit(Point)
}

type coverageKey struct{}

// WithCoverage returns a context with which builtins report their points to c.
func WithCoverage(ctx context.Context, c Coverage) context.Context {
	return context.WithValue(ctx, coverageKey{}, c)
}

// CoverageOf returns the Coverage in a context, or nil.
func CoverageOf(ctx context.Context) Coverage {
	c, _ := ctx.Value(coverageKey{}).(Coverage)
	return c
}
