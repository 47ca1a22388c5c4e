package sdk

import (
	"fmt"
	"reflect"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
	kjson "sigs.k8s.io/json"
)

// Decode decodes a function's input into the struct that into points to, by its
// json tags. Unknown fields, names with other capitals, and values of other
// types are errors.
//
// The error begins like that of the real functions, whose input types are in Go
// packages v1beta1. The text after "json: " depends on the library.
func Decode(input *structpb.Struct, into any) error {
	raw, err := input.MarshalJSON()
	if err == nil {
		var unknown []error
		if unknown, err = kjson.UnmarshalStrict(raw, into, kjson.DisallowUnknownFields); err == nil && len(unknown) > 0 {
			err = unknown[0]
		}
	}
	if err != nil {
		kind := reflect.TypeOf(into).Elem().Name()
		return fmt.Errorf("cannot get function input *v1beta1.%s from *v1.RunFunctionRequest: cannot unmarshal JSON from *structpb.Struct into *v1beta1.%s: json: %s", kind, kind, strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}
