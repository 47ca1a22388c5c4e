package xpkg

import (
	"context"
	"fmt"
	"strings"

	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/xfn-dev/xfn/internal/schema"
)

func (o Object) groupVersionKind() kschema.GroupVersionKind {
	return kschema.FromAPIVersionAndKind(o.APIVersion, o.Kind)
}

// names finds objects whose names the API server would refuse, and a package
// that has no such name.
func names(_ context.Context, c content) Problems {
	var found Problems
	if c.meta.Kind != "" {
		found = c.meta.badName("metadata-name", "")
	}
	for _, d := range c.objects {
		found = append(found, d.badName("object-name", d.definedName())...)
	}
	return found
}

// definedName is the name that an object which defines a kind must have, or ""
// if it defines none.
func (d decoded) definedName() string {
	spec := object(d.data, "spec")
	if plural := text(object(spec, "names"), "plural"); plural != "" && strings.HasSuffix(d.Kind, "Definition") {
		return plural + "." + text(spec, "group")
	}
	return ""
}

// badName returns what is wrong with the name of an object: which has to be want,
// unless that is empty.
func (d decoded) badName(rule, want string) Problems {
	const field = "metadata.name"
	f := finding{doc: d.doc}
	switch {
	case d.Name == "":
		f.add(rule, field, "", "the %s has no %s", d.Kind, field)
	case want != "" && d.Name != want:
		f.add(rule, field, "", "the name of the %s is %q, and must be %q: its plural name and its group", d.Kind, d.Name, want)
	case len(validation.IsDNS1123Subdomain(d.Name)) > 0:
		f.add(rule, field, "use small letters and digits, and dashes and dots between them", "the name of the %s is %q, which no object can have", d.Kind, d.Name)
	}
	return f.problems
}

// duplicates finds objects of one group, kind and name, of which one would
// replace the other.
func duplicates(_ context.Context, c content) Problems {
	type key struct {
		kschema.GroupKind
		name string
	}
	seen := map[key]Object{}
	var found Problems
	for _, d := range c.objects {
		k := key{d.groupVersionKind().GroupKind(), d.Name}
		first, ok := seen[k]
		if !ok {
			seen[k] = d.Object
			continue
		}
		f := finding{doc: d.doc}
		f.add("duplicate-object", "metadata.name", "remove one of the two", "the %s %q is at %s, too", d.Kind, d.Name, first.Position())
		found = append(found, f.problems...)
	}
	return found
}

// crdBeta is a version of CRDs that Kubernetes removed in 1.22.
const crdBeta = "apiextensions.k8s.io/v1beta1"

// removedAPIs finds objects of a version that no API server has any more.
func removedAPIs(_ context.Context, c content) Problems {
	var found Problems
	for _, d := range c.objects {
		if d.APIVersion == crdBeta {
			f := finding{doc: d.doc}
			f.add("removed-api", "apiVersion", "convert it to apiextensions.k8s.io/v1", "kind %s of %s was removed in Kubernetes 1.22, so it cannot be installed", d.Kind, d.APIVersion)
			found = append(found, f.problems...)
		}
	}
	return found
}

// schemas finds definitions whose schemas the API server would refuse.
func schemas(ctx context.Context, c content) Problems {
	var found Problems
	for _, d := range c.objects {
		if ctx.Err() != nil {
			break
		}
		f := finding{doc: d.doc}
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
		found = append(found, f.problems...)
	}
	return found
}

// definitions returns what the objects of a package define. What cannot be read
// is a problem of the rule about schemas.
func (c content) definitions() schema.Definitions {
	all := schema.Definitions{}
	for _, d := range c.objects {
		defs, err := schema.Define(d.data)
		if err != nil {
			continue
		}
		for _, def := range defs {
			all[def.GroupKind] = def
		}
	}
	return all
}

// examples finds examples that do not fit what the package defines, and inputs
// of pipeline steps in them. Objects of other groups are not looked at.
func examples(ctx context.Context, c content) Problems {
	if len(c.examples) == 0 {
		return nil
	}
	j := judge{definitions: c.definitions(), groups: map[string]bool{}}
	// A group may be that of a dependency, too.
	if len(list(object(c.meta.data, "spec"), "dependsOn")) == 0 {
		for gk := range j.definitions {
			j.groups[gk.Group] = true
		}
	}
	var found Problems
	for _, e := range c.examples {
		if ctx.Err() != nil {
			break
		}
		f := finding{doc: e.doc}
		j.example(ctx, &f, "", e.data, true)
		for _, in := range inputs(e, c.meta.Name) {
			j.example(ctx, &f, in.field, in.data, false)
		}
		found = append(found, f.problems...)
	}
	return found
}

// A judge knows what a package defines.
type judge struct {
	definitions schema.Definitions
	// groups are those of which every kind is defined.
	groups map[string]bool
}

// example judges an object that stands at a field of a document. An object that
// is to be created must be of a version that the API server serves.
func (j judge) example(ctx context.Context, f *finding, at string, data map[string]any, created bool) {
	const rule = "example"
	apiVersion, kind := text(data, "apiVersion"), text(data, "kind")
	gvk := kschema.FromAPIVersionAndKind(apiVersion, kind)
	def := j.definitions[gvk.GroupKind()]
	below := func(field string) string { return strings.Trim(at+"."+field, ".") }
	if def == nil {
		if j.groups[gvk.Group] {
			f.add(rule, below("kind"), "", "no object of the package defines kind %s of group %s", kind, gvk.Group)
		}
		return
	}
	what := fmt.Sprintf("kind %s of %s", kind, apiVersion)
	err := def.Serves(gvk.Version)
	if err != nil && (created || !strings.Contains(err.Error(), schema.ErrNotServed.Error())) {
		f.add(rule, below("apiVersion"), "", "%s: %v", what, err)
		return
	}
	faults, err := def.Validate(ctx, data, schema.Options{})
	if err != nil {
		return // Its schema is a problem of the rule about schemas.
	}
	for _, fault := range faults {
		if fault.Unchecked || isPlaceholder(fault.Value) || created && inStatus(fault.Field) {
			continue
		}
		if fault.Unknown {
			f.add(rule, below(fault.Field), "correct the field's name or remove it", "%s has no field %s, so it would be lost", what, fault.Field)
			continue
		}
		f.add(rule, below(fault.Field), "", "%s: %s %s", what, fault.Field, fault.Text)
	}
}

// inStatus reports whether a field is of the status, which the API server drops
// when an object is created, before it judges it (Kubernetes' documentation,
// "Status subresource"). Examples have one to show what to expect, or to render.
func inStatus(field string) bool {
	return field == "status" || strings.HasPrefix(field, "status.") || strings.HasPrefix(field, "status[")
}

// isPlaceholder reports whether v is filled in before an example is used, as in
// "${data.account}".
func isPlaceholder(v any) bool {
	s, ok := v.(string)
	return ok && strings.Contains(s, "${")
}

// An input is that of a pipeline step.
type input struct {
	field string
	data  map[string]any
}

// inputs returns the inputs in a Composition, or Operation, that are for the
// function of a package: those of steps that call it by the package's name, or
// all if no step does. Functions may share a group and kind of their inputs, as
// those do that were made from one template.
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
	if len(own) > 0 {
		return own
	}
	return all
}
