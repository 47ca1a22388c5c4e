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

// A Level decides which problems are errors.
type Level int

const (
	// Strict makes every problem an error. It is the zero value.
	Strict Level = iota
	// Warn makes errors only of problems that are refused. The package becomes
	// what the control plane would see of it.
	Warn
	// Off is Warn, without a word about the others.
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

// Judge returns the problems that are errors at a level, if there are any, or
// else those that are worth a warning, by file and line.
func (l Level) Judge(found Problems) (warnings Problems, err error) {
	slices.SortStableFunc(found, func(a, b Problem) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line))
	})
	switch {
	case l == Strict && len(found) > 0:
		return nil, found.withWayOut()
	case found.refused():
		return nil, slices.DeleteFunc(found, func(p Problem) bool { return !p.Refused })
	case l == Warn:
		return found, nil
	default:
		return nil, nil
	}
}

// withWayOut adds to the hints how to go on all the same, where one can.
func (ps Problems) withWayOut() Problems {
	for i, p := range ps {
		if !p.Refused {
			ps[i].Hint = strings.TrimPrefix(p.Hint+", or build it all the same with "+string(hint.Lint)+"=warn", ", or ")
		}
	}
	return ps
}

// A Problem is something that is wrong with a package.
type Problem struct {
	// Rule is the name of the rule that the package breaks, such as
	// "metadata-count".
	Rule string
	// Refused says that no package can be made of it, or that the control plane
	// would refuse the package. What it takes, but not as it is meant, is not
	// refused: it loses something, or cannot work.
	Refused bool
	// Path and Line are where it is. Line is 0 for all of a file, and Path is
	// empty for all of a package.
	Path string
	Line int
	// Text says what is wrong, and Hint what to do about it, if that is known. It
	// names options in braces, such as {ignore} for ReadOptions.Ignore.
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

// Problems are what is wrong with a package, in the order that they were found.
// They are an error: that of Read and Lint where it is the package's content
// that is wrong.
type Problems []Problem

// Error returns one line for each.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Err().Error()
	}
	return strings.Join(lines, "\n")
}

// refused reports whether any of them is.
func (ps Problems) refused() bool {
	return slices.ContainsFunc(ps, func(p Problem) bool { return p.Refused })
}

// Unwrap returns the error that each problem is.
func (ps Problems) Unwrap() []error {
	errs := make([]error, len(ps))
	for i, p := range ps {
		errs[i] = p.Err()
	}
	return errs
}
