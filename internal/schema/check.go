package schema

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Check returns the errors that the API server would find in the definition: in its names, versions,
// schemas, defaults, types and CEL rules, and in the estimated costs of these rules.
// Fault.Field is a path in the defining CRD, XRD or MRD.
func (d *Definition) Check(ctx context.Context) []Fault {
	found := faults(d.checkSpec())
	for _, v := range d.versions {
		found = append(found, v.load().check(ctx)...)
	}
	return found
}

func (v version) check(ctx context.Context) []Fault {
	switch {
	case v.undecodable != nil:
		return v.undecodable
	case v.err != nil:
		return faults(unsupported(v.at, v.props, v.err))
	case v.structural == nil:
		return faults(field.ErrorList{field.Required(v.at, "schemas are required")})
	}
	errs := structural.ValidateStructural(v.at, v.structural)
	if len(errs) == 0 {
		var err error
		if errs, err = defaulting.ValidateDefaults(ctx, v.at, v.structural, true, true); err != nil {
			return []Fault{{Field: FieldName(v.at.String()), Text: err.Error()}}
		}
		// checkEach reports these at the rule.
		errs = slices.DeleteFunc(errs, func(e *field.Error) bool { return strings.HasPrefix(e.Detail, "rule compile error: ") })
	}
	// The API server compiles no rules of a schema that is not structural.
	one, c := uint64(1), &ruleChecker{keywordsOnly: len(errs) > 0}
	errs = append(errs, c.checkEach(part{at: v.at, root: true, top: true, count: &one}, v.structural)...)
	return faults(append(errs, c.check(v.at)...))
}

// CheckNames returns the errors that Check finds in the names of the kind.
func (d *Definition) CheckNames() []Fault {
	if crd, ok := d.decodeSpec(); ok {
		return faults(d.checkNames(crd))
	}
	return nil
}

// ErrNotServed is the error for a version of a kind with served: false.
var ErrNotServed = errors.New("not served")

// Serves returns an error unless the kind has a version called name with served: true.
func (d *Definition) Serves(name string) error {
	v, ok := d.version(name)
	if !ok {
		return fmt.Errorf("version %s does not exist; the versions are %s", name, strings.Join(d.Versions(), ", "))
	}
	if !v.served {
		return fmt.Errorf("version %s: %w", name, ErrNotServed)
	}
	return nil
}

// valid returns the version called name, or an error if it does not exist or
// has no structural schema.
func (d *Definition) valid(name string) (version, error) {
	v, ok := d.version(name)
	switch {
	case !ok:
		return v, d.Serves(name)
	case v.err != nil:
		return v, fmt.Errorf("the schema of version %s cannot be used: %w", name, v.err)
	case v.structural == nil:
		return v, fmt.Errorf("version %s has no schema", name)
	}
	return v, nil
}

func (d *Definition) version(name string) (version, bool) {
	i := slices.IndexFunc(d.versions, func(v lazyVersion) bool { return v.name == name })
	if i < 0 {
		return version{}, false
	}
	return d.versions[i].load(), true
}
