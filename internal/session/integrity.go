package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/xfn-dev/xfn/internal/builtin"
	"github.com/xfn-dev/xfn/internal/builtin/sdk"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/composition/check"
	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/schema"
	"github.com/xfn-dev/xfn/internal/schema/crd"
)

// storeConfigField is the field of a Composition that selects an external secret store. Only
// Crossplane v1 has it.
const storeConfigField = "spec.publishConnectionDetailsWithStoreConfigRef"

// checkIntegrity checks a Composition. It returns the problems that make the imitated
// version of Crossplane fail, and warns of all others. problems are the problems that
// were already found; checkIntegrity adds missing functions.
func (s *Session) checkIntegrity(ctx context.Context, p plan, problems []composition.Problem) error {
	e, old := p.entry, s.reportConverted(p)
	s.warnName(e)
	needed := functionNames(p.in.Steps, e)
	known := func(name string) bool {
		_, ok := p.functions.byName[name]
		return ok || s.config.Runners[name] != nil || s.config.Replay != nil || !slices.Contains(needed, name)
	}
	if slices.ContainsFunc(needed, func(name string) bool { return name != "" && !known(name) }) {
		problems = composition.Check(e, known)
	}
	problems = slices.Concat(problems, s.silentProblems(ctx, p))
	errs := []error{old}
	refused := map[composition.ProblemKind]bool{}
	for _, problem := range problems {
		if problem.Field == storeConfigField && Release(p.in.Profile).Legacy() {
			continue
		}
		refused[problem.Kind] = s.refuses(p, problem.Kind)
		errs = append(errs, s.refuseOrWarn(problem, refused[problem.Kind]))
	}
	text := e.Document
	text.JSON = nil // The JSON has booleans in place of words such as yes.
	for _, at := range text.BooleanKeys() {
		errs = append(errs, s.refuseOrWarn(at, p.in.Strict))
	}
	err := p.hintMode(errors.Join(errs...))
	switch {
	case !refused[composition.UnknownFunction] && refused[composition.UnknownField]:
		return hint.Wrap(err, "correct or remove the unknown fields, or render without them with "+hint.Lenient)
	case !refused[composition.UnknownFunction]:
		return err
	case e.Converted && s.config.Builtins.Mode == builtin.Off:
		return hint.Wrap(err, "leave out "+hint.Builtins+"=off to use the builtins for the pipeline, or name the package of each function with "+hint.Package+" NAME=PATH")
	case s.config.Functions == "":
		return hint.Wrap(err, nearBuiltin(e)+"name a functions file after the "+hint.Hint(e.What())+", or a package with "+hint.Package+" NAME=PATH")
	case len(p.functions.dependencies) > 0:
		return hint.Wrap(err, hint.Hint("the functions of "+s.config.Functions+" are "+strings.Join(p.functions.available(), ", ")+": use one of these names, add the function to the dependencies, or name its package with ")+hint.Package+" NAME=PATH")
	}
	add, orPackage := s.config.AddFunction, ", or name its package with "+hint.Package+" NAME=PATH"
	if len(p.functions.byName) == 0 && add != "" {
		return hint.Wrap(err, nearBuiltin(e)+add+orPackage)
	}
	if p.functions.metadata != "" && len(p.functions.byName) == 0 {
		return hint.Wrap(err, nearBuiltin(e)+hint.Hint(p.functions.metadata)+" without functions in spec.dependsOn: run a function from its package or source with "+hint.Package+" NAME=PATH, or write a file of Functions of apiVersion pkg.crossplane.io/v1, which have spec.package")
	}
	listed := manifest.Keys(p.functions.byName)
	for _, step := range e.Spec.Pipeline {
		if near := hint.Nearest(step.FunctionRef.Name, listed); near != "" && !slices.Contains(listed, step.FunctionRef.Name) {
			return hint.Wrap(err, "did you mean "+hint.Hint(near)+", which "+hint.Hint(s.config.Functions)+" has?")
		}
	}
	if next := manifest.Misnamed(s.config.Reader.FS, s.config.Functions); next != "" {
		return hint.Wrap(err, next)
	}
	return hint.Wrap(err, cmp.Or(add, "add a Function of that name to "+hint.Hint(s.config.Functions))+orPackage)
}

