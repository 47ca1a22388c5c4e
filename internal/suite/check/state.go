package check

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/report"
	"github.com/xfn-dev/xfn/internal/suite/spec"
)

// only adds a failure for each composed resource that is not in names. It does
// nothing if names is nil.
func (r *run) only(names []string) {
	if names == nil {
		return
	}
	allowed := map[string]bool{}
	for i, name := range names {
		obj, err := r.subject.find(name)
		if err != nil {
			r.failErr([]string{"expect", "only", fmt.Sprintf("[%d]", i)}, err)
			continue
		}
		allowed[kindAndName(obj)+r.subject.name(obj)] = true
	}
	for _, obj := range r.subject.Composed {
		if !allowed[kindAndName(obj)+r.subject.name(obj)] {
			r.failResource([]string{"expect", "only"}, r.subject.name(obj), obj, fmt.Sprintf("this resource (%s) is unexpected", kindAndName(obj)))
		}
	}
}

func (r *run) count(want map[string]int) {
	kinds := map[string]int{"total": len(r.subject.Composed)}
	for _, obj := range r.subject.Composed {
		kinds[fieldpath.Text(obj, "kind")]++
		kinds[fieldpath.Text(obj, "apiVersion")+"/"+fieldpath.Text(obj, "kind")]++
	}
	for _, key := range manifest.Keys(want) {
		if kinds[key] == want[key] {
			continue
		}
		what := "of kind " + key
		if key == "total" {
			what = "in total"
		}
		r.failf([]string{"expect", "count", key}, "want %s %s, got %d%s", report.Count(want[key], "resource"), what, kinds[key], r.present())
	}
}

func (r *run) present() string {
	if len(r.subject.Composed) == 0 {
		return ": nothing is composed"
	}
	var all []string
	for _, obj := range r.subject.Composed {
		all = append(all, fmt.Sprintf("%s (%s)", r.subject.name(obj), fieldpath.Text(obj, "kind")))
	}
	return ": there are " + list(all)
}

func (r *run) results(want []spec.Result) {
	for i, w := range want {
		path := []string{"expect", "results", fmt.Sprintf("[%d]", i)}
		var found []Reported
		for _, got := range r.subject.Results {
			ok, err := matches(w, got)
			if err != nil {
				r.failErr(path, err)
				return
			}
			if ok {
				found = append(found, got)
			}
		}
		switch {
		case w.Absent && len(found) > 0:
			r.failf(path, "want no result%s, got %s", describeWanted(w), describeResult(found[0]))
		case !w.Absent && len(found) == 0:
			r.failf(path, "there is no result%s%s", describeWanted(w), r.reported())
		}
	}
}

func matches(w spec.Result, got Reported) (bool, error) {
	if w.Severity != "" && w.Severity != got.Severity || w.Step != "" && w.Step != got.Step {
		return false, nil
	}
	ok, err := Match(w.Message, got.Message)
	if !ok || err != nil {
		return false, err
	}
	return Match(w.Reason, got.Reason)
}

func describeWanted(w spec.Result) string {
	var words []string
	add := func(format, v string) {
		if v != "" {
			words = append(words, fmt.Sprintf(format, v))
		}
	}
	add("of severity %s", w.Severity)
	add("of step %s", w.Step)
	add("with a message that %s", Words(w.Message))
	add("with a reason that %s", Words(w.Reason))
	if len(words) == 0 {
		return ""
	}
	return " " + strings.Join(words, ", ")
}

func describeResult(r Reported) string {
	return fmt.Sprintf("%s of step %s: %s", r.Severity, r.Step, show(r.Message))
}

func (r *run) reported() string {
	const most = 5
	if len(r.subject.Results) == 0 {
		return ": functions returned no results"
	}
	var all []string
	for _, got := range r.subject.Results {
		all = append(all, describeResult(got))
	}
	if len(all) > most {
		all = append(all[:most], fmt.Sprintf("and %d more", len(all)-most))
	}
	return "; there are: " + strings.Join(all, "; ")
}

// Match reports whether got meets want. Any text meets a nil want.
func Match(want *spec.Text, got string) (bool, error) {
	if want == nil {
		return true, nil
	}
	if want.Matches != nil {
		re, err := regexp.Compile(*want.Matches)
		if err != nil {
			return false, fmt.Errorf("invalid regular expression %q: %w", *want.Matches, err)
		}
		if !re.MatchString(got) {
			return false, nil
		}
	}
	return (want.Contains == nil || strings.Contains(got, *want.Contains)) && (want.Equals == nil || *want.Equals == got), nil
}

// Words describes an expectation in a message, such as "contains ...".
func Words(want *spec.Text) string {
	if want == nil {
		return ""
	}
	var words []string
	for i, text := range []*string{want.Contains, want.Equals, want.Matches} {
		if text != nil {
			words = append(words, []string{"contains ", "equals ", "matches "}[i]+show(*text))
		}
	}
	return cmp.Or(strings.Join(words, " and "), "has any text")
}

// conditionsOf returns the conditions of the composite resource, by type.
func (s *Subject) conditionsOf() map[string]map[string]any {
	byType := map[string]map[string]any{}
	for _, c := range fieldpath.List(s.XR, "status", "conditions") {
		if c, ok := c.(map[string]any); ok {
			byType[fieldpath.Text(c, "type")] = c
		}
	}
	return byType
}

