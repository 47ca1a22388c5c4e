package xpkg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	xpv2 "github.com/crossplane/crossplane/apis/v2/apiextensions/v2"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/schema"
	"github.com/xfn-dev/xfn/internal/schema/crd"
)

// crossplaneVersion finds a spec.crossplane without a valid version constraint.
func crossplaneVersion(_ context.Context, c content, f *finder) {
	constraints, ok := fieldpath.Map(c.meta.data, "spec")["crossplane"].(map[string]any)
	version := fieldpath.Text(constraints, "version")
	const key = "spec.crossplane.version"
	allowed, err := semver.NewConstraint(version)
	exact, isExact := strings.CutPrefix(strings.TrimPrefix(version, "="), "v")
	if v, invalid := semver.StrictNewVersion(exact); err == nil && invalid == nil && isExact {
		f.in(c.meta)
		f.add("crossplane-version", key, fmt.Sprintf("did you mean >=v%s?", v), "%s is %q, so only this release of Crossplane installs the package", key, version).Warning = true
		return
	}
	if !ok || err == nil && satisfiable(allowed, version) {
		return
	}
	what := fmt.Sprintf("%s is %q, which is not a version constraint", key, version)
	switch {
	case version == "":
		what = key + " is missing"
	case err == nil:
		what = fmt.Sprintf("%s is %q, which no release satisfies", key, version)
	}
	f.in(c.meta)
	f.add("crossplane-version", key, `write a constraint such as ">=v2.0.0-0", or leave spec.crossplane out`, "%s", what).Refused = true
}

// removedFields finds fields that Crossplane v2 removed. They are warnings if the package may
// be for Crossplane v1.
func removedFields(_ context.Context, c content, d decoded, f *finder) {
	spec := fieldpath.Map(d.data, "spec")
	for _, key := range slices.Sorted(maps.Keys(spec)) {
		path := "spec." + key
		if empty(spec[key]) || !schema.LegacyField(d.Kind, path) {
			continue
		}
		f.add("unknown-field", path, withoutField(spec, key), "Crossplane v2 removed the field %s of kind %s, so it would be lost", path, d.Kind).Warning = !c.requiresV2
	}
}

// withoutField returns the hint for a field of a Composition's spec that Crossplane v2 removed.
func withoutField(spec map[string]any, key string) string {
	isPipeline := spec["mode"] == "Pipeline" || empty(spec["mode"]) && !empty(spec["pipeline"])
	switch {
	case !isPipeline:
		return "convert the Composition with `convert pipeline-composition`"
	case key == "environment":
		return "convert the Composition with `convert composition-environment`"
	default:
		return "remove the field, because a Composition of mode Pipeline does not use it"
	}
}

// requiresV2 reports whether the version constraint of a package excludes Crossplane v1.
func requiresV2(meta map[string]any) bool {
	version := fieldpath.Text(meta, "spec", "crossplane", "version")
	constraint, err := semver.NewConstraint(version)
	if err != nil {
		return false
	}
	// The last minor version of Crossplane v1 is 20.
	for minor := range uint64(21) {
		if admits(constraint, 1, minor) {
			return false
		}
	}
	return true
}

// admits reports whether a constraint allows a release of a minor version.
func admits(c *semver.Constraints, major, minor uint64) bool {
	for patch := range uint64(100) {
		if c.Check(semver.New(major, minor, patch, "", "")) {
			return true
		}
	}
	return false
}

// metadataName finds a package name that the API server would refuse.
func metadataName(_ context.Context, c content, f *finder) {
	if c.meta.Kind != "" {
		f.in(c.meta)
		f.name(RuleMetadataName, c.meta, "")
	}
}

// objectName finds a name that the API server would refuse.
func objectName(_ context.Context, _ content, d decoded, f *finder) {
	want := ""
	spec := fieldpath.Map(d.data, "spec")
	plural, group := fieldpath.Text(spec, "names", "plural"), fieldpath.Text(spec, "group")
	if plural != "" && group != "" && strings.HasSuffix(d.Kind, "Definition") {
		want = plural + "." + group
	}
	f.name("object-name", d, want)
}

// name checks the name of an object, which must be want unless want is empty.
func (f *finder) name(rule string, d decoded, want string) {
	const field = "metadata.name"
	switch {
	case d.Name == "":
		f.add(rule, field, "", "the %s has no %s", d.Kind, field)
	case want != "" && d.Name != want:
		f.add(rule, field, "", "the name of the %s is %q, but must be %q: the plural name, a dot and the group", d.Kind, d.Name, want)
	case len(validation.IsDNS1123Subdomain(d.Name)) > 0:
		f.add(rule, field, "use lower-case letters and digits, with '-' and '.' only between them", "the name of the %s is %q, which Kubernetes does not allow", d.Kind, d.Name)
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
		f.add("duplicate-object", "metadata.name", "remove one of the two", "the %s %q is also at %s", d.Kind, d.Name, first.Position())
	}
}

