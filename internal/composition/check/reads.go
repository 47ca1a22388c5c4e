package check

import (
	"context"
	"fmt"
	"slices"
	"strings"

	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/patch/spec"
	"github.com/xfn-dev/xfn/internal/schema"
)

// Fields returns the fields of composite resources that patches read or write, and that the
// definition of the composite resources does not have.
func Fields(ctx context.Context, e composition.Entry, inputs composition.Inputs, def *schema.Definition) []composition.Problem {
	c := patchChecker(ctx, e, inputs, func(gk kschema.GroupKind) *schema.Definition {
		if gk == def.GroupKind {
			return def
		}
		return nil
	})
	found := slices.DeleteFunc(c.problems, func(p composition.Problem) bool { return p.Kind != NoSuchField })
	return located(e, found)
}

// Reads are the fields of the composite resource, of the environment and of observed resources that the
// patches of a Composition read, by the fields of the patches.
type Reads struct {
	composite, environment reads
	// observed has the fields of each resource by its name in the pipeline.
	observed map[string]reads
	// written has the inputs with a patch to the environment.
	written map[string]bool
}

type reads map[string]fieldpath.Path

// ReadsOf returns the fields that the patches of a Composition read.
func ReadsOf(ctx context.Context, e composition.Entry, inputs composition.Inputs) Reads {
	return patchChecker(ctx, e, inputs, noSchemas).reads
}

// Misread returns the fields of the composite resource that patches of e read and xr lacks, if xr
// has a field with a similar name that no patch reads. Only a schema could tell whether the field
// exists.
func (r Reads) Misread(e composition.Entry, xr map[string]any) []composition.Problem {
	// Labels are free, and Crossplane and functions write the status.
	return located(e, r.composite.misread("composite resource", map[string]any{"spec": xr["spec"]}, hint.Misspelled))
}

// MisreadEnvironment is like Misread, for the fields of the environment. The environment usually has all
// fields that patches read, so the plural of one is a misspelling, too.
func (r Reads) MisreadEnvironment(e composition.Entry, environment map[string]any) []composition.Problem {
	return located(e, r.environment.misread("environment", environment, plural))
}

// MisreadObserved is like Misread, for the status of the observed resource with a name in the pipeline.
func (r Reads) MisreadObserved(e composition.Entry, name string, observed map[string]any) []composition.Problem {
	return located(e, r.observed[name].misread(fmt.Sprintf("observed resource %q", name), map[string]any{"status": observed["status"]}, hint.Misspelled))
}

// plural is like hint.Misspelled, but also treats a plural as a misspelling of its singular. It does
// not treat a singular as a misspelling of its plural, because both may exist: a list of all values,
// and an optional choice.
func plural(name string, names []string) string {
	if one, ok := strings.CutSuffix(name, "s"); ok && slices.Contains(names, one) {
		return one
	}
	return hint.Misspelled(name, names)
}

// misread returns the fields that object lacks, if it has a field with the similar name that
// similar returns. what describes the object.
func (r reads) misread(what string, object map[string]any, similar func(string, []string) string) (found []composition.Problem) {
	for _, field := range manifest.Keys(r) {
		path := r[field]
		if i, near := r.misspelled(path, object, similar); near != "" {
			meant := append(path[:i:i], fieldpath.Key(near))
			found = append(found, composition.Problem{Kind: NoSuchField, Field: field, Text: fmt.Sprintf("the %s has no %s%s", what, path[:i+1], hint.DidYouMean(meant.String()))})
		}
	}
	return found
}

func noSchemas(kschema.GroupKind) *schema.Definition { return nil }

func patchChecker(ctx context.Context, e composition.Entry, inputs composition.Inputs, schemas Schemas) *checker {
	c := newChecker(e, Options{Schemas: schemas, Inputs: inputs})
	for _, in := range c.inputs(ctx, e) {
		if in.other == "" {
			c.patches(in)
		}
	}
	return c
}

