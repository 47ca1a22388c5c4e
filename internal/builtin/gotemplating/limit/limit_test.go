package limit_test

import (
	"fmt"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"text/template"

	"github.com/xfn-dev/xfn/internal/builtin/gotemplating/limit"
)

// slow names functions that make keys, whose arguments do not change how long
// they take.
var slow = map[string]bool{"genPrivateKey": true, "genCA": true, "genSelfSignedCert": true, "genSignedCert": true}

// hostile returns values that no function should be given.
func hostile() []any {
	cyclic := map[string]any{}
	cyclic["a"] = cyclic
	var graph any = "x"
	for range 64 {
		graph = []any{graph, graph}
	}
	var deep any = 1
	for range 5_000 {
		deep = []any{deep}
	}
	long := make([]any, 1<<15)
	for i := range long {
		long[i] = i
	}
	text := strings.Repeat("a\n", 1<<18)
	return []any{
		cyclic, graph, deep, long, text, "%[1]999999d%[1]*[1]d", "(a{0,30}){0,30}",
		math.MaxInt, math.MinInt, 1 << 40, -1, 0, 1e308, true, nil,
	}
}

// fitting returns those values that a parameter can be.
func fitting(values []any, typ reflect.Type) []any {
	var fit []any
	for _, v := range values {
		if v != nil && reflect.TypeOf(v).AssignableTo(typ) || v == nil && typ.Kind() == reflect.Interface {
			fit = append(fit, v)
		}
	}
	return fit
}

// TestHostileArguments gives every function every hostile value: all its arguments
// are of one kind. None may take the memory, the stack or the time of the process.
func TestHostileArguments(t *testing.T) {
	const most = 1 << 30
	for name, f := range limit.Known() {
		if slow[name] {
			continue
		}
		typ := reflect.TypeOf(f)
		all := hostile()
		for round := range all {
			var args []any
			for i := range typ.NumIn() {
				in := typ.In(i)
				if typ.IsVariadic() && i == typ.NumIn()-1 {
					in = in.Elem()
				}
				if in == reflect.TypeFor[reflect.Value]() {
					in = reflect.TypeFor[any]()
				}
				if values := fitting(all, in); len(values) > 0 {
					args = append(args, values[round%len(values)])
				}
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, _ = call(limit.New(t.Context()), name, args...)
			runtime.ReadMemStats(&after)
			if made := after.TotalAlloc - before.TotalAlloc; made > most {
				t.Errorf("%s in round %d made %d MiB", name, round, made>>20)
			}
		}
	}
}

// call calls a function from a template.
func call(b *limit.Budget, name string, args ...any) (any, error) {
	return callOf(b.Function(name), name, args...)
}

func callOf(f any, name string, args ...any) (result any, err error) {
	funcs := template.FuncMap{"return": func(v any) string { result = v; return "" }}
	if f != nil {
		funcs[name] = f
	}
	var text strings.Builder
	for i := range args {
		fmt.Fprintf(&text, " (index . %d)", i)
	}
	t := template.Must(template.New("t").Funcs(funcs).Parse("{{ return (" + name + text.String() + ") }}"))
	return result, t.Execute(&text, args)
}

// TestEqual compares eq and ne with those of text/template.
func TestEqual(t *testing.T) {
	type named string
	one := 1
	values := []any{
		nil, true, false, 0, 1, -1, int64(1), uint(1), uint64(math.MaxUint64), 1.0, float32(1), 1i, "", "a", named("a"),
		[]any{},
		[]any(nil),
		map[string]any{},
		map[string]any(nil),
		struct{ A int }{1},
		struct{ A any }{[]int{}},
		&one, (*int)(nil),
		[1]int{1},
		func() {},
	}
	for _, name := range []string{"eq", "ne"} {
		for _, a := range values {
			for _, b := range values {
				want, wantErr := callOf(nil, name, a, b)
				got, err := call(limit.New(t.Context()), name, a, b)
				if want != got || fmt.Sprint(wantErr) != fmt.Sprint(err) {
					t.Errorf("%s %v %v: got %v, %v, want %v, %v", name, a, b, got, err, want, wantErr)
				}
			}
		}
	}
	for _, args := range [][]any{{1}, {}, {1, 2, 1}, {1, 2, 3}, {1, 2, "a"}} {
		want, wantErr := callOf(nil, "eq", args...)
		got, err := call(limit.New(t.Context()), "eq", args...)
		if want != got || fmt.Sprint(wantErr) != fmt.Sprint(err) {
			t.Errorf("eq %v: got %v, %v, want %v, %v", args, got, err, want, wantErr)
		}
	}
}

// TestPaid has calls of which one is little, and many are too much.
func TestPaid(t *testing.T) {
	text := strings.Repeat("x", 1<<20)
	list := make([]any, 1<<16)
	cases := map[string]struct {
		reason string
		name   string
		args   []any
		calls  int // that the budget is enough for, at most
	}{
		"Text": {
			reason: "text is paid by its length",
			name:   "upper",
			args:   []any{text},
			calls:  256,
		},
		"Lists": {
			reason: "lists by their elements",
			name:   "reverse",
			args:   []any{list},
			calls:  256,
		},
		"Copies": {
			reason: "copies by all that is in them",
			name:   "deepCopy",
			args:   []any{list[:1000]},
			calls:  20000,
		},
		"Keys": {
			reason: "keys that are made of values",
			name:   "dict",
			args:   []any{text[:1<<18], 1},
			calls:  256,
		},
		"Decoded": {
			reason: "values that are made of text",
			name:   "fromJson",
			args:   []any{"[" + strings.Repeat("1,", 10000) + "1]"},
			calls:  300,
		},
		"Parsed": {
			reason: "parts of a URL",
			name:   "urlParse",
			args:   []any{"http://a/" + text[:1<<16]},
			calls:  1000,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := limit.New(t.Context())
			for range tc.calls {
				if _, err := call(b, tc.name, tc.args...); err != nil {
					return
				}
			}
			t.Errorf("%s: the budget is enough for %d calls", tc.reason, tc.calls)
		})
	}
}

