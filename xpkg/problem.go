package xpkg

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
)

// A Level says which problems are errors.
type Level int

const (
	// Strict makes every problem an error. It is the zero value.
	Strict Level = iota
	// Warn makes only refused problems errors. The package omits content that would
	// not reach the control plane.
	Warn
	// Off is Warn without warnings.
	Off
)

// ParseLevel returns the level of a name: strict, warn or off.
func ParseLevel(name string) (Level, error) {
	switch name {
	case "strict":
		return Strict, nil
	case "warn":
		return Warn, nil
	case "off":
		return Off, nil
	default:
		return Strict, fmt.Errorf("reading the lint level %q: expected strict, warn or off", name)
	}
}

// Judge returns the problems that are errors at the level as an error. Without any,
// it returns the other problems as warnings. Problems are sorted by file and line.
func (l Level) Judge(found Problems) (warnings Problems, err error) {
	slices.SortStableFunc(found, func(a, b Problem) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line))
	})
	switch {
	case l == Strict && len(found) > 0:
		for i, p := range found {
			if !p.Refused {
				found[i].Hint = strings.TrimPrefix(p.Hint+", or build it all the same with "+string(hint.Lint)+"=warn", ", or ")
			}
		}
		return nil, found
	case found.refused():
		return nil, slices.DeleteFunc(found, func(p Problem) bool { return !p.Refused })
	case l == Warn:
		return found, nil
	default:
		return nil, nil
	}
}

// A Problem is an error in a package.
type Problem struct {
	// Rule is the name of the rule that the package breaks, such as
	// "metadata-count".
	Rule string
	// Refused says that the package cannot be built, or that the control plane
	// would refuse it. Other problems are content that gets lost or cannot work.
	Refused bool
	// Path and Line are the place of the problem. Line is 0 if it concerns the
	// whole file, and Path is empty if it concerns the whole package.
	Path string
	Line int
	// Text describes the problem, and Hint is the next action, if one is known. A
	// hint names options in braces, such as {ignore} for ReadOptions.Ignore.
	Text, Hint string
}

// Err returns the problem as an error that begins with its place.
func (p Problem) Err() error {
	err := errors.New(p.Text)
	if p.Path != "" {
		err = &manifest.Error{Path: p.Path, Line: p.Line, Err: err}
	}
	if p.Hint == "" {
		return err
	}
	return hint.Wrap(err, p.Hint)
}

// Problems are the problems of a package, in the order in which they were found.
// They are the error of Read for a package with invalid content.
type Problems []Problem

// Error returns a line for each problem.
func (ps Problems) Error() string {
	if len(ps) == 0 {
		return ""
	}
	return errors.Join(ps.Unwrap()...).Error()
}

// refused reports whether any problem is refused.
func (ps Problems) refused() bool {
	return slices.ContainsFunc(ps, func(p Problem) bool { return p.Refused })
}

// Unwrap returns the error of each problem.
func (ps Problems) Unwrap() []error {
	errs := make([]error, len(ps))
	for i, p := range ps {
		errs[i] = p.Err()
	}
	return errs
}
