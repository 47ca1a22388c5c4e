package suite

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/session"
	"github.com/xfn-dev/xfn/internal/suite/check"
	"github.com/xfn-dev/xfn/internal/suite/spec"
)

func (a *attempt) position(path ...string) string {
	return manifest.Position(a.item.Suite.Path, a.item.Case.Position(path...))
}

// warn warns of the field of the case at path. A field with a variable may be right in another row of
// the table, so there is no warning of it.
func (a *attempt) warn(path []string, text string) {
	if !a.item.Case.IsLiteral(path...) {
		return
	}
	a.sessions.config.Progress.Warn(a.position(path...) + ": " + text)
}

// checkExpect warns of expectations that hold for any output, and of a table that the case does
// not use.
func (a *attempt) checkExpect(r session.Result) {
	if !a.item.Case.UsesRow() {
		a.warn([]string{"each"}, "each: no field of the case has ${each} or ${each.key}, so all rows of the table are the same case")
	}
	expect, given := a.item.Case.Raw("expect")
	if !given {
		return
	}
	if own := a.item.Case.Own("expect"); own != nil && isEmpty(own) {
		text := "expect is empty, so the case passes whatever the functions compose\nhint: write what is expected, as in resources: {NAME: {spec.region: eu}}, or leave expect out if the render need only succeed"
		if a.item.Suite.IsConverted() {
			text = "the test asserts nothing, so it passes whatever the functions compose\nhint: add the expected resources to assertResources"
		}
		a.warn([]string{"expect"}, text)
		return
	}
	for _, path := range a.emptyFields(expect) {
		a.warn(path, manifest.JoinPath(path)+" is empty, so it checks nothing")
	}
	e := a.form.Expect
	if e.Valid.All == nil && len(e.Valid.Ignore) > 0 && a.item.Case.Own("expect", "valid") != nil {
		a.warn([]string{"expect", "valid"}, "expect.valid has no field all, so it checks nothing")
	}
	for _, name := range manifest.Keys(e.Conditions) {
		c := e.Conditions[name]
		a.checkText(c.Reason, "expect", "conditions", name, "reason")
		a.checkText(c.Message, "expect", "conditions", name, "message")
	}
	for i, result := range e.Results {
		at := fmt.Sprintf("[%d]", i)
		if !result.Absent { // With absent, a text that every result contains forbids all results.
			a.checkText(result.Message, "expect", "results", at, "message")
			a.checkText(result.Reason, "expect", "results", at, "reason")
		}
		a.checkStep(result, r, "expect", "results", at, "step")
	}
	for i, expression := range e.CEL {
		a.checkExpression(&expression, "expect", "cel", fmt.Sprintf("[%d]", i))
	}
	for _, name := range manifest.Keys(e.Resources) {
		a.checkMatchers(e.Resources[name].Fields, "expect", "resources", name)
	}
	a.checkMatchers(e.XR, "expect", "xr")
	a.checkMatchers(e.Operation, "expect", "operation")
	a.checkMatchers(e.Context, "expect", "context")
	a.checkMatchers(e.Connection, "expect", "connectionDetails")
}

// checkField records an expected field that exists, or the warning about a field that is absent as
// expected. The warning does not apply if another case of the suite expects that the field exists.
func (a *attempt) checkField(field string, path []string, text string) {
	if a.item.composition != nil || a.item.fuzz != nil || text != "" && !a.item.Case.IsLiteral(path...) {
		return
	}
	if text != "" {
		text = a.position(path...) + ": " + text
	}
	a.fixture("absent", a.item.Suite.Path+" field "+field, true, text == "", text)
}

// checkMatchers warns of the expressions of fields at path that are constant, and of fields of
// which any value is accepted.
func (a *attempt) checkMatchers(fields map[string]spec.Matcher, path ...string) {
	for _, field := range manifest.Keys(fields) {
		at := append(slices.Clone(path), field)
		a.checkExpression(fields[field].CEL, at...)
		if reflect.ValueOf(fields[field]).IsZero() {
			a.warn(at, manifest.JoinPath(at)+" accepts any value: write {exists: true} for that, or {equals: {}} for an empty object")
		}
	}
}

// checkText warns of the expectation of a text that any text meets.
func (a *attempt) checkText(t *spec.Text, path ...string) {
	if t == nil || t.Equals != nil || t.Contains != nil && *t.Contains != "" {
		return
	}
	if t.Matches != nil {
		re, err := regexp.Compile(*t.Matches)
		if err != nil || !re.MatchString("") || !re.MatchString("\x00\n") {
			return
		}
	}
	a.warn(path, manifest.JoinPath(path)+" accepts any text: write {equals: ''} for an empty one")
}

