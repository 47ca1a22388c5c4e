package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/builtin"
	"github.com/xfn-dev/xfn/internal/builtin/sdk"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/composition/check"
	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/schema"
	"github.com/xfn-dev/xfn/render"
)

// explain adds the name of the XR or Operation to the error of a render, which may be nil. If
// err is a fatal result of a function that has a builtin, explain adds the place to which the
// result refers and, if the builtin ran, a hint.
func (s *Session) explain(ctx context.Context, err error, xr string, e composition.Entry) error {
	if fatal, ok := errors.AsType[*render.FatalError](err); ok {
		err = s.advise(ctx, err, fatal, e)
	}
	if errors.Is(err, reconciler.ErrInput) {
		i := slices.IndexFunc(e.Spec.Pipeline, func(step apiextv1.PipelineStep) bool {
			return step.Input != nil && len(step.Input.Raw) > 0 && step.Input.Raw[0] != '{'
		})
		field := e.DocumentField(fmt.Sprintf("spec.pipeline[%d].input", max(i, 0)))
		err = hint.Wrap(fmt.Errorf("%w (at %s: %s)", err, e.Document.PositionOf(field), field), "the input of a function is an object with apiVersion and kind")
	}
	if invalid, ok := errors.AsType[*reconciler.InvalidNameError](err); ok && invalid.Reason() != "" {
		bases, _ := composition.TemplateBases(e)
		if i := slices.IndexFunc(bases, func(b composition.TemplateBase) bool { return b.Name == invalid.Resource }); i >= 0 {
			field := strings.TrimSuffix(bases[i].Field, "base") + "patches"
			err = fmt.Errorf("%w (at %s: %s)", err, e.Document.PositionOf(field), field)
		}
		err = hint.Wrap(err, invalid.Reason())
	}
	err = explainSecret(err, e)
	if err != nil {
		what := "composite resource"
		if e.What() != apiextv1.CompositionKind {
			what = e.What()
		}
		err = fmt.Errorf("rendering %s %q: %w", what, xr, err)
	}
	return err
}

// explainSecret adds the position of the first credentials in e that have the missing Secret of err.
func explainSecret(err error, e composition.Entry) error {
	var missing *reconciler.NoSecretError
	if !errors.As(err, &missing) {
		return err
	}
	for i, step := range e.Spec.Pipeline {
		j := slices.IndexFunc(step.Credentials, func(c apiextv1.FunctionCredentials) bool {
			return c.SecretRef != nil && *c.SecretRef == *missing.Credentials.SecretRef
		})
		if j >= 0 {
			field := e.DocumentField(fmt.Sprintf("spec.pipeline[%d].credentials[%d].secretRef", i, j))
			err = fmt.Errorf("%w (at %s: %s)", err, e.Document.PositionOf(field), field)
			break
		}
	}
	return hint.Wrap(err, "name the file of the Secret with "+hint.FunctionCredentials)
}

// explainName adds the position in doc of a missing name of the composite resource. It adds a
// hint if err is the error of a composed resource whose name begins with the invalid name xr of
// the composite resource in doc.
func explainName(err error, xr string, doc manifest.Document) error {
	if errors.Is(err, reconciler.ErrNoName) {
		return fmt.Errorf("%w (at %s)", err, doc.PositionOf("metadata"))
	}
	var invalid *reconciler.InvalidNameError
	if !errors.As(err, &invalid) || !strings.HasPrefix(invalid.Name, xr) || len(validation.IsDNS1123Subdomain(xr)) == 0 {
		return err
	}
	err = fmt.Errorf("%w (at %s: metadata.name is %q)", err, doc.PositionOf("metadata.name"), xr)
	return hint.Wrap(err, `correct the name of the composite resource: it has lower-case letters, digits, "-" and ".", and begins and ends with a letter or digit`)
}

