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

// A Side is one implementation and its description, such as "the builtin".
type Side struct {
	Name string
	function.Runner
}

// Crosscheck returns a Runner that calls both sides concurrently and returns
// the response of the first. A *DifferenceError reports that the second one
// differs.
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

// A DifferenceError is the first field, in lexical order, in which responses
// differ.
type DifferenceError struct {
	Function string
	// Field is the path in the JSON form of a RunFunctionResponse, such as
	// "desired.resources.bucket.ready".
	Field         string
	First, Second Value
}

// A Value is the value of one side.
type Value struct {
	Name string
	// JSON is "" if the side does not have the field.
	JSON string
}

func (v Value) String() string {
	if v.JSON == "" {
		return "nothing by " + v.Name
	}
	return v.JSON + " by " + v.Name
}

// Error returns the field and both values.
func (e *DifferenceError) Error() string {
	return fmt.Sprintf("crosschecking function %q: %s is %s, but %s", e.Function, e.Field, e.First, e.Second)
}

// compare returns the first field in which two responses differ, or nil. If
// only one of them is fatal, that is the difference, because it causes all
// others.
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
