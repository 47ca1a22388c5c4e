package gotemplating

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/template"
	"text/template/parse"
)

// An execution runs a program for one request.
type execution struct {
	// cause returns the error with which the execution must end, or nil.
	cause      func() error
	unreleased bool
	template   *template.Template
	// outputs has the outputs of the template and of its includes that are running.
	outputs []*output
	// marks are the marks of the template. It is nil unless the program is traced.
	marks []mark
	// ran has the indexes of the branches that ran. It is nil unless the program is covered.
	ran map[int]bool
	// weight is the total weight of the templates that are currently running.
	weight int
	// including counts, for each template, its includes that are currently running.
	including map[string]int
}

// A mark is the node of the template that wrote an output from an offset on.
type mark struct {
	offset int
	node   parse.Pos
}

// execute runs the program with data, and returns its output, and the execution with the marks
// and the branches that ran.
func (p *program) execute(ctx context.Context, data map[string]any) (string, *execution, error) {
	cause := func() error { return context.Cause(ctx) }
	e := &execution{cause: cause, unreleased: p.unreleased, template: template.New(rootName).Option(p.options...), including: map[string]int{}}
	e.template.Funcs(e.calls(p.functions))
	for name, tree := range p.trees {
		if _, err := e.template.AddParseTree(name, tree); err != nil {
			return "", e, err
		}
	}
	out, err := e.run(rootName, data)
	return out, e, err
}

// run executes the template called name and returns its output. It returns a
// panic as an error. An error contains only the text of its cause, so that the
// errors of nested includes do not keep each other in memory.
func (e *execution) run(name string, data any) (text string, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("template: %s: %v", name, r)
		}
	}()
	out := &output{cause: e.cause}
	e.outputs = append(e.outputs, out)
	defer func() { e.outputs = e.outputs[:len(e.outputs)-1] }()
	if err := e.template.ExecuteTemplate(out, name, data); err != nil {
		return "", errors.New(clip(err.Error()))
	}
	return out.text.String(), nil
}

// calls returns the functions with the given names, and the functions whose calls
// compile adds.
func (e *execution) calls(names map[string]bool) template.FuncMap {
	added := e.functions()
	calls := template.FuncMap{enterFunction: e.enter, leaveFunction: e.leave, tickFunction: e.tick, markFunction: e.mark, coverFunction: e.cover}
	for name := range names {
		if f, ok := added[name]; ok {
			calls[name] = f
		} else if f, ok := known()[name]; ok {
			calls[name] = f
		}
	}
	return calls
}

func (e *execution) enter(weight int) (bool, error) {
	if e.weight+weight > maxWeight {
		return false, errors.New("templates and loops are nested too deeply")
	}
	e.weight += weight
	return e.tick()
}

func (e *execution) leave(weight int) bool {
	e.weight -= weight
	return false
}

func (e *execution) cover(branch int) bool {
	if e.ran == nil {
		e.ran = map[int]bool{}
	}
	e.ran[branch] = true
	return false
}

// mark adds a mark for a node that may write to the output of the template.
func (e *execution) mark(node int) bool {
	if len(e.outputs) > 1 {
		return false // The output of an include is attributed to the action that calls include.
	}
	m := mark{e.outputs[0].text.Len(), parse.Pos(node)}
	if last := len(e.marks) - 1; last >= 0 && e.marks[last].offset == m.offset {
		e.marks[last] = m
	} else {
		e.marks = append(e.marks, m)
	}
	return false
}

// tick returns an error if the execution must end, for example because its context is done.
func (e *execution) tick() (bool, error) { return false, e.cause() }

// maxOutput is the maximum size of a template's output in bytes.
const maxOutput = 64 << 20

type output struct {
	cause func() error
	text  strings.Builder
}

// Write implements io.Writer. It writes p completely or not at all.
func (o *output) Write(p []byte) (int, error) {
	if o.text.Len()+len(p) > maxOutput {
		return 0, fmt.Errorf("the output is larger than %d MiB", maxOutput>>20)
	}
	if err := o.cause(); err != nil {
		return 0, err
	}
	return o.text.Write(p)
}

// ExecuteStandard executes a template with the standard functions of text/template, within
// the limits of this package. The template has no name. parsed is false if the template
// cannot be parsed.
func ExecuteStandard(ctx context.Context, text string, data any) (out string, parsed bool, err error) {
	switch {
	case len(text) > maxTemplate:
		return "", false, errTemplateSize
	case strings.Count(text, "{{") > maxActions:
		return "", false, fmt.Errorf("the template has more than %d actions", maxActions)
	}
	t, err := template.New("").Parse(text)
	if err != nil {
		return "", false, err
	}
	p := &program{functions: map[string]bool{}}
	for _, defined := range t.Templates() {
		if defined.Tree.Root != nil {
			p.body(defined.Tree.Root)
		}
	}
	e := &execution{cause: func() error { return context.Cause(ctx) }, template: t}
	t.Funcs(template.FuncMap{enterFunction: e.enter, leaveFunction: e.leave, tickFunction: e.tick})
	out, err = e.run("", data)
	return out, true, err
}
