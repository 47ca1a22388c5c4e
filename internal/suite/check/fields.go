package check

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/report"
	"github.com/xfn-dev/xfn/internal/suite/spec"
)

// width is the maximum number of columns of a value in a message. Messages are also in reports,
// which need the whole of a usual value, such as a policy in JSON.
const width = 1000

func show(v any) string { return report.Text(v, width) }

// A place is an object, or a part of one, that is compared with an expectation.
type place struct {
	*run
	// path is the path of the expectation in the case. what names the object in messages. resource
	// is its name in the Composition, or "" for the composite resource.
	path           []string
	what, resource string
	// unset is true if no step can set fields of the object.
	unset bool
}

// in returns the place of the expectation at a key or an index below p.
func (p place) in(key string) place {
	p.path = append(slices.Clone(p.path), key)
	return p
}

// wrong adds a failure of a field, and names the step that set the field at the path set.
func (p place) wrong(field, set, format string, args ...any) {
	step := ""
	if !p.unset {
		step = p.subject.step(p.resource, set)
	}
	text := fmt.Sprintf("%s: %s: ", p.what, cmp.Or(field, "the object")) + fmt.Sprintf(format, args...)
	p.fail(Failure{Path: p.path, Resource: p.resource, Field: field, Step: step, Text: text})
}

// fields checks matchers of the fields of an object in the order of their paths.
func (r *run) fields(of place, object map[string]any, all map[string]spec.Matcher) {
	of.run = r
	for _, text := range manifest.Keys(all) {
		field{place: of.in(text), object: object, text: text}.check(all[text])
	}
}

// A field is a path, which may have wildcards, in an object.
type field struct {
	place
	object map[string]any
	text   string
}

func (f field) check(m spec.Matcher) {
	p, err := fieldpath.Parse(f.text)
	if err == nil && len(p) == 0 {
		err = errors.New("it is empty")
	}
	if err != nil {
		f.failf(f.path, "%s: %s: invalid field path: %v", f.what, f.text, err)
		return
	}
	paths, err := p.Expand(f.object)
	if err != nil || len(paths) == 0 {
		f.absent(p, m)
		return
	}
	f.found(f.text)
	for _, one := range paths {
		v, err := one.Get(f.object)
		if err != nil {
			f.absent(one, m)
			continue
		}
		f.text = one.String()
		f.match(v, m)
	}
}

func (r *run) found(field string) {
	if r.OnField != nil {
		r.OnField(field, nil, "")
	}
}

func (f field) absent(p fieldpath.Path, m spec.Matcher) {
	if m.Absent != nil && *m.Absent || m.Exists != nil && !*m.Exists {
		i, in := f.missing(p)
		near := hint.Misspelled(p[i].Key, manifest.Keys(fieldpath.Map(in)))
		if near != "" && f.OnField != nil {
			f.OnField(f.text, f.path, fmt.Sprintf("%s: %s: this field is absent, as it is expected, but %s exists: check its name", f.what, f.text, near))
		}
		return
	}
	f.fail(Failure{Path: f.path, Resource: f.resource, Field: f.text, Text: fmt.Sprintf("%s: %s: there is no such field%s", f.what, f.text, f.nearby(p))})
}

// missing returns the index of the first segment of a path that does not exist, and the value that
// lacks it.
func (f field) missing(p fieldpath.Path) (i int, in any) {
	in = f.object
	for i = range p {
		next, err := p[i : i+1].Get(in)
		if err != nil {
			break
		}
		in = next
	}
	return i, in
}

// nearby describes the fields next to the first missing segment of a path.
func (f field) nearby(p fieldpath.Path) string {
	i, in := f.missing(p)
	around := f.what
	if i > 0 {
		around = p[:i].String()
	}
	switch in := in.(type) {
	case map[string]any:
		for _, name := range manifest.Keys(in) {
			if rest := p[i:].String(); strings.Contains(name, ".") && (rest == name || strings.HasPrefix(rest, name+".")) {
				return fmt.Sprintf(": a key with a dot is in brackets, as in %s[%s]", around, name)
			}
		}
		return suggestNames(around, p[i].Key, manifest.Keys(in))
	case []any:
		return fmt.Sprintf(": %s has %s", around, report.Count(len(in), "element"))
	default:
		return fmt.Sprintf(": %s is %s", around, show(in))
	}
}