func removedAPI(_ context.Context, _ content, d decoded, f *finder) {
	if d.APIVersion == "apiextensions.k8s.io/v1beta1" {
		f.add("removed-api", "apiVersion", "convert it to apiextensions.k8s.io/v1", "kind %s of %s was removed in Kubernetes 1.22, so it cannot be installed", d.Kind, d.APIVersion)
	}
}

// schemas finds a definition that the API server would refuse for its names, versions or schemas.
func schemas(ctx context.Context, _ content, d decoded, f *finder) {
	defs, err := schema.Define(d.data)
	if err != nil {
		at := "spec.versions"
		if wrong := new(crd.FieldError); errors.As(err, &wrong) {
			at = wrong.Field
		}
		f.add("schema", at, "", "the %s %q: %v", d.Kind, d.Name, err)
	}
	if len(defs) == 0 {
		return
	}
	// The claims of an XRD differ from its XRs in their names only.
	found := defs[0].Check(ctx)
	for _, claims := range defs[1:] {
		found = append(found, claims.CheckNames()...)
	}
	for _, fault := range found {
		next := ""
		if d.Kind == "CompositeResourceDefinition" && fault.Field == "spec.versions" {
			next = "set referenceable: true for one version"
		}
		f.add("schema", fault.Field, next, "%s: %s%s", fault.Field, fault.Text, hint.DidYouMean(fault.Nearest))
	}
	for _, fault := range defs[0].Undeclared() {
		next := ""
		if strings.HasSuffix(fault.Field, "]") || strings.HasSuffix(fault.Field, ".jsonPath") {
			next = "declare the field under properties, or correct its name"
		}
		f.add("schema", fault.Field, next, "%s: %s%s", fault.Field, fault.Text, hint.DidYouMean(fault.Nearest)).Warning = true
	}
	f.keywords(d)
}

// keywords finds unknown keywords in the schemas of an XRD or MRD, which are raw JSON in its
// Go type.
func (f *finder) keywords(d decoded) {
	if d.Kind == "CustomResourceDefinition" {
		return
	}
	for i, v := range fieldpath.List(d.data, "spec", "versions") {
		version, _ := v.(map[string]any)
		at := field.NewPath("spec", "versions").Index(i).Child("schema", "openAPIV3Schema")
		for _, fault := range schema.CheckKeywords(at, fieldpath.Map(version, "schema", "openAPIV3Schema")) {
			if fault.Unknown {
				next := "correct the keyword's name or remove it"
				if fault.Misplaced {
					next = schema.MisplacedAdvice
				}
				f.add("unknown-field", fault.Field, next, "%s is not a keyword of schemas, so it would be lost%s", fault.Field, hint.DidYouMean(fault.Nearest)).Warning = fault.Nearest == ""
			}
		}
	}
}

// examples finds examples, and inputs of functions in them, that do not match
// the package's definitions.
func examples(ctx context.Context, c content, f *finder) {
	if len(c.examples) == 0 {
		return
	}
	e := exampleChecker{finder: f, definitions: schema.Definitions{}, complete: map[string]bool{}}
	// With dependencies, an unknown kind is not a problem: a dependency may define
	// other kinds of the same group. Functions do not.
	needs := fieldpath.List(c.meta.data, "spec", "dependsOn")
	alone := len(needs) == 0
	e.others = slices.ContainsFunc(needs, func(d any) bool { return fieldpath.Text(d, "kind") != function && fieldpath.Text(d, "function") == "" })
	for _, d := range c.objects {
		data, err := d.value()
		if err != nil {
			continue // lintObject reports the error.
		}
		defs, err := schema.Define(data)
		if err != nil {
			continue // The rule "schema" reports the invalid definition.
		}
		for _, def := range defs {
			e.definitions[def.GroupKind] = def
			e.complete[def.GroupKind.Group] = alone
		}
	}
	beside := besides(c.examples)
	for _, d := range c.examples {
		if ctx.Err() != nil {
			return
		}
		f.in(d)
		e.beside = beside[filepath.Dir(d.Path)]
		e.check(ctx, "", d.data, true)
		for _, in := range inputs(d, c.meta.Name) {
			e.check(ctx, in.field, in.data, false)
		}
	}
}

// besides returns the XRDs among the examples by directory, because functions have no XRDs of their
// own. If a directory has several XRDs for a kind, the definition is nil: the right one is unknown.
func besides(examples []decoded) map[string]schema.Definitions {
	all := map[string]schema.Definitions{}
	for _, d := range examples {
		if d.Kind != xpv2.CompositeResourceDefinitionKind || d.Path == examplesFile {
			continue
		}
		dir := filepath.Dir(d.Path)
		if all[dir] == nil {
			all[dir] = schema.Definitions{}
		}
		defs, _ := schema.Define(d.data) // An invalid XRD defines no kind.
		for _, def := range defs {
			gk := def.GroupKind
			if _, again := all[dir][gk]; again {
				def = nil
			}
			all[dir][gk] = def
		}
	}
	return all
}

