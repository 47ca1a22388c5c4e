package gotemplating_test

import (
	"fmt"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/Masterminds/sprig/v3"

	"github.com/xfn-dev/xfn/internal/builtin/gotemplating"
)

// slow has the functions that create keys and hashes. They are slow with any arguments.
var slow = map[string]bool{
	"genPrivateKey": true, "genCA": true, "genSelfSignedCert": true, "genSignedCert": true,
	"bcrypt": true, "htpasswd": true, "derivePassword": true,
}

// hostile returns values that Sprig's functions may not expect, such as deep lists.
func hostile() []any {
	var deep any = 1
	for range 1_000 {
		deep = []any{deep}
	}
	long := make([]any, 1<<12)
	for i := range long {
		long[i] = i
	}
	return []any{
		deep, long,
		map[string]any{"a": long},
		strings.Repeat("a\n", 1<<9), "%[1]999999d%[1]*[1]d", "(a{0,30}){0,30}",
		math.MaxInt, math.MinInt, 1 << 40, -1, 0, 1e308, true, nil,
	}
}

// TestHostileArguments calls every function of Sprig with hostile values. A call may fail,
// but it must return, and it must not allocate more than the limit of a call.
func TestHostileArguments(t *testing.T) {
	if testing.Short() {
		t.Skip("it calls all functions with large arguments")
	}
	const most = 300 << 20
	values := hostile()
	for name, f := range sprig.GenericFuncMap() {
		if slow[name] {
			continue
		}
		for round := range values {
			text, data := hostileCall(name, reflect.TypeOf(f), values, round)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := gotemplating.Render(t.Context(), text, data)
			runtime.ReadMemStats(&after)
			if made := after.TotalAlloc - before.TotalAlloc; made > most {
				t.Errorf("%s with %.40v allocated %d MiB (error %v)", name, values[round], made>>20, err)
			}
		}
	}
}

// hostileCall returns a template that calls the function name, and the data of
// the template. Each parameter gets one of the values that its type accepts.
// round selects which one.
func hostileCall(name string, typ reflect.Type, values []any, round int) (string, map[string]any) {
	data := map[string]any{}
	text := "{{ $_ := " + name
	for i := range typ.NumIn() {
		in := typ.In(i)
		if typ.IsVariadic() && i == typ.NumIn()-1 {
			in = in.Elem()
		}
		var fit []any
		for _, v := range values {
			if v != nil && reflect.TypeOf(v).AssignableTo(in) || v == nil && in.Kind() == reflect.Interface {
				fit = append(fit, v)
			}
		}
		if len(fit) > 0 {
			key := fmt.Sprintf("a%d", i)
			data[key] = fit[round%len(fit)]
			text += " ." + key
		}
	}
	return text + " }}", data
}
