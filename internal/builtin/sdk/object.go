package sdk

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
)

// Struct converts obj to a protobuf message. Values have the types nil, bool,
// int64, float64, string, []any and map[string]any. For invalid UTF-8 and invalid
// numbers, Struct returns the same result and error as encoding/json.
func Struct(obj map[string]any) (*structpb.Struct, error) {
	fields := make(map[string]*structpb.Value, len(obj))
	for k, v := range obj {
		value, err := toValue(v)
		if err != nil {
			return nil, err
		}
		fields[fieldpath.ValidUTF8(k)] = value
	}
	return &structpb.Struct{Fields: fields}, nil
}

// With returns a copy of s with the fields in more. The copy shares its values
// with s and more.
func With(s *structpb.Struct, more map[string]*structpb.Value) *structpb.Struct {
	fields := make(map[string]*structpb.Value, len(s.GetFields())+len(more))
	maps.Copy(fields, s.GetFields())
	maps.Copy(fields, more)
	return &structpb.Struct{Fields: fields}
}

func toValue(v any) (*structpb.Value, error) {
	switch v := v.(type) {
	case nil:
		return structpb.NewNullValue(), nil
	case bool:
		return structpb.NewBoolValue(v), nil
	case int64:
		return structpb.NewNumberValue(float64(v)), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("json: unsupported value: %v", v)
		}
		return structpb.NewNumberValue(v), nil
	case string:
		return structpb.NewStringValue(fieldpath.ValidUTF8(v)), nil
	case []any:
		list := &structpb.ListValue{Values: make([]*structpb.Value, len(v))}
		for i, element := range v {
			var err error
			if list.Values[i], err = toValue(element); err != nil {
				return nil, err
			}
		}
		return structpb.NewListValue(list), nil
	case map[string]any:
		s, err := Struct(v)
		return structpb.NewStructValue(s), err
	default:
		return nil, fmt.Errorf("json: unsupported type: %T", v)
	}
}

// At returns the value at a path of keys in an object, or nil.
func At(object *structpb.Struct, keys ...string) *structpb.Value {
	for _, key := range keys[:len(keys)-1] {
		object = object.GetFields()[key].GetStructValue()
	}
	return object.GetFields()[keys[len(keys)-1]]
}

// Annotations returns an object's annotations, or nil if the value of an annotation is
// neither a string nor null. The value of null is "".
func Annotations(object *structpb.Struct) map[string]string {
	found := map[string]string{}
	for name, v := range At(object, "metadata", "annotations").GetStructValue().GetFields() {
		switch v := v.GetKind().(type) {
		case *structpb.Value_StringValue:
			found[name] = v.StringValue
		case *structpb.Value_NullValue:
			found[name] = ""
		default:
			return nil
		}
	}
	return found
}

// TTL is the default time to live of a response.
const TTL = 60 * time.Second

// To returns a response to req. It has the tag, desired state and context of req,
// and the default TTL. The response shares the desired state and the context with
// req. A caller that changes them must replace them by copies.
func To(req *fnv1.RunFunctionRequest) *fnv1.RunFunctionResponse {
	return &fnv1.RunFunctionResponse{
		Meta:    &fnv1.ResponseMeta{Tag: req.GetMeta().GetTag(), Ttl: durationpb.New(TTL)},
		Desired: req.GetDesired(),
		Context: req.GetContext(),
	}
}

// Desired returns the desired composed resources of req without their connection details,
// as the SDK of real functions does. It shares the objects of the resources with req.
func Desired(req *fnv1.RunFunctionRequest) map[string]*fnv1.Resource {
	all := make(map[string]*fnv1.Resource, len(req.GetDesired().GetResources()))
	for name, r := range req.GetDesired().GetResources() {
		all[name] = &fnv1.Resource{Resource: r.GetResource(), Ready: r.GetReady()}
		if r.GetResource() == nil {
			all[name].Resource = &structpb.Struct{}
		}
	}
	return all
}

// Fatal adds err to rsp as a result of severity fatal, and returns rsp.
func Fatal(rsp *fnv1.RunFunctionResponse, err error) *fnv1.RunFunctionResponse {
	return result(rsp, fnv1.Severity_SEVERITY_FATAL, err)
}

// Warn adds err to rsp as a result of severity warning, and returns rsp.
func Warn(rsp *fnv1.RunFunctionResponse, err error) *fnv1.RunFunctionResponse {
	return result(rsp, fnv1.Severity_SEVERITY_WARNING, err)
}

// Normal adds text to rsp as a result of severity normal.
func Normal(rsp *fnv1.RunFunctionResponse, text string) {
	result(rsp, fnv1.Severity_SEVERITY_NORMAL, errors.New(text))
}

func result(rsp *fnv1.RunFunctionResponse, severity fnv1.Severity, err error) *fnv1.RunFunctionResponse {
	rsp.Results = append(rsp.Results, &fnv1.Result{
		Severity: severity,
		Message:  err.Error(),
		Target:   fnv1.Target_TARGET_COMPOSITE.Enum(),
	})
	return rsp
}