func suggestNames(around, key string, names []string) string {
	if len(names) == 0 {
		return fmt.Sprintf(": %s is empty", around)
	}
	text := fmt.Sprintf(": %s has %s", around, list(names))
	if near := hint.Nearest(key, names); near != "" {
		text += ": is it " + near + "?"
	}
	return text
}

// wrong adds a failure of the field and names the step that set it.
func (f field) wrong(format string, args ...any) { f.place.wrong(f.text, f.text, format, args...) }

func (f field) match(v any, m spec.Matcher) {
	if m.Value != nil {
		f.equals(m.Value.Any, v)
	}
	if m.Equals != nil {
		f.equals(m.Equals.Any, v)
	}
	if m.Exists != nil && !*m.Exists || m.Absent != nil && *m.Absent {
		f.wrong("want no such field, got %s", show(v))
	}
	if m.In != nil && !slices.ContainsFunc(m.In, func(want any) bool { return same(want, v) }) {
		f.wrong("want one of %s, got %s", show(m.In), show(v))
	}
	if m.Length != nil {
		f.length(*m.Length, v)
	}
	if m.Matches != nil {
		f.matches(*m.Matches, v)
	}
	if m.CEL != nil {
		f.evaluate(*m.CEL, &v, f.wrong)
	}
}

// same reports whether two values are equal. Numbers are compared by value: 1 equals 1.0.
func same(a, b any) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return len(fieldpath.Diff(a, b)) == 0
}

func (f field) equals(want, got any) {
	if same(want, got) {
		return
	}
	if kind(want) == kind(got) && kind(want) != "" {
		var texts []string
		changes := fieldpath.Diff(want, got)
		for _, c := range changes {
			texts = append(texts, change(c))
		}
		at := f.text
		if i := slices.IndexFunc(changes, func(c report.Change) bool { return c.Op != report.Removed }); i >= 0 {
			at = below(f.text, changes[i].Path)
		}
		f.place.wrong(f.text, at, "it differs: %s", strings.Join(texts, ", "))
		return
	}
	f.wrong("want %s, got %s", show(want), show(got))
}

// below joins the path of an object or a list with the path of a field in it.
func below(parent, path string) string {
	if path == "" || path[0] == '[' {
		return parent + path
	}
	return parent + "." + path
}

func change(c report.Change) string {
	at := cmp.Or(c.Path, "it")
	switch c.Op {
	case report.Added:
		return fmt.Sprintf("%s %s is unexpected", at, show(c.New))
	case report.Removed:
		return fmt.Sprintf("%s %s is missing", at, show(c.Old))
	default:
		return fmt.Sprintf("%s: want %s, got %s", at, show(c.Old), show(c.New))
	}
}

// kind returns "object" or "list", or "" for other values.
func kind(v any) string {
	switch v.(type) {
	case map[string]any:
		return "object"
	case []any:
		return "list"
	}
	return ""
}

func (f field) length(want int, v any) {
	got := -1
	switch v := v.(type) {
	case string:
		got = utf8.RuneCountInString(v)
	case []any:
		got = len(v)
	case map[string]any:
		got = len(v)
	}
	switch {
	case got < 0:
		f.wrong("want a length of %d, but %s has none", want, show(v))
	case got != want:
		f.wrong("want a length of %d, got %d: %s", want, got, show(v))
	}
}

func (f field) matches(expr string, v any) {
	re, err := regexp.Compile(expr)
	if err != nil {
		f.failf(f.path, "%s: %s: invalid regular expression: %v", f.what, f.text, err)
		return
	}
	text, ok := v.(string)
	if !ok {
		text = report.Text(v, 0)
	}
	if kind(v) != "" || v == nil {
		f.wrong("want a text that matches %s, got %s", expr, show(v))
	} else if !re.MatchString(text) {
		f.wrong("want a match of %s, got %s", expr, show(v))
	}
}
