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

// slow names functions that make keys and hashes, whose arguments do not change
// how long they take.
var slow = map[string]bool{
	"genPrivateKey": true, "genCA": true, "genSelfSignedCert": true, "genSignedCert": true,
	"bcrypt": true, "htpasswd": true, "derivePassword": true,
}

// small are limits that hold as the usual ones do, and are reached sooner.
func small() limit.Limits {
	return limit.Limits{Memory: 8 << 20, Value: 4 << 20, Output: 1 << 20, Stack: 1 << 20, Loops: 16}
}

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
	long := make([]any, 1<<12)
	for i := range long {
		long[i] = i
	}
	text := strings.Repeat("a\n", 1<<15)
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
	const most = 64 << 20
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
			_, _ = call(limit.New(t.Context(), small()), name, args...)
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
				got, err := call(limit.New(t.Context(), limit.Usual()), name, a, b)
				if want != got || fmt.Sprint(wantErr) != fmt.Sprint(err) {
					t.Errorf("%s %v %v: got %v, %v, want %v, %v", name, a, b, got, err, want, wantErr)
				}
			}
		}
	}
	for _, args := range [][]any{{1}, {}, {1, 2, 1}, {1, 2, 3}, {1, 2, "a"}} {
		want, wantErr := callOf(nil, "eq", args...)
		got, err := call(limit.New(t.Context(), limit.Usual()), "eq", args...)
		if want != got || fmt.Sprint(wantErr) != fmt.Sprint(err) {
			t.Errorf("eq %v: got %v, %v, want %v, %v", args, got, err, want, wantErr)
		}
	}
}

// TestPaid has calls of which one is little, and many are too much. What is kept
// of them is in memory not more than what was paid.
func TestPaid(t *testing.T) {
	text := strings.Repeat("x", 1<<20)
	list := make([]any, 1<<14)
	for i := range list {
		list[i] = i
	}
	many := func(one string, n int) string { return "[" + strings.Repeat(one+",", n) + one + "]" }
	cases := map[string]struct {
		reason string
		name   string
		args   []any
	}{
		"Text":       {"text is paid by its length", "repeat", []any{2, text[:1<<15]}},
		"ShortText":  {"and by its header", "repeat", []any{20, "abc"}},
		"Lists":      {"lists by their elements", "reverse", []any{list}},
		"ShortLists": {"and by theirs", "list", []any{1, 2}},
		"Grown":      {"also if they have grown by one", "append", []any{list, 1}},
		"GrownMore":  {"or by many", "concat", []any{list, list}},
		"GrownFew":   {"from a few", "concat", []any{list[:3], list[:2]}},
		"Split":      {"parts of a text", "splitList", []any{"x", text[:1<<12]}},
		"Matches":    {"parts that match", "regexFindAll", []any{"x", text[:1<<10], -1}},
		"Chunks":     {"lists of lists", "chunk", []any{1, list}},
		"Numbers":    {"numbers by how many they are", "until", []any{10000}},
		"Copies":     {"copies by all that is in them", "deepCopy", []any{map[string]any{"a": list[:1000], "b": map[string]any{"c": "d"}}}},
		"Texts":      {"of text, too", "deepCopy", []any{[]any{text[:1<<15]}}},
		"Keys":       {"keys that are made of values", "dict", []any{list[:1000], 1}},
		"Maps":       {"a map for one key", "dict", []any{"a", 1}},
		"Picked":     {"a map of a map", "pick", []any{map[string]any{"a": 1, "b": 2}, "a"}},
		"Decoded":    {"values that are made of text", "fromJson", []any{many("1", 10000)}},
		"Objects":    {"objects, which are larger than their text", "fromJson", []any{many(`{"":0}`, 1000)}},
		"EmptyLists": {"and lists", "fromJson", []any{many("[]", 1000)}},
		"Parsed":     {"parts of a URL", "urlParse", []any{"http://a/" + text[:1<<10]}},
		"ShortURL":   {"also of a short one", "urlParse", []any{"a"}},
		"Time":       {"a time", "toDate", []any{"2006", "2026"}},
		"Version":    {"a version", "semver", []any{"1.2.3"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := limit.New(t.Context(), limit.Limits{Memory: 4 << 20, Value: 2 << 20})
			f := reflect.ValueOf(b.Function(tc.name))
			var kept []any
			before := live()
			for err := error(nil); err == nil && len(kept) < 1<<20; {
				var result any
				if result, err = invoke(f, tc.args...); err == nil {
					kept = append(kept, result)
				}
			}
			held := live() - before - 16*int64(cap(kept))
			if len(kept) < 2 || len(kept) == 1<<20 {
				t.Errorf("%s: the budget is enough for %d calls", tc.reason, len(kept))
			}
			if most := int64(4<<20 + 256<<10); held > most {
				t.Errorf("%s: %d results hold %d bytes, want %d at most", tc.reason, len(kept), held, most)
			}
			runtime.KeepAlive(kept)
			runtime.KeepAlive(tc.args)
		})
	}
}

// live returns how many bytes are reachable.
func live() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// invoke calls a function as a template does, without the time that one takes.
func invoke(f reflect.Value, args ...any) (result any, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	in := make([]reflect.Value, len(args))
	for i, arg := range args {
		in[i] = reflect.ValueOf(arg)
	}
	return f.Call(in)[0].Interface(), nil
}

// TestBorrowed has calls that give out what is there, which a budget is enough for.
func TestBorrowed(t *testing.T) {
	large := map[string]any{}
	for i := range 10_000 {
		large[fmt.Sprint(i)] = strings.Repeat("x", 100)
	}
	text := strings.Repeat("x", 1<<20)
	b := limit.New(t.Context(), small())
	for range 1000 {
		for name, args := range map[string][]any{
			"get":     {map[string]any{"a": large}, "a"},
			"set":     {large, "0", 1},
			"hasKey":  {large, "0"},
			"default": {large, nil},
			"first":   {[]any{large}},
			"ternary": {large, large, true},
			"list":    {text, text},
			"append":  {[]any{1}, text},
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
	b := limit.New(t.Context(), limit.Usual())
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