// misspelled returns the index in path of the first field that object lacks, and the field in
// its place with a similar name that no patch reads, or "".
func (r reads) misspelled(path fieldpath.Path, object map[string]any, similar func(string, []string) string) (int, string) {
	var value any = object
	for i, segment := range path {
		obj, ok := value.(map[string]any)
		if !ok || segment.IsIndex {
			return 0, ""
		}
		if value, ok = obj[segment.Key]; ok {
			continue
		}
		unread := slices.DeleteFunc(manifest.Keys(obj), func(key string) bool {
			at := append(path[:i:i], fieldpath.Key(key))
			for _, read := range r {
				if len(read) > i && slices.Equal(read[:i+1], at) {
					return true // A patch reads the field, or a field below it.
				}
			}
			return false
		})
		return i, similar(segment.Key, unread)
	}
	return 0, ""
}

// IgnoredValue is a value that a function ignores silently: a type together with what it selects.
const IgnoredValue composition.ProblemKind = "IgnoredValue"

// ignored returns the values of an input that the function ignores.
func ignored(at string, obj map[string]any, known composition.Input) (found []composition.Problem) {
	for _, pattern := range manifest.Keys(known.Values) {
		eachValue(obj, strings.Split(pattern, "."), at, func(field string, value any) {
			text, isText := value.(string)
			if allowed := known.Values[pattern]; isText && text != "" && !slices.Contains(allowed, text) {
				name := pattern[strings.LastIndex(pattern, ".")+1:]
				effect := "ignores this value without an error"
				switch name {
				case "type":
					effect = "ignores this entry without an error"
				case "status":
					effect = "reports no error, but no condition has this status"
				}
				problem := fmt.Sprintf("unknown %s %q, expected %s: %s %s%s", name, text, strings.Join(allowed, " or "), known.Function, effect, hint.DidYouMean(hint.Nearest(text, allowed)))
				found = append(found, composition.Problem{Kind: IgnoredValue, Field: field, Text: problem, Warning: true})
			}
		})
	}
	return found
}

// values checks the fields of an input that have a path in the composite resource or a regular
// expression.
func (c *checker) values(at string, obj map[string]any, known composition.Input) {
	for _, pattern := range known.Reads {
		i := strings.LastIndex(pattern, ".")
		eachValue(obj, strings.Split(pattern[:i], "."), at, func(field string, value any) {
			entry, _ := value.(map[string]any)
			source, typed := entry["type"]
			text, ok := entry[pattern[i+1:]].(string)
			switch {
			case !ok || c.Mode == NoSchemas:
			case !typed || source == "FromCompositeFieldPath":
				c.lookUp(field+pattern[i:], text, c.xr())
			case source == "FromEnvironmentFieldPath":
				c.lookUp(field+pattern[i:], text, side{what: environment})
			}
		})
	}
	for _, pattern := range known.Patterns {
		eachValue(obj, strings.Split(pattern, "."), at, func(field string, value any) {
			if text, ok := value.(string); ok {
				if _, err := spec.CompilePattern(text); err != nil {
					c.add(InvalidInput, field, "%s cannot compile the regular expression: %v", known.Function, err)
				}
			}
		})
	}
}

// EachValue calls do for each value of an input at a path such as filters[].name, in which [] stands
// for all elements of a list.
func EachValue(input map[string]any, path string, do func(field string, value any)) {
	eachValue(input, strings.Split(path, "."), "", func(field string, value any) { do(strings.TrimPrefix(field, "."), value) })
}

// eachValue calls do for each value in v at a path. A name of the path that ends in [] is a list.
func eachValue(v any, path []string, at string, do func(field string, value any)) {
	if len(path) == 0 {
		do(at, v)
		return
	}
	obj, _ := v.(map[string]any)
	name, isList := strings.CutSuffix(path[0], "[]")
	at += "." + name
	if !isList {
		eachValue(obj[name], path[1:], at, do)
		return
	}
	list, _ := obj[name].([]any)
	for i, element := range list {
		eachValue(element, path[1:], fmt.Sprintf("%s[%d]", at, i), do)
	}
}
