package gotemplating

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // time zones, for systems without a time zone database

	"github.com/Masterminds/sprig/v3"
)

// known returns the functions of Sprig that templates may call: all except env and
// expandenv. They use UTC, and their memory is limited. The map must not be changed.
var known = sync.OnceValue(func() map[string]any {
	all := sprig.GenericFuncMap()
	delete(all, "env")
	delete(all, "expandenv")
	all["getHostByName"] = func(string) (string, error) { return "", errors.New("a builtin function has no network") }
	all["set"] = set
	for _, name := range []string{"merge", "mergeOverwrite", "mustMerge", "mustMergeOverwrite"} {
		all[name] = callFirst(all[name], func(args []reflect.Value) {
			dst, srcs := args[0].Interface().(map[string]any), args[1].Interface().([]map[string]any)
			args[1] = reflect.ValueOf(unshare(dst, srcs))
		})
	}
	maps.Copy(all, dates)
	for names, bytes := range bounds {
		for name := range strings.FieldsSeq(names) {
			all[name] = callFirst(all[name], func(args []reflect.Value) {
				if bytes(args) > maxCall {
					panic(fmt.Errorf("the call would allocate more than %d MiB", maxCall>>20)) // text/template returns the panic as an error
				}
			})
		}
	}
	return all
})

// set implements Sprig's function set. It returns an error if dict would then
// contain itself, because other functions would recurse without end.
func set(dict map[string]any, key string, value any) (map[string]any, error) {
	seen := map[uintptr]bool{}
	shares(value, seen)
	if seen[reflect.ValueOf(dict).Pointer()] {
		return nil, errors.New("the value would contain itself")
	}
	dict[key] = value
	return dict, nil
}

// maxCall is the maximum number of bytes that a single function call may allocate.
const maxCall = 256 << 20

// bounds estimates how many bytes one call allocates. It has the functions that
// can allocate so fast that the watchdog would measure the memory of the process
// too late. A key has the names of one or more functions.
var bounds = map[string]func(args []reflect.Value) float64{
	"repeat":         func(args []reflect.Value) float64 { return number(args[0]) * length(args[1]) },
	"indent nindent": func(args []reflect.Value) float64 { return number(args[0]) * (1 + count(args[1], "\n")) },
	"replace":        func(args []reflect.Value) float64 { return count(args[2], args[0].String()) * length(args[1]) },
	"join": func(args []reflect.Value) float64 {
		list := reflect.ValueOf(args[1].Interface())
		if list.Kind() != reflect.Slice {
			return 0
		}
		size := length(args[0]) * length(list)
		for i := range list.Len() {
			if text, ok := list.Index(i).Interface().(string); ok {
				size += float64(len(text))
			}
		}
		return size
	},
	"until":     func(args []reflect.Value) float64 { return integers(0, number(args[0]), 1) },
	"untilStep": func(args []reflect.Value) float64 { return integers(number(args[0]), number(args[1]), number(args[2])) },
	"seq": func(args []reflect.Value) float64 {
		switch n := args[0]; n.Len() {
		case 1:
			return integers(1, number(n.Index(0)), 1)
		case 2:
			return integers(number(n.Index(0)), number(n.Index(1)), 1)
		case 3:
			return integers(number(n.Index(0)), number(n.Index(2)), number(n.Index(1)))
		default:
			return 0
		}
	},
	"randAlpha randAlphaNum randAscii randBytes randNumeric": func(args []reflect.Value) float64 { return 8 * number(args[0]) },
}

func number(v reflect.Value) float64 { return float64(v.Int()) }

func length(v reflect.Value) float64 { return float64(v.Len()) }

func count(v reflect.Value, part string) float64 { return float64(strings.Count(v.String(), part)) }

// integers returns the size in bytes of a list of integers. If an integer would
// overflow, the size is infinite.
func integers(from, to, step float64) float64 {
	if math.Abs(to)+math.Abs(step) > math.MaxInt64/2 {
		return math.Inf(1)
	}
	return 8 * math.Abs(to-from) / math.Max(1, math.Abs(step))
}

// callFirst returns a function with the type of f. It calls do with the
// arguments, and then f.
func callFirst(f any, do func(args []reflect.Value)) any {
	call := reflect.ValueOf(f)
	return reflect.MakeFunc(call.Type(), func(args []reflect.Value) []reflect.Value {
		do(args)
		if call.Type().IsVariadic() {
			return call.CallSlice(args)
		}
		return call.Call(args)
	}).Interface()
}

// dates replaces those functions of Sprig that use the local time zone. The replacements
// use UTC, as in the real function's image, which also has the time zone database.
var dates = map[string]any{
	"now": func() time.Time { return time.Now().UTC() },
	"toDate": func(layout, text string) time.Time {
		t, _ := time.ParseInLocation(layout, text, time.UTC)
		return t
	},
	"mustToDate":     func(layout, text string) (time.Time, error) { return time.ParseInLocation(layout, text, time.UTC) },
	"date":           func(layout string, date any) string { return inZone(layout, date, "UTC") },
	"dateInZone":     inZone,
	"date_in_zone":   inZone,
	"htmlDate":       func(date any) string { return inZone(time.DateOnly, date, "UTC") },
	"htmlDateInZone": func(date any, zone string) string { return inZone(time.DateOnly, date, zone) },
}

var sprigInZone = sprig.GenericFuncMap()["dateInZone"].(func(string, any, string) string)

func inZone(layout string, date any, zone string) string {
	if zone == "Local" {
		zone = "UTC"
	}
	return sprigInZone(layout, date, zone)
}

// unshare returns srcs, the sources of a merge into dst. It copies a source that
// shares a map with dst or with an earlier source. Otherwise, Sprig could make
// this map contain itself.
func unshare(dst map[string]any, srcs []map[string]any) []map[string]any {
	seen := map[uintptr]bool{}
	shares(dst, seen)
	own := make([]map[string]any, len(srcs))
	for i, src := range srcs {
		own[i] = src
		if shares(src, seen) {
			own[i] = clone(src).(map[string]any)
		}
	}
	return own
}

// shares adds the maps in v to seen. It reports whether seen already had one of them, or v
// has the same map twice. It does not recurse, because v may be deeply nested.
func shares(v any, seen map[uintptr]bool) bool {
	shared := false
	lists := map[*any]int{} // the length of each visited list, by the address of its first element
	todo := []any{v}
	isNew := func(m any) bool {
		at := reflect.ValueOf(m).Pointer()
		again := seen[at]
		seen[at] = true
		shared = shared || again
		return !again
	}
	for len(todo) > 0 {
		last := len(todo) - 1
		v, todo = todo[last], todo[:last]
		switch v := v.(type) {
		case map[string]any:
			if v != nil && isNew(v) {
				todo = slices.AppendSeq(todo, maps.Values(v))
			}
		case map[any]any: // the type of a map from fromYaml whose keys are not all strings
			if v != nil && isNew(v) {
				todo = slices.AppendSeq(todo, maps.Values(v))
			}
		case []any:
			if len(v) == 0 {
				continue
			}
			if lists[&v[0]] >= len(v) {
				shared = true
				continue
			}
			lists[&v[0]] = len(v)
			todo = append(todo, v...)
		}
	}
	return shared
}

func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		return cloneMap(v)
	case map[any]any:
		return cloneMap(v)
	case []any:
		c := make([]any, len(v))
		for i, element := range v {
			c[i] = clone(element)
		}
		return c
	default:
		return v
	}
}

func cloneMap[K comparable](m map[K]any) map[K]any {
	c := make(map[K]any, len(m))
	for key, element := range m {
		c[key] = clone(element)
	}
	return c
}
