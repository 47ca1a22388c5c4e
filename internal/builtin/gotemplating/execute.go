package gotemplating

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"text/template"

	"github.com/xfn-dev/xfn/internal/builtin/gotemplating/limit"
)

// An execution runs a program for one request.
type execution struct {
	budget   *limit.Budget
	template *template.Template
	// including counts the uses of each template by include that have not ended.
	including map[string]int
}

// execute returns what the program prints.
func (p *program) execute(b *limit.Budget, data map[string]any) (string, error) {
	e := &execution{budget: b, template: template.New(rootName).Option(p.options...), including: map[string]int{}}
	e.template.Funcs(e.calls(p.functions))
	for name, tree := range p.trees {
		if _, err := e.template.AddParseTree(name, tree); err != nil {
			return "", err
		}
	}
	out := b.Output()
	err := e.run(out, rootName, data)
	return out.String(), err
}

// run executes a template. What text/template does not catch becomes an error.
// Errors lose their chain.
func (e *execution) run(out io.Writer, name string, data any) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("template: %s: %v", name, r)
		}
	}()
	if err := e.template.ExecuteTemplate(out, name, data); err != nil {
		return errors.New(plain(clip(err.Error())))
	}
	return nil
}

// plain returns what an error says without the calls of madeFunction in it.
func plain(text string) string {
	const call = madeFunction + " ("
	if !strings.Contains(text, call) {
		return text
	}
	var (
		out   strings.Builder
		calls []bool // for each open parenthesis since the first call, whether it is one's
	)
	for text != "" {
		size := 1
		switch {
		case strings.HasPrefix(text, call):
			calls, text = append(calls, true), text[len(call):]
			continue
		case len(calls) == 0:
		case text[0] == '(':
			calls = append(calls, false)
		case text[0] == ')':
			last := len(calls) - 1
			if calls[last] {
				calls, text = calls[:last], text[1:]
				continue
			}
			calls = calls[:last]
		case strings.IndexByte("\"'`", text[0]) >= 0:
			size = quoted(text)
		}
		out.WriteString(text[:size])
		text = text[size:]
	}
	return out.String()
}

// quoted returns how long the literal is with which text begins.
func quoted(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			if text[0] != '`' {
				i++
			}
		case text[0]:
			return i + 1
		}
	}
	return len(text)
}

// calls returns the functions of the given names, and those that ask for budget.
func (e *execution) calls(names map[string]bool) template.FuncMap {
	added := e.functions()
	calls := template.FuncMap{
		enterFunction: e.enter,
		leaveFunction: e.leave,
		tickFunction:  e.tick,
		printFunction: e.printed,
		madeFunction:  e.made,
	}
	for name := range names {
		if f, ok := added[name]; ok {
			calls[name] = f
		} else if f := e.budget.Function(name); f != nil {
			calls[name] = f
		}
	}
	return calls
}

func (e *execution) enter(stack, loops int) (bool, error) {
	if err := e.budget.Check(); err != nil {
		return false, err
	}
	return false, e.budget.Enter(stack, loops)
}

func (e *execution) leave(stack, loops int) bool {
	e.budget.Leave(stack, loops)
	return false
}

func (e *execution) tick() (bool, error) { return false, e.budget.Check() }

// printed returns v, which is to be printed. Text is as long as its output, which
// is bounded.
func (e *execution) printed(v reflect.Value) (reflect.Value, error) {
	if err := e.budget.Check(); err != nil || v.Kind() == reflect.String {
		return v, err
	}
	return v, e.budget.Measure(v)
}

// made returns v, which a method has made.
func (e *execution) made(v reflect.Value) (reflect.Value, error) {
	return v, e.budget.SpendOn(v)
}
