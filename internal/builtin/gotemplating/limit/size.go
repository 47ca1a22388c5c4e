package limit

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// maxDepth is how deeply the values that functions walk may nest.
const maxDepth = 1000

var errDepth = fmt.Errorf("the value is nested more than %d deep, or holds itself", maxDepth)

// errSize says that a value takes more than it may.
var errSize = errors.New("the value is too large")

// What values take, in bytes, but for their text.
const (
	scalarSize  = 32
	pointerSize = 16
	entrySize   = 64 // of a list with its header, or a field
)

// A scale says what text takes, in bytes.
type scale struct {
	char   int // a byte of it
	float  int // a number with a fraction
	indent int // the beginning of each line, for each level
}

var (
	// asText is what values take as text in any of the forms that functions write,
	// in which a byte can be \u0000, and the largest numbers have 309 digits.
	asText = scale{char: 6, float: 400, indent: 4}
	// inMemory is what they take where they are.
	inMemory = scale{char: 1, float: scalarSize}
)

// mapSize returns what a map of n entries takes without what is in them: up to
// eight have their places in one piece, and of more than that some are free.
func mapSize(n int) float64 {
	const piece, place = 320, 80
	switch {
	case n == 0:
		return entrySize
	case n <= 8:
		return entrySize + piece
	default:
		return entrySize + float64(place*n)
	}
}

// sizeOf returns how much v takes. It returns an error if that is more than most,
// or if v nests too deeply, and does not walk on then.
func sizeOf(v reflect.Value, s scale, most float64) (float64, error) {
	m := measure{scale: s, left: most}
	if err := m.walk(v, 0); err != nil {
		return most, err
	}
	return most - m.left, nil
}

type measure struct {
	scale
	left float64
}

func (m *measure) take(bytes float64) error {
	if m.left -= bytes; m.left < 0 {
		return errSize
	}
	return nil
}

func (m *measure) walk(v reflect.Value, depth int) error {
	if depth > maxDepth {
		return errDepth
	}
	if err := m.take(float64(m.indent * depth)); err != nil {
		return err
	}
	switch v.Kind() {
	case reflect.String:
		return m.take(m.text(v.String(), depth))
	case reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		return m.take(float64(m.float))
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

func (m *measure) text(s string, depth int) float64 {
	size := scalarSize + m.char*len(s)
	if m.indent > 0 {
		size += m.indent * depth * strings.Count(s, "\n")
	}
	return float64(size)
}

func (m *measure) walkMap(v reflect.Value, depth int) error {
	if err := m.take(mapSize(v.Len())); err != nil {
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
	if err := m.take(float64(entrySize + pointerSize*(v.Cap()-v.Len()))); err != nil {
		return err
	}
	switch v.Type().Elem().Kind() {
	case reflect.Uint8:
		return m.take(float64(m.char * v.Len()))
	case reflect.Int:
		return m.take(float64((scalarSize + m.indent*depth) * v.Len()))
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
