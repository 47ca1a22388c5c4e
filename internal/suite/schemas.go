package suite

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/internal/builtin"
	composition "github.com/xfn-dev/xfn/internal/composition/check"
	"github.com/xfn-dev/xfn/internal/image/inspect"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/schema"
	"github.com/xfn-dev/xfn/internal/schema/validate"
	"github.com/xfn-dev/xfn/internal/session"
	"github.com/xfn-dev/xfn/internal/suite/check"
	"github.com/xfn-dev/xfn/internal/suite/spec"
)

// schemas caches the Validators of a run, and the faults of Compositions.
type schemas struct {
	validators   proc.Memo[string, *validate.Validator]
	compositions proc.Memo[checkedComposition, []check.Fault]
}

// A checkedComposition is the key of a Composition with the schemas of its check.
type checkedComposition struct {
	by  *validate.Validator
	key string
}

// of returns the Validator for a release of Crossplane and the definitions in documents, which
// checks Compositions in a mode.
func (s *schemas) of(release schema.Release, mode composition.Mode, docs []manifest.Document) (*validate.Validator, error) {
	var key strings.Builder
	key.WriteString(string(release) + "\x00" + string(mode) + "\x00")
	for _, doc := range docs {
		key.WriteString(doc.Key() + "\x00")
	}
	return s.validators.Do(key.String(), func() (*validate.Validator, error) {
		all, err := inspect.CRDsOf(docs)
		if err != nil {
			return nil, err
		}
		return inspect.NewValidator(all, validate.Options{Namespace: validate.DefaultNamespace, Composition: composition.ForValidation(composition.Options{Mode: mode, Inputs: append(builtin.Inputs(), inspect.FunctionInputs(all)...)}), Crossplane: release}), nil
	})
}

// validate validates objects, of which the first is the composite resource, and
// the case's Composition, by the schemas of the case and its XRD. An object
// without a schema is a fault, unless its kind is ignored or built in.
func (a *attempt) validate(ctx context.Context, sources []spec.Source, objects []map[string]any, ignore []string) ([]check.Fault, error) {
	v, err := a.validator(ctx, sources)
	if err != nil {
		return nil, fmt.Errorf("loading schemas: %w", err)
	}
	composed := v.ComposedBy(objects[0])
	var faults []check.Fault
	for i, obj := range objects {
		validator := composed
		if i == 0 || isSet(a.form.Operation) {
			validator = v
		}
		if ignored(obj, ignore) {
			continue
		}
		for _, r := range validator.Objects(ctx, obj) {
			if r.Partial && !slices.Contains(a.out.Partial, r.Kind) {
				a.out.Partial = append(a.out.Partial, r.Kind)
			}
			faults = append(faults, schemaFaults(i, r)...)
		}
	}
	if isSet(a.form.Operation) {
		return faults, nil
	}
	more, err := a.validateComposition(ctx, v, ignore)
	return append(faults, more...), err
}

func (a *attempt) validator(ctx context.Context, sources []spec.Source) (*validate.Validator, error) {
	if isSet(a.form.XRD) {
		sources = append(slices.Clip(sources), a.form.XRD)
	}
	docs, err := a.documents(ctx, sources, "schemas")
	if err != nil {
		return nil, err
	}
	profile, err := a.form.RenderProfile()
	if err != nil {
		return nil, err
	}
	return a.schemas.of(session.Release(profile), composition.ModeFor(a.features), docs)
}

func ignored(obj map[string]any, kinds []string) bool {
	u := unstructured.Unstructured{Object: obj}
	return slices.Contains(kinds, u.GetKind()) || slices.Contains(kinds, u.GetAPIVersion()+"/"+u.GetKind())
}

// validateComposition returns the errors in the case's Composition, in the
// validation mode of its annotation.
func (a *attempt) validateComposition(ctx context.Context, v *validate.Validator, ignore []string) ([]check.Fault, error) {
	doc, err := a.composition(ctx)
	if err != nil {
		return nil, err
	}
	if obj, err := doc.Object(); err != nil || ignored(obj, ignore) {
		return nil, err
	}
	return a.schemas.composition(ctx, v, doc)
}

func (a *attempt) composition(ctx context.Context) (manifest.Document, error) {
	source := a.form.Composition
	if source.Object != nil {
		return a.document(source.Object, "composition")
	}
	doc, _, err := a.options.Config.Reader.First(ctx, a.path(source.File))
	return doc, err
}

// composition returns the faults of a Composition. Other cases use the result
// as well, so it does not end with the timeout of one case.
func (s *schemas) composition(ctx context.Context, v *validate.Validator, doc manifest.Document) ([]check.Fault, error) {
	ctx = context.WithoutCancel(ctx)
	return s.compositions.Do(checkedComposition{v, doc.Key()}, func() (faults []check.Fault, err error) {
		for _, r := range v.Document(ctx, doc) {
			for _, f := range r.Faults {
				if !f.Warning {
					faults = append(faults, check.Fault{Object: check.OfComposition, Field: f.Field, Text: fmt.Sprintf("Composition at %s: %s", manifest.Position(r.Path, cmp.Or(f.Line, r.Line)), f)})
				}
			}
		}
		return faults, nil
	})
}

func schemaFaults(object int, r validate.Result) []check.Fault {
	if r.Status == validate.NoSchema && len(r.Faults) > 0 {
		return nil // The errors of an invalid CRD are reported with the CRD itself.
	}
	if r.Status == validate.NoSchema {
		return []check.Fault{{Object: object, OfDefinition: true, Text: fmt.Sprintf("%s of %s has no schema: add its definition to schemas, or the kind to expect.valid.ignore", r.Kind, r.APIVersion)}}
	}
	var all []check.Fault
	for _, f := range r.Faults {
		text := f.String()
		if r.Path != "" {
			text = fmt.Sprintf("the definition of its kind at %s is invalid: %s", manifest.Position(r.Path, r.Line), text)
		}
		if !f.Warning {
			all = append(all, check.Fault{Object: object, Field: f.Field, Text: text, OfDefinition: r.Path != ""})
		}
	}
	return all
}
