package limit

import (
	"errors"
	"fmt"
	"reflect"
)

// equal is the function eq of text/template, which cannot be had from there. That
// one writes whole values into its errors, and so has to pay for them.
func equal(a reflect.Value, others ...reflect.Value) (bool, error) {
	if len(others) == 0 {
		return false, errors.New("missing argument for comparison")
	}
	for _, other := range others {
		same, err := equalTo(concrete(a), concrete(other))
		if same || err != nil {
			return same, err
		}
	}
	return false, nil
}

func notEqual(a, b reflect.Value) (bool, error) {
	same, err := equal(a, b)
	return !same, err
}

// concrete returns what is in an interface. That is invalid for nil.
func concrete(v reflect.Value) reflect.Value {
	if v.Kind() == reflect.Interface {
		return v.Elem()
	}
	return v
}

func equalTo(a, b reflect.Value) (bool, error) {
	classA, classB := class(a), class(b)
	switch {
	case classA == reflect.Int && classB == reflect.Uint:
		return a.Int() >= 0 && uint64(a.Int()) == b.Uint(), nil
	case classA == reflect.Uint && classB == reflect.Int:
		return b.Int() >= 0 && uint64(b.Int()) == a.Uint(), nil
	case classA != classB && a.IsValid() && b.IsValid():
		return false, fmt.Errorf("incompatible types for comparison: %v and %v", a.Type(), b.Type())
	case classA != classB:
		return false, nil
	}
	switch classA {
	case reflect.Bool:
		return a.Bool() == b.Bool(), nil
	case reflect.Int:
		return a.Int() == b.Int(), nil
	case reflect.Uint:
		return a.Uint() == b.Uint(), nil
	case reflect.Float64:
		return a.Float() == b.Float(), nil
	case reflect.Complex128:
		return a.Complex() == b.Complex(), nil
	case reflect.String:
		return a.String() == b.String(), nil
	default:
		return equalOthers(a, b)
	}
}

// equalOthers compares what is of no basic type: structs, pointers and nil.
func equalOthers(a, b reflect.Value) (bool, error) {
	switch {
	case a.IsValid() && b.IsValid() && a.Kind() != b.Kind():
		return false, fmt.Errorf("non-comparable types %s: %v, %s: %v", a, a.Type(), b.Type(), b)
	case isNil(a) || isNil(b):
		return isNil(a) == isNil(b), nil
	case !b.Type().Comparable():
		return false, fmt.Errorf("non-comparable type %s: %v", b, b.Type())
	default:
		return a.Interface() == b.Interface(), nil
	}
}

func isNil(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Chan, reflect.Func, reflect.Interface, reflect.Map, reflect.Pointer, reflect.Slice:
		return v.IsNil()
	default:
		return false
	}
}

// class returns the widest kind of those that compare with v's, and Invalid for
// what is of no basic type.
func class(v reflect.Value) reflect.Kind {
	switch {
	case v.CanInt():
		return reflect.Int
	case v.CanUint():
		return reflect.Uint
	case v.CanFloat():
		return reflect.Float64
	case v.CanComplex():
		return reflect.Complex128
	case v.Kind() == reflect.Bool, v.Kind() == reflect.String:
		return v.Kind()
	default:
		return reflect.Invalid
	}
}
