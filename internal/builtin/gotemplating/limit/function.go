package limit

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"sync"
	"text/template"

	"github.com/Masterminds/sprig/v3"
)

// maxArguments bounds the arguments of a call: some functions take time that
// grows with the square of their number.
const maxArguments = 10_000

var errArguments = fmt.Errorf("there are more than %d arguments", maxArguments)

// Known returns the functions that templates may call, free of any budget: those
// of sprig, but for env and expandenv, and those of Go that make text or may say
// in an error what they were given. Local time is UTC. The map is not to be changed.
var Known = sync.OnceValue(func() map[string]any {
	known := sprig.GenericFuncMap()
	delete(known, "env")
	delete(known, "expandenv")
	known["getHostByName"] = getHostByName
	known["print"] = fmt.Sprint
	known["printf"] = fmt.Sprintf
	known["println"] = fmt.Sprintln
	known["html"] = template.HTMLEscaper
	known["js"] = template.JSEscaper
	known["urlquery"] = template.URLQueryEscaper
	for _, name := range []string{"merge", "mergeOverwrite"} {
		known[name] = merging(known[name].(func(map[string]any, ...map[string]any) any))
	}
	for _, name := range []string{"mustMerge", "mustMergeOverwrite"} {
		known[name] = mustMerging(known[name].(func(map[string]any, ...map[string]any) (any, error)))
	}
	for _, name := range []string{"append", "push"} {
		known[name] = pushing(known[name].(func(list, v any) []any))
	}
	for _, name := range []string{"mustAppend", "mustPush"} {
		known[name] = mustPushing(known[name].(func(list, v any) ([]any, error)))
	}
	maps.Copy(known, dates)
	known["eq"] = equal
	known["ne"] = notEqual
	return known
})

func getHostByName(string) (string, error) {
	return "", errors.New("a builtin function has no network")
}

// Function returns the function of a name, which pays for its calls from the
// budget, or nil if there is none in Known.
func (b *Budget) Function(name string) any {
	f, ok := Known()[name]
	if !ok {
		return nil
	}
	r, ok := rules()[name]
	if !ok {
		r = rule{price: text}
	}
	if search, ok := b.searches()[name]; ok {
		f = search
	}
	return b.guard(f, r)
}

// Priced returns f, which is to pay for its calls from the budget: it walks its
// arguments, and makes not more than they take as text.
func (b *Budget) Priced(f any) any { return b.guard(f, rule{price: text}) }

// guard returns a function of f's type, so that templates which call it wrongly
// get the errors that they get for f. An error panics: text/template makes an
// error of the call out of it.
func (b *Budget) guard(f any, r rule) any {
	call := reflect.ValueOf(f)
	signature := call.Type()
	return reflect.MakeFunc(signature, func(args []reflect.Value) []reflect.Value {
		price, err := b.ask(r, signature, args)
		if err != nil {
			panic(err)
		}
		results := b.wait(r, func() []reflect.Value {
			if signature.IsVariadic() {
				return call.CallSlice(args)
			}
			return call.Call(args)
		})
		if err := b.Spend(r.due(price, results[0])); err != nil {
			panic(err)
		}
		return results
	}).Interface()
}

// wait makes a call. One that may be long it does not wait for when the execution
// is to end: that goes on by itself until it is done.
func (b *Budget) wait(r rule, call func() []reflect.Value) []reflect.Value {
	if !r.long {
		return call()
	}
	type outcome struct {
		results  []reflect.Value
		panicked any
	}
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			o.panicked = recover()
			done <- o
		}()
		o.results = call()
	}()
	select {
	case o := <-done:
		if o.panicked != nil {
			panic(o.panicked)
		}
		return o.results
	case <-b.done:
		panic(b.cause())
	}
}

// ask returns the price of a call, or an error if the budget is too small.
func (b *Budget) ask(r rule, signature reflect.Type, args []reflect.Value) (float64, error) {
	if err := b.Check(); err != nil {
		return 0, err
	}
	if signature.IsVariadic() && args[len(args)-1].Len() > cmp.Or(r.arguments, maxArguments) {
		return 0, errArguments
	}
	price, err := r.price(args, b.most())
	if err != nil {
		return 0, b.explain(err)
	}
	return price, b.Afford(price)
}

// due returns what a call that could have cost price has to pay.
func (r rule) due(price float64, result reflect.Value) float64 {
	if r.whole {
		return price
	}
	result = concrete(result)
	switch result.Kind() {
	case reflect.Slice, reflect.Map, reflect.Pointer, reflect.Struct:
		if r.borrows {
			return min(price, surfaceOf(result))
		}
		size, err := sizeOf(result, inMemory, price)
		if err != nil {
			return price
		}
		return size
	default:
		return surfaceOf(result)
	}
}

// surfaceOf returns what v takes without what its entries lead to.
func surfaceOf(v reflect.Value) float64 {
	switch v = concrete(v); v.Kind() {
	case reflect.String:
		return float64(scalarSize + v.Len())
	case reflect.Slice:
		return float64(entrySize + pointerSize*v.Cap())
	case reflect.Map:
		return mapSize(v.Len())
	default:
		return scalarSize
	}
}
