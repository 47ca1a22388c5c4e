package alpha

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	fnio "github.com/xfn-dev/xfn/internal/alpha/v1alpha1"
	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/patch/spec"
)

// deriveAll derives the XR's connection details and the readiness of the composed
// resources. For each resource, the rules of its template come before the rules
// that functions returned.
func (r *reconcile) deriveAll(result *Result) error {
	all := r.sorted()
	for _, c := range all {
		if err := c.connectionDetails(r.details); err != nil {
			return fmt.Errorf("cannot extract connection details from composed resource %q (a %s named %s): %w", c.name, c.object.GetKind(), c.object.GetName(), err)
		}
	}
	for i, c := range all {
		var err error
		if result.Composed[i].Ready, err = c.isReady(); err != nil {
			return fmt.Errorf("cannot determine whether composed resource %q (a %s named %s) is ready: %w", c.name, c.object.GetKind(), c.object.GetName(), err)
		}
	}
	return nil
}

// connectionDetails adds the connection details of the XR that derive from a
// composed resource.
func (c *composed) connectionDetails(to map[string][]byte) error {
	all := c.desired.ConnectionDetails
	if c.template != nil {
		all = slices.Concat(c.template.details, all)
	}
	found := map[string][]byte{}
	for _, d := range all {
		name := or(d.Name, "")
		if d.Name == nil && d.Type == spec.FromConnectionSecretKey {
			name = or(d.FromConnectionSecretKey, "")
		}
		if name == "" {
			return errors.New("connection detail is missing name")
		}
		value, err := c.connectionDetail(d)
		if err != nil {
			return err
		}
		if value != nil {
			found[name] = value
		}
	}
	maps.Copy(to, found)
	return nil
}

// connectionDetail returns the value of a connection detail, or nil if the source
// of the value does not exist.
func (c *composed) connectionDetail(d fnio.DerivedConnectionDetail) ([]byte, error) {
	missing := func(what string) error {
		return fmt.Errorf("connection detail of type %q %s is not set", d.Type, what)
	}
	switch d.Type {
	case spec.FromValue:
		if d.Value == nil {
			return nil, missing("value")
		}
		return []byte(*d.Value), nil
	case spec.FromConnectionSecretKey:
		if d.FromConnectionSecretKey == nil {
			return nil, missing("key")
		}
		return c.details[*d.FromConnectionSecretKey], nil
	case spec.FromFieldPath:
		if d.FromFieldPath == nil {
			return nil, missing("fromFieldPath")
		}
		return textAt(c.object, *d.FromFieldPath), nil
	default:
		return nil, nil
	}
}

// textAt returns the string at a path. It returns any other value as JSON, and
// nil if the path does not exist.
func textAt(u *unstructured.Unstructured, path string) []byte {
	v, err := valueAt(u, path)
	if err != nil {
		return nil
	}
	if s, ok := v.(string); ok {
		return []byte(s)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return text
}

func valueAt(u *unstructured.Unstructured, path string) (any, error) {
	p, err := fieldpath.Parse(path)
	if err != nil {
		return nil, err
	}
	return p.Get(u.Object)
}

// isReady reports whether a resource passes all its readiness checks. A resource
// without checks is ready if its condition Ready is True.
func (c *composed) isReady() (bool, error) {
	checks := c.desired.ReadinessChecks
	if c.template != nil {
		checks = slices.Concat(c.template.checks, checks)
	}
	if len(checks) == 0 {
		return conditionStatus(c.object, reconciler.TypeReady) == "True", nil
	}
	for i := range checks {
		ready, err := passes(&checks[i], c.object)
		if err != nil {
			return false, fmt.Errorf("cannot run readiness check at index %d: %w", i, err)
		}
		if !ready {
			return false, nil
		}
	}
	return true, nil
}

func conditionStatus(u *unstructured.Unstructured, conditionType string) string {
	for _, c := range reconciler.ParseConditions(fieldpath.At(u.Object, "status", "conditions")) {
		if c.Type == conditionType {
			return c.Status
		}
	}
	return "Unknown"
}

func passes(check *spec.ReadinessCheck, u *unstructured.Unstructured) (bool, error) {
	lacks := func(what string) (bool, error) {
		return false, fmt.Errorf("invalid: type %q requires a %s", check.Type, what)
	}
	switch check.Type {
	case spec.CheckNone:
		return true, nil
	case spec.CheckMatchCondition:
		if check.MatchCondition == nil {
			return lacks("valid match condition")
		}
		return conditionStatus(u, check.MatchCondition.Type) == check.MatchCondition.Status, nil
	case spec.CheckMatchString:
		if check.MatchString == nil {
			return lacks("match string")
		}
	case spec.CheckMatchInteger:
		if check.MatchInteger == nil {
			return lacks("match integer")
		}
	case spec.CheckNonEmpty:
	default:
		return false, fmt.Errorf("invalid: unknown type %q", check.Type)
	}
	if check.FieldPath == nil {
		return lacks("field path")
	}
	v, err := valueAt(u, *check.FieldPath)
	switch {
	case fieldpath.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, err
	}
	switch check.Type {
	case spec.CheckMatchString:
		s, ok := v.(string)
		if !ok {
			return false, fmt.Errorf("%s: not a string", *check.FieldPath)
		}
		return s == *check.MatchString, nil
	case spec.CheckMatchInteger:
		n, ok := v.(int64)
		if !ok {
			return false, fmt.Errorf("%s: not a (int64) number", *check.FieldPath)
		}
		return n == *check.MatchInteger, nil
	default:
		return true, nil
	}
}