// TestBorrowed has calls that give out what is there, which a budget is enough for.
func TestBorrowed(t *testing.T) {
	large := map[string]any{}
	for i := range 10_000 {
		large[fmt.Sprint(i)] = strings.Repeat("x", 100)
	}
	b := limit.New(t.Context())
	for range 10_000 {
		for name, args := range map[string][]any{
			"get":     {map[string]any{"a": large}, "a"},
			"set":     {large, "0", 1},
			"hasKey":  {large, "0"},
			"default": {large, nil},
			"first":   {[]any{large}},
			"ternary": {large, large, true},
			"dig":     {"a", "b", map[string]any{"a": large}},
		} {
			if _, err := call(b, name, args...); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
}

// TestSizes has the limits of what is within them.
func TestSizes(t *testing.T) {
	b := limit.New(t.Context())
	if err := b.Enter(256<<20+1, 0); err == nil {
		t.Error("the stack has no limit")
	}
	for range 3 {
		if err := b.Enter(256<<20, 2048); err != nil {
			t.Error(err)
		}
		if err := b.Enter(1, 0); err == nil {
			t.Error("the stack is not shared")
		}
		if err := b.Enter(0, 1); err == nil {
			t.Error("loops are not shared")
		}
		b.Leave(256<<20, 2048)
	}
	var deep any = 1
	for range 990 {
		deep = []any{deep}
	}
	if err := b.Measure(reflect.ValueOf(deep)); err != nil {
		t.Errorf("a value that is not nested too deeply: %v", err)
	}
	if b.Function("gone") != nil {
		t.Error("there is a function that does not exist")
	}
}
