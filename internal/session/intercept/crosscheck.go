package intercept

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"golang.org/x/sync/errgroup"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/fieldpath"
)

// A Side is one of the two, and what people call it: "the builtin".
type Side struct {
	Name string
	function.Runner
}

// Crosscheck returns a function that calls both sides, at once, and gives what the first
// answers. A *DifferenceError says that the second answers something else.
func Crosscheck(first, second Side) function.Runner {
	return function.RunnerFunc(func(ctx context.Context, name string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		sides := []Side{first, second}
		answers := make([]*fnv1.RunFunctionResponse, len(sides))
		g, ctx := errgroup.WithContext(ctx)
		for i, side := range sides {
			g.Go(func() (err error) {
				if answers[i], err = side.RunFunction(ctx, name, req); err != nil {
					return fmt.Errorf("calling %s: %w", side.Name, err)
				}
				return nil
			})
		}
		if err := g.Wait(); err != nil {
			return nil, err
		}
		d, err := compare(answers[0], answers[1])
		if err != nil {
			return nil, fmt.Errorf("crosschecking function %q: %w", name, err)
		}
		if d != nil {
			d.Function, d.First.Name, d.Second.Name = name, first.Name, second.Name
			return nil, d
		}
		return answers[0], nil
	})
}

// A DifferenceError is the first field, in the order of names, on which answers
// differ.
type DifferenceError struct {
	Function string
	// Field is its path in the JSON form of a RunFunctionResponse, as
	// "desired.resources.bucket.ready".
	Field         string
	First, Second Value
}

// A Value is what one side has.
type Value struct {
	Name string
	// JSON is "" where the side has nothing.
	JSON string
}

func (v Value) String() string {
	if v.JSON == "" {
		return "nothing by " + v.Name
	}
	return v.JSON + " by " + v.Name
}

// Error says where the two differ, and what each has there.
func (e *DifferenceError) Error() string {
	return fmt.Sprintf("crosschecking function %q: %s is %s, but %s", e.Function, e.Field, e.First, e.Second)
}

// compare returns the first field in which two answers differ, or nil. If only
// one of them is fatal, that is the difference: all others follow from it.
func compare(first, second *fnv1.RunFunctionResponse) (*DifferenceError, error) {
	a, err := values(first)
	if err != nil {
		return nil, err
	}
	b, err := values(second)
	if err != nil {
		return nil, err
	}
	differ := fieldpath.Differ{Whole: true}
	if reconciler.IsFatal(first) != reconciler.IsFatal(second) {
		differ.SameLength = true
		isOther := func(field string, _ any) bool { return field != "results" }
		maps.DeleteFunc(a, isOther)
		maps.DeleteFunc(b, isOther)
	}
	changes := differ.Diff(a, b)
	if len(changes) == 0 {
		return nil, nil
	}
	c := changes[0]
	d := &DifferenceError{Field: c.Path}
	if c.Op != fieldpath.Added {
		d.First.JSON, err = jsonOf(c.Old)
	}
	if c.Op != fieldpath.Removed && err == nil {
		d.Second.JSON, err = jsonOf(c.New)
	}
	return d, err
}

func jsonOf(v any) (string, error) {
	text, err := json.Marshal(v)
	return string(text), err
}
