package xpkg

import (
	"context"
	"fmt"
	"strings"

	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/xfn-dev/xfn/internal/schema"
)

// names finds objects whose names the API server would refuse, and such a name of
// the package.
func names(_ context.Context, c content, f *finder) {
	if c.meta.Kind != "" {
		f.name("metadata-name", c.meta, "")
	}
	for _, d := range c.objects {
		want := ""
		spec := object(d.data, "spec")
		if plural := text(object(spec, "names"), "plural"); plural != "" && strings.HasSuffix(d.Kind, "Definition") {
			want = plural + "." + text(spec, "group")
		}
		f.name("object-name", d, want)
	}
}

// name checks the name of an object, which must be want unless want is empty.
func (f *finder) name(rule string, d decoded, want string) {
	const field = "metadata.name"
	f.in(d)
	switch {
	case d.Name == "":
		f.add(rule, field, "", "the %s has no %s", d.Kind, field)
	case want != "" && d.Name != want:
		f.add(rule, field, "", "the name of the %s is %q, and must be %q: its plural name and its group", d.Kind, d.Name, want)
	case len(validation.IsDNS1123Subdomain(d.Name)) > 0:
		f.add(rule, field, "use small letters and digits, and dashes and dots between them", "the name of the %s is %q, which no object can have", d.Kind, d.Name)
	}
}

// duplicates finds objects of the same group, kind and name.
func duplicates(_ context.Context, c content, f *finder) {
	type key struct {
		kschema.GroupKind
		name string
	}
	seen := map[key]Object{}
	for _, d := range c.objects {
		k := key{kschema.FromAPIVersionAndKind(d.APIVersion, d.Kind).GroupKind(), d.Name}
		first, ok := seen[k]
		if !ok {
			seen[k] = d.Object
			continue
		}
		f.in(d)
		f.add("duplicate-object", "metadata.name", "remove one of the two", "the %s %q is at %s, too", d.Kind, d.Name, first.Position())
	}
}

// removedAPIs finds objects of a version that Kubernetes has removed.
func removedAPIs(_ context.Context, c content, f *finder) {
	for _, d := range c.objects {
		if d.APIVersion == "apiextensions.k8s.io/v1beta1" {
			f.in(d)
			f.add("removed-api", "apiVersion", "convert it to apiextensions.k8s.io/v1", "kind %s of %s was removed in Kubernetes 1.22, so it cannot be installed", d.Kind, d.APIVersion)
		}
	}
}

// schemas finds definitions whose schemas the API server would refuse.
func schemas(ctx context.Context, c content, f *finder) {
	for _, d := range c.objects {
		if ctx.Err() != nil {
			return
		}
		f.in(d)
		defs, err := schema.Define(d.data)
		if err != nil {
			f.add("schema", "spec.versions", "", "the %s %q: %v", d.Kind, d.Name, err)
		}
		if len(defs) > 0 {
			// Claims have the schema of the XRs.
			for _, fault := range defs[0].Check(ctx) {
				f.add("schema", fault.Field, "", "%s: %s", fault.Field, fault.Text)
			}
		}
	}
}

// examples finds examples, and inputs of pipeline steps in them, that do not match
// the definitions of the package.
func examples(ctx context.Context, c content, f *finder) {
	if len(c.examples) == 0 {
		return
	}
	e := exampleChecker{f, schema.Definitions{}, map[string]bool{}}
	// The kinds of a group may be defined by a dependency, too.
	alone := len(list(object(c.meta.data, "spec"), "dependsOn")) == 0
	for _, d := range c.objects {
		defs, err := schema.Define(d.data)
		if err != nil {
			continue // The rule about schemas reports it.
		}
		for _, def := range defs {
			e.definitions[def.GroupKind] = def
			e.complete[def.GroupKind.Group] = alone
		}
	}
	for _, d := range c.examples {
		if ctx.Err() != nil {
			return
		}
		f.in(d)
		e.check(ctx, "", d.data, true)
		for _, in := range inputs(d, c.meta.Name) {
			e.check(ctx, in.field, in.data, false)
		}
	}
}

// An exampleChecker checks objects against the definitions of a package.
type exampleChecker struct {
	*finder
	definitions schema.Definitions
	// complete are the groups whose kinds are all defined in the package.
	complete map[string]bool
}

// check checks the object at a field of the document. If the object is to be
// created, the API server must serve its version.
func (e exampleChecker) check(ctx context.Context, at string, data map[string]any, created bool) {
	const rule = "example"
	apiVersion, kind := text(data, "apiVersion"), text(data, "kind")
	gvk := kschema.FromAPIVersionAndKind(apiVersion, kind)
	def := e.definitions[gvk.GroupKind()]
	below := func(field string) string { return strings.Trim(at+"."+field, ".") }
	if def == nil {
		if e.complete[gvk.Group] {
			e.add(rule, below("kind"), "", "no object of the package defines kind %s of group %s", kind, gvk.Group)
		}
		return
	}
	what := fmt.Sprintf("kind %s of %s", kind, apiVersion)
	err := def.Serves(gvk.Version)
	if err != nil && (created || !strings.Contains(err.Error(), schema.ErrNotServed.Error())) {
		e.add(rule, below("apiVersion"), "", "%s: %v", what, err)
		return
	}
	faults, err := def.Validate(ctx, data, schema.Options{})
	if err != nil {
		return // The rule about schemas reports it.
	}
	for _, fault := range faults {
		if fault.Unchecked || isPlaceholder(fault.Value) || created && inStatus(fault.Field) {
			continue
		}
		if fault.Unknown {
			e.add(rule, below(fault.Field), "correct the field's name or remove it", "%s has no field %s, so it would be lost", what, fault.Field)
			continue
		}
		e.add(rule, below(fault.Field), "", "%s: %s %s", what, fault.Field, fault.Text)
	}
}

// inStatus reports whether a field is in the status. The API server drops the status
// of a new object before validation (Kubernetes' documentation, "Status
// subresource"). Examples have one to show what to expect, or for a render.
func inStatus(field string) bool {
	return field == "status" || strings.HasPrefix(field, "status.") || strings.HasPrefix(field, "status[")
}

// isPlaceholder reports whether v has a variable, such as "${data.account}".
func isPlaceholder(v any) bool {
	s, ok := v.(string)
	return ok && strings.Contains(s, "${")
}

// An input is the input of a pipeline step.
type input struct {
	field string
	data  map[string]any
}

// inputs returns the inputs in a Composition or Operation for the function of a
// package: those of steps that call it by the package's name, or all if no step
// does. Functions that were made from one template may share the kind of inputs.
func inputs(e decoded, pkg string) []input {
	var all, own []input
	for i, entry := range list(object(e.data, "spec"), "pipeline") {
		step, _ := entry.(map[string]any)
		data, ok := step["input"].(map[string]any)
		if !ok {
			continue
		}
		in := input{fmt.Sprintf("spec.pipeline[%d].input", i), data}
		all = append(all, in)
		if calls := text(object(step, "functionRef"), "name"); calls == pkg || strings.HasSuffix(calls, "-"+pkg) {
			own = append(own, in)
		}
	}
	if own == nil {
		return all
	}
	return own
}
