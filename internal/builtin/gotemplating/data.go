package gotemplating

import (
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
)

// templateData returns the request in its JSON form, which is the data of the template. A
// number without a fraction is an int64 if it is in the range of int64.
//
// The XR is converted without JSON, because encoding and decoding a long list need several
// times the list's memory.
func templateData(req *fnv1.RunFunctionRequest) (map[string]any, error) {
	xr := req.GetObserved().GetComposite().GetResource()
	if xr != nil {
		observed, _ := reconciler.Without(req.GetObserved(), "composite").(*fnv1.State)
		observed.Composite, _ = reconciler.Without(req.GetObserved().GetComposite(), "resource").(*fnv1.Resource)
		req, _ = reconciler.Without(req, "observed").(*fnv1.RunFunctionRequest)
		req.Observed = observed
	}
	raw, err := protojson.Marshal(req)
	if err != nil {
		return nil, err
	}
	data := map[string]any{}
	if err := kjson.Unmarshal(raw, &data); err != nil {
		return nil, err
	}
	if xr != nil {
		resource, err := plainObject(xr)
		if err != nil {
			return nil, err
		}
		data["observed"].(map[string]any)["composite"].(map[string]any)["resource"] = resource
	}
	if required, ok := data["requiredResources"]; ok && data["extraResources"] == nil {
		data["extraResources"] = required
	}
	return data, nil
}

// plainObject returns the same as decoding the JSON form of s. It returns an error if s has no JSON
// form.
func plainObject(s *structpb.Struct) (map[string]any, error) {
	obj := make(map[string]any, len(s.GetFields()))
	for key, v := range s.GetFields() {
		if !utf8.ValidString(key) {
			return nil, fmt.Errorf("invalid UTF-8 in %q", key)
		}
		var err error
		if obj[key], err = plainValue(v); err != nil {
			return nil, err
		}
	}
	return obj, nil
}

func plainValue(v *structpb.Value) (any, error) {
	switch k := v.GetKind().(type) {
	case *structpb.Value_NullValue:
		return nil, nil
	case *structpb.Value_BoolValue:
		return k.BoolValue, nil
	case *structpb.Value_NumberValue:
		if math.IsNaN(k.NumberValue) || math.IsInf(k.NumberValue, 0) {
			return nil, fmt.Errorf("JSON has no number %v", k.NumberValue)
		}
		return fieldpath.Whole(k.NumberValue), nil
	case *structpb.Value_StringValue:
		if !utf8.ValidString(k.StringValue) {
			return nil, fmt.Errorf("invalid UTF-8 in %q", k.StringValue)
		}
		return k.StringValue, nil
	case *structpb.Value_StructValue:
		return plainObject(k.StructValue)
	case *structpb.Value_ListValue:
		list := make([]any, len(k.ListValue.GetValues()))
		for i, v := range k.ListValue.GetValues() {
			var err error
			if list[i], err = plainValue(v); err != nil {
				return nil, err
			}
		}
		return list, nil
	default:
		return nil, errors.New("a value has no kind")
	}
}
