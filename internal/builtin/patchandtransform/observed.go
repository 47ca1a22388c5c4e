package patchandtransform

import (
	"encoding/json"
	"errors"
	"fmt"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/xfn-dev/xfn/internal/builtin/sdk"
	"github.com/xfn-dev/xfn/internal/patch"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/patch/spec"
)

// An observed is an observed composed resource. Its body is decoded at the first use.
type observed struct {
	resource *fnv1.Resource
	body     map[string]any
}

func (o *observed) fields() map[string]any {
	if o.body == nil {
		o.body = o.resource.GetResource().AsMap()
	}
	return o.body
}

func (o *observed) hasCondition(conditionType, status string) bool {
	return sdk.ConditionOf(o.resource.GetResource(), conditionType).Status == status
}

// A detail is a compiled connection detail of a template.
type detail struct {
	*spec.ConnectionDetail
	from patch.Path
}

// read returns the value of the connection detail, or false if it does not exist.
func (d *detail) read(o *observed) ([]byte, bool) {
	switch d.Type {
	case spec.FromValue:
		return []byte(*d.Value), true
	case spec.FromConnectionSecretKey:
		v, ok := o.resource.GetConnectionDetails()[*d.FromConnectionSecretKey]
		return v, ok
	default:
		v, err := d.from.Get(o.fields())
		if err != nil {
			return nil, false
		}
		if s, ok := v.(string); ok {
			return []byte(s), true
		}
		text, err := json.Marshal(v)
		return text, err == nil
	}
}

// A check is a compiled readiness check.
type check struct {
	*spec.ReadinessCheck
	at patch.Path
}

// isReady reports whether an observed resource passes all checks, and how many checks ran.
// Without checks, its condition Ready must be True. The first check that cannot run is an
// error.
func isReady(checks []check, o *observed) (ready bool, ran int, err error) {
	if len(checks) == 0 {
		return o.hasCondition("Ready", "True"), 0, nil
	}
	for i, c := range checks {
		ready, err := c.passes(o)
		if err != nil {
			return false, i + 1, fmt.Errorf("cannot run readiness check at index %d: %w", i, err)
		}
		if !ready {
			return false, i + 1, nil
		}
	}
	return true, len(checks), nil
}

// errUncheckable is the error for a check of type MatchCondition without matchCondition.
// Validation accepts such a check, and the real function panics when it runs it.
var errUncheckable = errors.New("matchCondition: Required value: cannot be nil for type MatchCondition")

func (c *check) passes(o *observed) (bool, error) {
	switch c.Type {
	case spec.CheckNone:
		return true, nil
	case spec.CheckMatchCondition:
		if c.MatchCondition == nil {
			return false, errUncheckable
		}
		return o.hasCondition(c.MatchCondition.Type, c.MatchCondition.Status), nil
	}
	v, err := c.at.Get(o.fields())
	if fieldpath.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return c.compare(v)
}

func (c *check) compare(v any) (bool, error) {
	switch c.Type {
	case spec.CheckMatchString:
		s, ok := v.(string)
		if !ok {
			return false, fmt.Errorf("%s: not a string", c.at.Text)
		}
		return s == *c.MatchString, nil
	case spec.CheckMatchInteger:
		// All observed numbers are floats. The real function accepts only
		// integers, so MatchInteger always fails.
		return false, fmt.Errorf("%s: not a (int64) number", c.at.Text)
	case spec.CheckMatchTrue, spec.CheckMatchFalse:
		b, ok := v.(bool)
		if !ok {
			return false, fmt.Errorf("%s: not a bool", c.at.Text)
		}
		return b == (c.Type == spec.CheckMatchTrue), nil
	default:
		return true, nil
	}
}
