package limit

import (
	"fmt"
	"reflect"
	"strings"
)

// maxDepth is how deeply the values that functions walk may nest.
const maxDepth = 1000

var errDepth = fmt.Errorf("the value is nested more than %d deep, or holds itself", maxDepth)

// What values take, in bytes: of memory, or as text in any of the forms that
// functions write, whichever is more.
const (
	scalarSize  = 32
	floatSize   = 400 // %f writes the largest ones with 309 digits
	pointerSize = 16
	entrySize   = 64 // of a map, without what is in it, or a list with its header
	byteSize    = 6  // \u0000
	indentSize  = 4  // of each line, for each level
)

// sizeOf returns how much v takes. It returns an error if that is more than most,
// or if v nests too deeply, and does not walk on then.
func sizeOf(v reflect.Value, most float64) (float64, error) {
	m := measure{left: most}
	if err := m.walk(v, 0); err != nil {
		return most, err
	}
	return most - m.left, nil
}

type measure struct{ left float64 }

func (m *measure) take(bytes float64) error {
	if m.left -= bytes; m.left < 0 {
		return errMemory
	}
	return nil
}

func (m *measure) walk(v reflect.Value, depth int) error {
	if depth > maxDepth {
		return errDepth
	}
	if err := m.take(float64(indentSize * depth)); err != nil {
		return err
	}
	switch v.Kind() {
	case reflect.String:
		return m.take(textSize(v.String(), depth))
	case reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		return m.take(floatSize)
	case reflect.Map:
		return m.walkMap(v, depth)
	case reflect.Slice, reflect.Array:
		return m.walkList(v, depth)
	case reflect.Struct:
		return m.walkStruct(v, depth)
	case reflect.Interface, reflect.Pointer:
		if err := m.take(pointerSize); err != nil {
			return err
		}
		return m.walk(v.Elem(), depth)
	default:
		return m.take(scalarSize)
	}
}

func textSize(s string, depth int) float64 {
	return float64(scalarSize + byteSize*len(s) + indentSize*depth*strings.Count(s, "\n"))
}

func (m *measure) walkMap(v reflect.Value, depth int) error {
	if err := m.take(entrySize * float64(v.Len()+1)); err != nil {
		return err
	}
	for each := v.MapRange(); each.Next(); {
		if err := m.walk(each.Key(), depth+1); err != nil {
			return err
		}
		if err := m.walk(each.Value(), depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (m *measure) walkList(v reflect.Value, depth int) error {
	if err := m.take(entrySize); err != nil {
		return err
	}
	switch v.Type().Elem().Kind() {
	case reflect.Uint8:
		return m.take(float64(byteSize * v.Len()))
	case reflect.Int:
		return m.take(float64((scalarSize + indentSize*depth) * v.Len()))
	}
	for i := range v.Len() {
		if err := m.walk(v.Index(i), depth+1); err != nil {
			return err
		}
	}
	return nil
}

// valueType is the type of arguments of functions to which nil is something else
// than an interface of nil.
var valueType = reflect.TypeFor[reflect.Value]()

// walkStruct takes the types of package time for what they print. They lead to
// the tables of a time zone.
func (m *measure) walkStruct(v reflect.Value, depth int) error {
	if v.Type() == valueType && v.CanInterface() {
		return m.walk(v.Interface().(reflect.Value), depth)
	}
	if err := m.take(entrySize * float64(v.NumField()+1)); err != nil || v.Type().PkgPath() == "time" {
		return err
	}
	for i := range v.NumField() {
		if err := m.walk(v.Field(i), depth+1); err != nil {
			return err
		}
	}
	return nil
}