// locate adds the position and a hint to err if an observed resource has no name in the pipeline,
// or does not belong to the composite resource.
func (s state) locate(err error) error {
	var object *unstructured.Unstructured
	next := hint.Hint("set the annotation in metadata.annotations to the name that the pipeline gives this resource: the functions know it by this name")
	foreign, isForeign := errors.AsType[*reconciler.ForeignObservedError](err)
	unnamed, isUnnamed := errors.AsType[*reconciler.UnnamedError](err)
	switch {
	case isForeign && reconciler.ResourceName(foreign.Object.Object) == "":
		object, next = foreign.Object, "observed resources are the resources that the composite resource composes: give the resources that functions require with "+hint.RequiredResources
	case !isUnnamed:
		return err
	case unnamed.Object.GetKind() == "EnvironmentConfig":
		object, next = unnamed.Object, "functions require an EnvironmentConfig, and do not observe it: give its file with "+hint.RequiredResources
	default:
		object = unnamed.Object
	}
	if at := s.at[keyOf(object)]; at != "" {
		err = fmt.Errorf("%w (at %s)", err, at)
	}
	return hint.Wrap(err, next)
}

// misnamed describes the observed resources whose name in the pipeline probably misspells the name
// of a composed resource that is not observed.
func (s state) misnamed(composed []map[string]any) (warnings []string) {
	desired := reconciler.ComposedByName(composed)
	isObserved := reconciler.ByName(s.named)
	missing := slices.DeleteFunc(manifest.Keys(desired), func(name string) bool { return isObserved[name] != nil })
	for _, u := range s.named {
		name := reconciler.ResourceName(u.Object)
		if near := hint.Misspelled(name, missing); desired[name] == nil && near != "" {
			warnings = append(warnings, fmt.Sprintf("%s: the pipeline composes no resource %q%s", s.at[keyOf(u)], name, hint.DidYouMean(near)))
		}
	}
	return warnings
}

// builtinOf returns the builtin that runs a function or could run it, and whether there is one.
// inProcess is nil if it does not run it.
func (s *Session) builtinOf(name string) (b builtin.Builtin, known bool, inProcess function.Runner) {
	s.mu.Lock()
	running := s.running[name]
	s.mu.Unlock()
	if running != nil && running.choice.runtime == Builtin {
		return running.choice.builtin, true, running.inProcess
	}
	b, known = builtinFor(name)
	return b, known, nil
}

// unknownName matches a fatal result about an unknown field of the input, which only has the Go type.
var unknownName = proc.Regexp(`^cannot get Function input.* unknown (?:object member )?name "[^"]*"$`)

func (s *Session) advise(ctx context.Context, err error, fatal *render.FatalError, e composition.Entry) error {
	b, known, inProcess := s.builtinOf(fatal.Function)
	if !known {
		return err
	}
	ran := inProcess != nil
	n, input := inputOf(e, fatal.Step)
	if all := schema.Misfits(input, b.Type); len(all) > 0 && all[0].Field != "" && strings.Contains(fatal.Message, "cannot unmarshal") {
		next := all[0].Field + " " + all[0].Text
		field := e.DocumentField(fmt.Sprintf("spec.pipeline[%d].input.%s", n, all[0].Field))
		if boolean := e.Document.Lines().Boolean(field); boolean != "" {
			next += ": " + string(boolean)
		}
		return hint.Wrap(addPlace(err, sdk.Location{Field: all[0].Field, Line: 1}, e, n), next)
	}
	if f := misspelled(b, input, fatal.Message); ran && f.Nearest != "" {
		return hint.Wrap(addPlace(err, sdk.Location{Field: f.Field, Line: 1}, e, n), hint.Meant("", f.Nearest))
	}
	if at := b.Locate(ctx, fatal.Message, input, inProcess); ran || at.File == "" {
		err = addPlace(err, at, e, n)
		if at.Field != "" && unknownName().MatchString(fatal.Message) {
			err = fmt.Errorf("the input has no field %s: %w", at.Field, err)
		}
	}
	if ran && input == nil {
		field, doc := e.DocumentField(fmt.Sprintf("spec.pipeline[%d]", n)), e.Document
		doc.Line = doc.Lines().Of(field)
		err = fmt.Errorf("%w (at %s: %s, which has no input)", err, doc.Position(), field)
	}
	if advice := cmp.Or(unnamed(fatal.Message, e), b.Advice(fatal.Message, input)); ran && advice != "" {
		return hint.Wrap(err, advice)
	}
	return err
}