// An exampleChecker checks objects against the definitions of a package.
type exampleChecker struct {
	*finder
	definitions schema.Definitions
	// beside are the XRDs in the directory of the current example.
	beside schema.Definitions
	// complete says for each group whether the package defines all of its kinds.
	complete map[string]bool
	// others is true if a dependency may define further kinds.
	others bool
}

// check checks the object at a field of an example. If the object is to be
// created, the API server must serve its version.
func (e exampleChecker) check(ctx context.Context, at string, data map[string]any, created bool) {
	const rule = "example"
	apiVersion, kind := fieldpath.Text(data, "apiVersion"), fieldpath.Text(data, "kind")
	gvk := kschema.FromAPIVersionAndKind(apiVersion, kind)
	def := cmp.Or(e.definitions[gvk.GroupKind()], e.beside[gvk.GroupKind()])
	below := func(field string) string { return strings.Trim(at+"."+field, ".") }
	if def == nil {
		e.undefined(below, gvk)
		return
	}
	what := fmt.Sprintf("kind %s of %s", kind, apiVersion)
	err := def.Serves(gvk.Version)
	if err != nil && (created || !errors.Is(err, schema.ErrNotServed)) {
		e.add(rule, below("apiVersion"), "", "%s: %v", what, err)
		return
	}
	faults, err := def.Validate(ctx, data, schema.Options{Embedded: !created})
	if err != nil {
		return // The rule "schema" reports the invalid definition.
	}
	for _, fault := range faults {
		if fault.Unchecked || isPlaceholder(fault.Value) || created && inStatus(fault.Field) {
			continue
		}
		if fault.Unknown {
			e.add(rule, below(fault.Field), "correct the field's name or remove it", "%s has no field %s, so it would be lost%s", what, fault.Field, hint.DidYouMean(fault.Nearest))
			continue
		}
		e.add(rule, below(fault.Field), "", "%s: %s %s%s", what, fault.Field, fault.Text, hint.DidYouMean(fault.Nearest))
	}
}

// undefined reports the kind of an example that the package does not define, if the package
// defines the group completely or the kind is misspelled. below returns the path of a field.
func (e exampleChecker) undefined(below func(field string) string, gvk kschema.GroupVersionKind) {
	const rule = "example"
	if gvk.Version == "" {
		if slices.Contains(e.kinds(""), gvk.Kind) {
			e.add(rule, below(""), "", "kind %s has no apiVersion", gvk.Kind)
		}
		return
	}
	near := hint.Nearest(gvk.Kind, e.kinds(gvk.Group))
	// XWidget and XGadget, with two other letters, may both exist.
	if misspelled := near != "" && hint.EditDistance(gvk.Kind, near) == 1 && !e.others; misspelled || e.complete[gvk.Group] {
		e.add(rule, below("kind"), "", "no object of the package defines kind %s of group %s%s", gvk.Kind, gvk.Group, hint.DidYouMean(near)).Warning = !e.complete[gvk.Group]
	}
}

// kinds returns the kinds of a group that the package defines, or the kinds of all groups, sorted.
func (e exampleChecker) kinds(group string) (all []string) {
	for gk := range e.definitions {
		if group == "" || gk.Group == group {
			all = append(all, gk.Kind)
		}
	}
	slices.Sort(all)
	return all
}

// inStatus reports whether a field is in the status, which the API server drops before the
// validation of a new object (Kubernetes' documentation, "Status subresource").
func inStatus(field string) bool {
	return fieldpath.HasPrefix(field, "status")
}

// isPlaceholder reports whether v has a variable, such as "${data.account}".
func isPlaceholder(v any) bool {
	s, ok := v.(string)
	return ok && strings.Contains(s, "${")
}

type input struct {
	field string
	data  map[string]any
}

// inputs returns the inputs of the steps that call the function pkg or, if no step calls pkg, the
// inputs of all steps. The kind of an input does not identify the function, because functions from
// one template share a kind.
func inputs(e decoded, pkg string) []input {
	var all, own []input
	for i, entry := range fieldpath.List(e.data, "spec", "pipeline") {
		step, _ := entry.(map[string]any)
		data, ok := step["input"].(map[string]any)
		if !ok {
			continue
		}
		in := input{fmt.Sprintf("spec.pipeline[%d].input", i), data}
		all = append(all, in)
		if calls := fieldpath.Text(step, "functionRef", "name"); calls == pkg || strings.HasSuffix(calls, "-"+pkg) {
			own = append(own, in)
		}
	}
	if own == nil {
		return all
	}
	return own
}
