package builtin

import (
	"context"
	"errors"
	"maps"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/cel-go/cel"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xfn-dev/xfn/internal/builtin/sdk"
)

func newHealthCEL() *sdk.CEL {
	return sdk.NewCEL(sdk.CELDialect{
		Variables: map[string]*cel.Type{"object": cel.AnyType},
		Type: func(_ string, t *cel.Type) error {
			if !t.IsExactType(cel.BoolType) {
				return errors.New("celQuery does not return a bool type")
			}
			return nil
		},
		Parse: "failed to compile query", Check: "failed to compile query",
		Program: "failed to create program from the cel query", Evaluate: "failed to eval the program",
	})
}

type healthChecks struct {
	cel   *sdk.CEL
	rules map[string]string
	spent uint64
}

// healthChecks returns the rules in the context and in the input, whose rules take
// precedence. It returns no rules if the feature is disabled. The real function crashes if
// the input has rules and the path in the context has no rules.
func (f *autoReadyFunction) healthChecks(in *AutoReadyInput, req *fnv1.RunFunctionRequest) *healthChecks {
	h := &healthChecks{cel: f.cel}
	if !f.CELHealthChecks || !f.hasInput {
		return h
	}
	h.rules = map[string]string{}
	for key, rule := range objectAtPath(req.GetContext(), in.CELHealthCheckCustomizationFrom).GetFields() {
		if text, ok := rule.GetKind().(*structpb.Value_StringValue); ok {
			h.rules[key] = text.StringValue
		}
	}
	maps.Copy(h.rules, in.CELHealthCheckCustomization)
	return h
}

// objectAtPath returns the object at a path, or nil. The names in a path are the texts between dots
// and brackets. A name in brackets may contain dots. A path without names has no object.
func objectAtPath(obj *structpb.Struct, path string) *structpb.Struct {
	found := false
	for path != "" {
		name := ""
		if name, path = nextName(path); name != "" {
			obj, found = sdk.At(obj, name).GetStructValue(), true
		}
	}
	if !found {
		return nil
	}
	return obj
}

// nextName splits a path after its first name or separator. The name of a separator is "".
func nextName(path string) (name, rest string) {
	if path[0] == '[' {
		end := strings.IndexAny(path[1:], "[]")
		if end > 0 && path[1+end] == ']' {
			return path[1 : 1+end], path[2+end:]
		}
		return "", path[1:]
	}
	switch end := strings.IndexAny(path, ".[]"); end {
	case -1:
		return path, ""
	case 0:
		return "", path[1:]
	default:
		return path[:end], path[end:]
	}
}

// evaluate returns the readiness of an observed object by the rule for its kind. It is
// unspecified if there is no rule, and after an error.
func (h *healthChecks) evaluate(ctx context.Context, obj *structpb.Struct) (fnv1.Ready, error) {
	if len(h.rules) == 0 {
		return fnv1.Ready_READY_UNSPECIFIED, nil
	}
	kind := kindOf(obj)
	rule, ok := h.rules[kind.Group+"_"+kind.Version+"_"+kind.Kind]
	if !ok {
		return fnv1.Ready_READY_UNSPECIFIED, nil
	}
	healthy, err := h.cel.Bool(ctx, rule, map[string]any{"object": obj}, &h.spent)
	switch {
	case err != nil:
		return fnv1.Ready_READY_UNSPECIFIED, err
	case healthy:
		return fnv1.Ready_READY_TRUE, nil
	default:
		return fnv1.Ready_READY_FALSE, nil
	}
}
