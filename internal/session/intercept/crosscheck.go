package intercept

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/xfn-dev/xfn/function"
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

// compare returns how two answers differ, or nil.
func compare(first, second *fnv1.RunFunctionResponse) (*DifferenceError, error) {
	a, err := decoded(first)
	if err != nil {
		return nil, err
	}
	b, err := decoded(second)
	if err != nil {
		return nil, err
	}
	if isFatal(first) != isFatal(second) {
		// All else differs because of that.
		return difference("results", get(a, "results"), get(b, "results"))
	}
	return difference("", a, b)
}

func isFatal(rsp *fnv1.RunFunctionResponse) bool {
	return slices.ContainsFunc(rsp.GetResults(), func(r *fnv1.Result) bool { return r.GetSeverity() == fnv1.Severity_SEVERITY_FATAL })
}

func decoded(rsp *fnv1.RunFunctionResponse) (v map[string]any, err error) {
	text, err := protojson.Marshal(rsp)
	if err != nil {
		return nil, err
	}
	return v, json.Unmarshal(text, &v)
}

// absent is what a side has where it has nothing: a null is something.
type absent struct{}

func difference(field string, a, b any) (*DifferenceError, error) {
	switch a := a.(type) {
	case map[string]any:
		if b, ok := b.(map[string]any); ok {
			return differenceOfObjects(field, a, b)
		}
	case []any:
		if b, ok := b.([]any); ok {
			return differenceOfLists(field, a, b)
		}
	default:
		if a == b {
			return nil, nil
		}
	}
	first, err := valueOf(a)
	if err != nil {
		return nil, err
	}
	second, err := valueOf(b)
	return &DifferenceError{Field: field, First: first, Second: second}, err
}

func differenceOfObjects(field string, a, b map[string]any) (*DifferenceError, error) {
	keys := slices.Collect(maps.Keys(a))
	for key := range b {
		if _, ok := a[key]; !ok {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		at := key
		if field != "" {
			at = field + "." + key
		}
		if d, err := difference(at, get(a, key), get(b, key)); d != nil || err != nil {
			return d, err
		}
	}
	return nil, nil
}

func get(object map[string]any, key string) any {
	if v, ok := object[key]; ok {
		return v
	}
	return absent{}
}

func differenceOfLists(field string, a, b []any) (*DifferenceError, error) {
	element := func(list []any, i int) any {
		if i < len(list) {
			return list[i]
		}
		return absent{}
	}
	for i := range max(len(a), len(b)) {
		if d, err := difference(fmt.Sprintf("%s[%d]", field, i), element(a, i), element(b, i)); d != nil || err != nil {
			return d, err
		}
	}
	return nil, nil
}

func valueOf(v any) (Value, error) {
	if v == (absent{}) {
		return Value{}, nil
	}
	text, err := json.Marshal(v)
	return Value{JSON: string(text)}, err
}
