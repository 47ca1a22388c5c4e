package intercept

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
)

// A Side is one of two implementations of a function that are compared. Name
// describes it in messages, such as "the builtin".
type Side struct {
	Name string
	function.Runner
}

// Crosscheck returns a Runner that calls two implementations of a function concurrently. It
// returns the response of first, or a *CrosscheckError if the response of second differs.
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
		changes, err := compare(answers[0], answers[1])
		if err != nil {
			return nil, fmt.Errorf("crosschecking function %q: %w", name, err)
		}
		if len(changes) == 0 {
			return answers[0], nil
		}
		c := changes[0]
		return nil, &CrosscheckError{
			Function: name, Field: c.Path,
			First:  first.value(c.Op != fieldpath.Added, c.Old),
			Second: second.value(c.Op != fieldpath.Removed, c.New),
		}
	})
}

func (s Side) value(has bool, v any) string {
	text := []byte("nothing")
	if has {
		text, _ = json.Marshal(v) // Marshal cannot fail, because v was decoded from JSON.
	}
	return string(text) + " by " + s.Name
}

// A CrosscheckError reports the first field in which two responses differ.
type CrosscheckError struct {
	Function string
	// Field is the path of the field in the JSON form of RunFunctionResponse, such
	// as "desired.resources.bucket.ready".
	Field string
	// First and Second describe the value of the field in each response, such as
	// "3 by the builtin".
	First, Second string
}

func (e *CrosscheckError) Error() string {
	return fmt.Sprintf("crosschecking function %q: %s is %s, but %s", e.Function, e.Field, e.First, e.Second)
}

// compare returns the fields in which two responses differ. If exactly one
// response has a fatal result, compare only compares the results, because the
// fatal result causes all other differences.
func compare(first, second *fnv1.RunFunctionResponse) ([]fieldpath.Change, error) {
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
	return differ.Diff(a, b), nil
}

// An UnstableError reports that a function returned different responses to two
// equal requests.
type UnstableError struct {
	Function, Step string
	// First and Second are the two responses in protobuf's JSON form.
	First, Second map[string]any
}

// Error implements error.
func (e *UnstableError) Error() string {
	return fmt.Sprintf("function %q at step %q gives two different responses to one request", e.Function, e.Step)
}

// Twice returns a Runner that calls r twice with each request. It returns the
// first response, or an *UnstableError if the two responses differ.
func Twice(r function.Runner) function.Runner {
	return function.RunnerFunc(func(ctx context.Context, name string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		first, err := r.RunFunction(ctx, name, proto.CloneOf(req))
		if err != nil {
			return first, err
		}
		second, err := r.RunFunction(ctx, name, req)
		if err != nil {
			return second, fmt.Errorf("calling function %q again: %w", name, err)
		}
		if proto.Equal(first, second) {
			return first, nil
		}
		e := &UnstableError{Function: name, Step: function.Step(ctx)}
		if e.First, err = values(first); err == nil {
			e.Second, err = values(second)
		}
		if err != nil {
			return nil, fmt.Errorf("encoding the response of function %q: %w", name, err)
		}
		return nil, e
	})
}