// unnamed returns the hint for a fatal result about a document without the name of a composed resource,
// or "". The document may describe the composite resource, with a misspelled kind or apiVersion.
func unnamed(fatal string, e composition.Entry) hint.Hint {
	quoted, _, ok := strings.Cut(fatal, `" template is missing required "gotemplating.fn.crossplane.io/composition-resource-name"`)
	if !ok {
		return ""
	}
	const name = `name the resource with {{ setResourceNameAnnotation "NAME" }} in metadata.annotations`
	kind, ref := strings.TrimPrefix(quoted, `"`), e.Spec.CompositeTypeRef
	if strings.TrimPrefix(kind, "X") != strings.TrimPrefix(ref.Kind, "X") && hint.Nearest(kind, []string{ref.Kind}) == "" {
		return name
	}
	return hint.Hint(fmt.Sprintf("write apiVersion: %s and kind: %s if the document is the composite resource; otherwise %s", ref.APIVersion, ref.Kind, name))
}

// addPlace adds the place to which a fatal result refers, in a template file or in the input of
// the step with index n, after the text of the result.
func addPlace(err error, at sdk.Location, e composition.Entry, n int) error {
	if place := at.In(e, n); place != "" {
		return fmt.Errorf("%w (at %s)", err, place)
	}
	return err
}

// misspelled returns the first field of an input whose value a fatal result names, and is
// similar to a value that the builtin allows.
func misspelled(b builtin.Builtin, input []byte, fatal string) (none schema.Fault) {
	var obj any
	if b.Type == nil || json.Unmarshal(input, &obj) != nil {
		return none
	}
	for _, f := range schema.DecodeKind(nil, obj, b.Type) {
		if value, ok := f.Value.(string); ok && !f.Unknown && f.Nearest != "" && strings.HasPrefix(fatal, "invalid function input") && strings.HasSuffix(fatal, value) {
			return f
		}
	}
	return none
}

// inputOf returns the index of a step and its input in JSON, or nil.
func inputOf(e composition.Entry, step string) (int, []byte) {
	i := slices.IndexFunc(e.Spec.Pipeline, func(s apiextv1.PipelineStep) bool { return s.Step == step })
	if i < 0 || e.Spec.Pipeline[i].Input == nil {
		return max(i, 0), nil
	}
	return i, e.Spec.Pipeline[i].Input.Raw
}

// describe adds warnings about fields that patches read, and that the environment or an observed
// resource has under a similar name, and the places of the functions' warnings. r may be nil.
func (s *Session) describe(ctx context.Context, e composition.Entry, observed []*unstructured.Unstructured, r *LastPass) {
	if r == nil {
		return
	}
	if environment := fieldpath.Map(r.Context, "fields", sdk.EnvironmentKey); len(environment) > 0 {
		for _, problem := range s.readsOf(ctx, e).MisreadEnvironment(e, environment) {
			r.Warnings = append(r.Warnings, problem.Error())
		}
	}
	for _, u := range observed {
		if u.Object["status"] == nil {
			continue
		}
		for _, problem := range s.readsOf(ctx, e).MisreadObserved(e, reconciler.ResourceName(u.Object), u.Object) {
			r.Warnings = append(r.Warnings, problem.Error())
		}
	}
	for i, result := range r.Results {
		if result["severity"] != "Warning" {
			continue
		}
		if place := s.placeOf(ctx, e, fieldpath.Text(result, "message")); place != "" {
			if r.Places == nil {
				r.Places = map[int]string{}
			}
			r.Places[i] = place
		}
	}
}

func (s *Session) readsOf(ctx context.Context, e composition.Entry) check.Reads {
	return s.reads.Get(e.Composition, func() check.Reads { return check.ReadsOf(ctx, e, builtin.Inputs()) })
}

// placeOf returns the place in e to which a warning of a step refers, or "".
func (s *Session) placeOf(ctx context.Context, e composition.Entry, warning string) string {
	for n, step := range e.Spec.Pipeline {
		text, ok := strings.CutPrefix(warning, fmt.Sprintf("Pipeline step %q: ", step.Step))
		if !ok || step.Input == nil {
			continue
		}
		if b, known, inProcess := s.builtinOf(step.FunctionRef.Name); known {
			return b.Locate(ctx, text, step.Input.Raw, inProcess).In(e, n)
		}
	}
	return ""
}