// reportConverted notes that a legacy Composition is rendered as a pipeline. If the imitated version of
// Crossplane refuses it, reportConverted returns an error or warns.
func (s *Session) reportConverted(p plan) error {
	e := p.entry
	const converted = "is rendered as the pipeline that `convert pipeline-composition` makes of it"
	switch {
	case !e.Converted:
		return nil
	case Release(p.in.Profile).Legacy():
		s.config.Progress.Note(fmt.Sprintf("%s: Composition %q is of mode Resources, and %s", e.Document.Position(), e.GetName(), converted))
		return nil
	}
	text := fmt.Sprintf("%s: Crossplane v2 refuses Composition %q of mode Resources", e.Document.PositionOf("spec.resources"), e.GetName())
	if p.in.Strict {
		return hint.Wrap(errors.New(text), "convert it with `"+p.conversion()+"`, or imitate Crossplane v1 with "+hint.CrossplaneVersion+" v1.20")
	}
	s.config.Progress.Warn(text + "; it " + converted)
	return nil
}

// A silentKey has everything that silentProblems depends on: a Composition, the builtins of its
// steps, and whether the context of the render has an environment.
type silentKey struct {
	composition    *apiextv1.Composition
	official       string
	hasEnvironment bool
}

// silentProblems returns the mistakes in the steps of a Composition that functions accept. The cases of
// a suite share it.
func (s *Session) silentProblems(ctx context.Context, p plan) []composition.Problem {
	e, official := p.entry, func(name string) string { return s.official(p.functions.byName[name].Package) }
	_, inFile := p.in.ContextFiles[sdk.EnvironmentKey]
	_, inValue := p.in.ContextValues[sdk.EnvironmentKey]
	key := silentKey{composition: e.Composition, hasEnvironment: inFile || inValue}
	for _, step := range e.Spec.Pipeline {
		key.official += official(step.FunctionRef.Name) + " "
	}
	return s.silent.Get(key, func() []composition.Problem {
		return slices.Concat(check.InputKinds(e, builtin.Inputs(), official), check.Silent(ctx, e, builtin.Inputs(), official, key.hasEnvironment))
	})
}

// official returns Policy.Official of a package. It caches the result, because thousands of renders
// ask for the same packages.
func (s *Session) official(pkg string) string {
	return s.officials.Get(pkg, func() string { return s.config.Builtins.Official(pkg) })
}

// nearBuiltin returns the beginning of a hint that suggests the builtin whose name is similar to
// the function of a step. It returns "" if there is no such builtin.
func nearBuiltin(e composition.Entry) hint.Hint {
	var names []string
	for _, b := range builtin.All() {
		names = append(names, b.Name)
	}
	for _, step := range e.Spec.Pipeline {
		if near := hint.Nearest(step.FunctionRef.Name, names); near != "" && near != step.FunctionRef.Name {
			return hint.Hint("did you mean " + near + "? Otherwise ")
		}
	}
	return ""
}

// checkInputs validates the inputs of steps by the CRDs of the functions that run. It returns
// the problems if strict is true, and otherwise warns of them. A builtin validates its input
// itself.
func (s *Session) checkInputs(ctx context.Context, p plan, runs []Run) error {
	var found []composition.Problem
	for _, r := range runs {
		official := s.official(r.Package) != ""
		for _, problem := range check.PackageInputs(ctx, p.entry, r.Inputs) {
			if problem.Kind != check.WrongInputKind || !official { // checkIntegrity has reported the others.
				found = append(found, problem)
			}
		}
	}
	return s.reportProblems(found, p.in.Strict)
}

// refuses reports whether a problem of a Composition makes a render fail.
func (s *Session) refuses(p plan, kind composition.ProblemKind) bool {
	return p.in.Strict || kind == composition.UnknownField && !s.config.Lenient || slices.Contains(p.version.Refuse, kind)
}