func (r *run) conditions(want map[string]spec.Condition) {
	got := r.subject.conditionsOf()
	for _, name := range manifest.Keys(want) {
		path, w := []string{"expect", "conditions", name}, want[name]
		c, ok := got[name]
		if !ok {
			r.failf(path, "condition %s does not exist%s", name, suggestNames("the "+r.subject.what(), name, manifest.Keys(got)))
			continue
		}
		if w.Status != "" && string(w.Status) != fieldpath.Text(c, "status") {
			r.failf(path, "condition %s: want status %s, got %s%s", name, w.Status, fieldpath.Text(c, "status"), conditionReason(c))
		}
		r.conditionText(path, name, "reason", w.Reason, c)
		r.conditionText(path, name, "message", w.Message, c)
	}
}

func (r *run) conditionText(path []string, name, key string, want *spec.Text, c map[string]any) {
	switch ok, err := Match(want, fieldpath.Text(c, key)); {
	case err != nil:
		r.failf(path, "condition %s: %v", name, err)
	case !ok:
		r.failf(path, "condition %s: want a %s that %s, got %s", name, key, Words(want), show(fieldpath.Text(c, key)))
	}
}

func conditionReason(c map[string]any) string {
	why := fieldpath.Text(c, "reason")
	if m := fieldpath.Text(c, "message"); m != "" {
		why += ": " + m
	}
	if why == "" {
		return ""
	}
	return " (" + why + ")"
}

func (r *run) ready(want spec.Ready) {
	c := r.subject.conditionsOf()[reconciler.TypeReady]
	isReady := fieldpath.Text(c, "status") == "True"
	path := []string{"expect", "ready"}
	readyOrNot := "ready"
	if !isReady {
		readyOrNot = "not ready"
	}
	if want.XR != nil && *want.XR != isReady {
		r.failf(path, "the composite resource is %s%s%s", readyOrNot, conditionReason(c), r.unready())
	}
	since := r.subject.ReadySince
	switch {
	case want.After == nil || want.XR != nil && !*want.XR:
	case !isReady:
		r.failf(path, "the composite resource is not ready after %s%s%s", report.Count(r.subject.Passes, "pass"), conditionReason(c), r.unready())
	case since > *want.After:
		r.failf(path, "the composite resource is ready after %s, want %d", report.Count(since, "pass"), *want.After)
	}
	r.readiness("resources", want.Resources, true)
	r.readiness("unready", want.Unready, false)
}

// unready lists the resources that functions do not report as ready.
func (r *run) unready() string {
	names := slices.DeleteFunc(slices.Clone(r.subject.names), func(name string) bool { return r.subject.Ready[name] })
	if len(names) == 0 {
		return ""
	}
	return "; resources that are not ready: " + list(names)
}

func (r *run) readiness(key string, names []string, want bool) {
	verb := "report"
	if want {
		verb = "do not report"
	}
	for i, name := range names {
		path := []string{"expect", "ready", key, fmt.Sprintf("[%d]", i)}
		obj, err := r.subject.find(name)
		switch {
		case err != nil:
			r.failErr(path, err)
		case r.subject.Ready[r.subject.name(obj)] != want:
			r.fail(Failure{Path: path, Resource: r.subject.name(obj), Text: fmt.Sprintf("%s: functions %s this resource as ready", name, verb)})
		}
	}
}

func (r *run) passes(want *int) {
	if want == nil {
		return
	}
	switch s := r.subject; {
	case !s.Settled:
		r.failf([]string{"expect", "passes"}, "after %s, resources still change", report.Count(s.Passes, "pass"))
	case s.Passes > *want:
		r.failf([]string{"expect", "passes"}, "want no changes after %s, but %d were needed", report.Count(*want, "pass"), s.Passes)
	}
}

// valid validates the output by the schemas of the case. If want expects an
// invalid object, errors in the Composition and in definitions do not count.
func (r *run) valid(want spec.Valid) {
	if want.All == nil {
		return
	}
	path := []string{"expect", "valid"}
	objects := append([]map[string]any{r.subject.XR}, r.subject.Composed...)
	faults, err := r.Validate(r.ctx, r.form.Schemas, objects, want.Ignore)
	switch {
	case err != nil:
		r.failErr(path, err)
	case !*want.All && slices.ContainsFunc(faults, func(f Fault) bool { return f.Object != OfComposition && !f.OfDefinition }):
		return
	case !*want.All:
		faults = slices.DeleteFunc(faults, func(f Fault) bool { return !f.OfDefinition })
		if len(faults) == 0 {
			r.failf(path, "want an invalid object, but all are valid")
		}
	}
	for _, fault := range faults {
		if fault.Object == OfComposition {
			r.fail(Failure{Path: path, Text: fault.Text})
			continue
		}
		r.invalid(path, objects[fault.Object], fault)
	}
}

func (r *run) invalid(path []string, obj map[string]any, fault Fault) {
	what, name := r.subject.what(), ""
	if fault.Object > 0 {
		name = r.subject.name(obj)
		what = name
	}
	step := r.subject.step(name, fault.Field)
	if fault.Field == "" {
		step = ""
	}
	r.fail(Failure{Path: path, Resource: name, Field: fault.Field, Step: step, Text: what + ": " + fault.Text})
}
