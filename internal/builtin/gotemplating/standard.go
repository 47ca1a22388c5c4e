package gotemplating

import (
	"context"
	"fmt"
	"strings"
	"text/template"
)

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