// conversion returns the command that converts a legacy Composition. It names the file if that has the
// Composition: a test suite may have one, too, which no command converts.
func (p plan) conversion() hint.Hint {
	command, path := hint.Hint("convert pipeline-composition"), p.entry.Document.Path
	given := slices.ContainsFunc(append([]string{p.in.Composition}, p.in.Compositions...), func(name string) bool {
		return name != "" && (filepath.Clean(name) == filepath.Clean(path) || filepath.Clean(name) == filepath.Dir(path))
	})
	if given && path != manifest.Stdin {
		command += " " + hint.Hint(path)
	}
	return command
}

// hintMode adds a hint to err if the Composition calls alpha functions, which
// need profile Alpha.
func (p plan) hintMode(err error) error {
	if !p.entry.Alpha {
		return err
	}
	return hint.Wrap(err, "render the Composition with "+hint.Profile+" alpha, or convert it with `"+p.conversion()+"`, which reports how it converts the functions")
}

// warnOtherComposition warns if xr, the composite resource in doc, refers to another Composition than
// the rendered Composition.
func (s *Session) warnOtherComposition(p plan, doc manifest.Document, xr map[string]any) {
	for _, parent := range []string{"spec.crossplane", "spec"} {
		field := parent + ".compositionRef.name"
		name := fieldpath.Text(xr, strings.Split(field, ".")...)
		if name == "" {
			continue
		}
		if is := p.entry.GetName(); name != is {
			s.once.Warn(fmt.Sprintf("%s: %s is %q, but the Composition %q is rendered (%s)", doc.PositionOf(field), field, name, is, p.entry.Document.PositionOf("metadata.name")))
		}
		return
	}
}

// warnName warns if an API server refuses the name of the Composition or Operation in e.
func (s *Session) warnName(e composition.Entry) {
	const field = "metadata.name"
	if reasons := validation.NameIsDNSSubdomain(e.GetName(), false); e.GetName() != "" && len(reasons) > 0 {
		s.once.Warn(fmt.Sprintf("%s: %s: an API server refuses the name %q: %s", e.Document.PositionOf(field), field, e.GetName(), strings.Join(reasons, "; ")))
	}
}

// A fieldsKey has a Composition and an XRD, as other caches of the session have them.
type fieldsKey struct {
	composition *apiextv1.Composition
	xrd         *decodedXRD
}

// checkFields checks that the fields of composite resources in the Composition's patches exist in
// the XRD of p, and reports fields that do not exist.
func (s *Session) checkFields(ctx context.Context, p plan) error {
	if p.xrd == nil || check.ModeFor(p.in.Features) == check.NoSchemas {
		return nil
	}
	found := s.fields.Get(fieldsKey{p.entry.Composition, p.xrd}, func() []composition.Problem {
		def, err := p.xrd.Definition()
		if err != nil || p.xrd.Complete() != nil {
			return nil // Loading the XRD reports it.
		}
		return check.Fields(ctx, p.entry, builtin.Inputs(), def)
	})
	return s.reportProblems(found, p.in.Strict)
}

// reportProblems returns the problems if strict is true, and otherwise warns of them.
func (s *Session) reportProblems(found []composition.Problem, strict bool) (err error) {
	for _, p := range found {
		err = errors.Join(err, s.refuseOrWarn(p, strict))
	}
	return err
}

func (s *Session) refuseOrWarn(err error, strict bool) error {
	if !strict {
		s.config.Progress.Warn(err.Error())
		return nil
	}
	return err
}

// unknownRoots returns an error for each field of a composite resource that no XRD can define.
func unknownRoots(doc manifest.Document, xr map[string]any) (errs []error) {
	roots := schema.RootFields()
	for _, name := range manifest.Keys(xr) {
		if slices.Contains(roots, name) {
			continue
		}
		text := fmt.Sprintf("a composite resource has no field %s, which an API server drops", name)
		errs = append(errs, doc.ErrorOf(name, errors.New(text+hint.DidYouMean(hint.Nearest(name, roots)))))
	}
	return errs
}