// checkStep warns of the misspelled name of a step in an expectation that this step returns no
// result.
func (a *attempt) checkStep(result spec.Result, r session.Result, path ...string) {
	var steps []string
	for _, s := range r.Composition.Spec.Pipeline {
		steps = append(steps, s.Step)
	}
	if near := hint.Misspelled(result.Step, steps); result.Absent && near != "" {
		a.warn(path, fmt.Sprintf("%s: the pipeline has no step %q, so this step never has a result%s", manifest.JoinPath(path), result.Step, hint.DidYouMean(near)))
	}
}

func (a *attempt) checkExpression(expression *string, path ...string) {
	if expression != nil && check.Constant(*expression) {
		a.warn(path, fmt.Sprintf("CEL %s names no variable, so it is the same for any output", *expression))
	}
}

// isEmpty reports whether expect has no field with a value. An empty list of the only resources
// is an expectation.
func isEmpty(expect any) bool {
	fields, isObject := expect.(map[string]any)
	for key, v := range fields {
		if v != nil && (key == "only" || !isEmptyValue(v)) && (key != "golden" || v != "") {
			return false
		}
	}
	return isObject || expect == nil
}

// emptyFields returns the paths of the fields of expect that the case sets to an empty value, and of
// the fields in ready and golden, if all of these are empty.
func (a *attempt) emptyFields(expect any) (paths [][]string) {
	for _, key := range manifest.Keys(fieldpath.Map(expect)) {
		v := a.item.Case.Own("expect", key)
		below := fieldpath.Map(v)
		switch {
		case key == "only":
		case isEmptyValue(v), key == "golden" && v == "":
			paths = append(paths, []string{"expect", key})
		case len(below) > 0 && (key == "ready" || key == "golden"):
			names := manifest.Keys(below)
			if !slices.ContainsFunc(names, func(name string) bool { return below[name] != nil && below[name] != "" && !isEmptyValue(below[name]) }) {
				paths = append(paths, []string{"expect", key, names[0]})
			}
		}
	}
	return paths
}

func isEmptyValue(v any) bool {
	list, isList := v.([]any)
	obj, isMap := v.(map[string]any)
	return isList && len(list) == 0 || isMap && len(obj) == 0
}

// checkAbsent records the names and kinds of resources that a case composes, and the names and
// kinds that it expects to be absent. It warns about an absent name that no case of the suite
// composes if the name misspells the name of a resource that this case composes.
func (a *attempt) checkAbsent(r session.Result) {
	var kinds, names, ids []string
	for _, obj := range r.Composed {
		kind := fieldpath.Text(obj, "kind")
		kinds, ids = append(kinds, kind), append(ids, kind+"/"+fieldpath.Text(obj, "metadata", "name"))
		if name := reconciler.ResourceName(obj); name != "" {
			names = append(names, name)
		}
	}
	id := func(name string) string { return a.item.Suite.Path + " " + name }
	for _, name := range slices.Concat(kinds, names, ids) {
		a.fixture("absent", id(name), true, true, "")
	}
	absent := func(what, name string, similar []string, path ...string) {
		if strings.Contains(name, "/") {
			similar = ids
		}
		near := hint.Misspelled(name, similar)
		if near == "" {
			return
		}
		a.fixture("absent", id(name), true, false, fmt.Sprintf("%s: %s: no case composes %s%s%s", a.position(path...), strings.Join(path[:2], "."), what, name, hint.DidYouMean(near)))
	}
	for _, kind := range manifest.Keys(a.form.Expect.Count) {
		if a.form.Expect.Count[kind] == 0 {
			absent("a resource of kind ", kind, kinds, "expect", "count", kind)
		}
	}
	for _, name := range manifest.Keys(a.form.Expect.Resources) {
		// The name may be a kind, which differs from a name in case.
		isKind := slices.ContainsFunc(names, func(one string) bool { return strings.EqualFold(one, name) })
		if a.form.Expect.Resources[name].State == "absent" && !isKind {
			absent("a resource ", name, names, "expect", "resources", name)
		}
	}
	for i, one := range a.form.Expect.Assertions {
		if one.Type == "NotExists" || one.Type == "Count" && one.Value != nil && fmt.Sprint(one.Value.Any) == "0" {
			absent("a resource ", strings.TrimSuffix(one.Resource, "/*"), kinds, "expect", "assertions", fmt.Sprintf("[%d]", i))
		}
	}
}