// maxName is the maximum length of the name of a composite resource or claim: it is the value of a label.
const maxName = utilvalidation.LabelValueMaxLength

// ownedErrors returns the errors in metadata.name and in spec.crossplane of obj, the composite resource
// in doc. They have the same schema in each CRD that Crossplane derives from an XRD. Deriving one takes
// milliseconds, so it needs a field in spec.crossplane. References to resources are not checked,
// because Crossplane replaces them.
func (p plan) ownedErrors(ctx context.Context, doc manifest.Document, obj map[string]any) (errs []error) {
	xr := unstructured.Unstructured{Object: obj}
	if name := xr.GetName(); len(name) > maxName {
		text := fmt.Sprintf("metadata.name has %d characters, and at most %d are allowed, because Crossplane sets it as a label of each composed resource: shorten it", len(name), maxName)
		errs = append(errs, doc.ErrorOf("metadata.name", errors.New(text)))
	}
	owned, isObject := fieldpath.At(obj, "spec", "crossplane").(map[string]any)
	if owned = maps.Clone(owned); isObject {
		delete(owned, "resourceRefs")
	}
	release, gvk := Release(p.in.Profile), xr.GroupVersionKind()
	if len(owned) == 0 || release.Legacy() {
		return errs
	}
	derived, err := crd.Composites(map[string]any{"apiVersion": "apiextensions.crossplane.io/v2", "kind": xrdKind.Kind, "spec": map[string]any{
		"group": gvk.Group, "scope": "Cluster", "names": map[string]any{"kind": gvk.Kind},
		"versions": []any{map[string]any{"name": gvk.Version, "schema": map[string]any{"openAPIV3Schema": map[string]any{}}}},
	}})
	if err != nil {
		return errs
	}
	def, err := schema.New(derived)
	if err != nil {
		return errs
	}
	found, err := def.Validate(ctx, map[string]any{"apiVersion": obj["apiVersion"], "kind": obj["kind"], "spec": map[string]any{"crossplane": owned}}, schema.Options{})
	if err != nil {
		return errs
	}
	return append(errs, refusals(doc, found, "composite resource")...)
}

// warnOutput adds warnings of what an API server refuses or drops of an output, because of the XRD:
// fields of the status, and composed resources without a namespace if the XR is cluster-scoped. r may
// be nil.
func (p plan) warnOutput(ctx context.Context, r *LastPass) {
	if p.xrd == nil || r == nil || !p.in.validatesXRs() {
		return
	}
	def, err := p.xrd.Definition()
	if err != nil || p.xrd.Complete() != nil {
		return // Loading the XRD reports it.
	}
	xr := unstructured.Unstructured{Object: r.XR}
	status := map[string]any{"apiVersion": xr.GetAPIVersion(), "kind": xr.GetKind(), "status": r.XR["status"]}
	found, err := def.Validate(ctx, status, schema.Options{})
	if err != nil {
		return
	}
	for _, f := range found {
		if !strings.HasPrefix(f.Field, "status.") {
			continue
		}
		text := fmt.Sprintf("is refused by an API server: %s", f)
		if f.Unknown {
			text = fmt.Sprintf("has the field %s, which %s of %s does not have%s", f.Field, xr.GetKind(), xr.GetAPIVersion(), hint.DidYouMean(f.Nearest))
		}
		r.Warnings = append(r.Warnings, "the composite resource "+text+manifest.At(composition.OutputField(p.entry, "", xr.GetKind(), f.Field)))
	}
	if def.Namespaced {
		return
	}
	for _, obj := range r.Composed {
		u := unstructured.Unstructured{Object: obj}
		if kind, ok := schema.FindKind(u.GroupVersionKind()); ok && kind.Namespaced && u.GetNamespace() == "" {
			at := composition.OutputField(p.entry, reconciler.ResourceName(obj), u.GetKind(), "metadata.namespace")
			r.Warnings = append(r.Warnings, fmt.Sprintf("resource %q has no namespace, but %s is namespaced and the composite resource is not: set metadata.namespace%s", reconciler.ResourceName(obj), u.GetKind(), manifest.At(at)))
		}
	}
}
