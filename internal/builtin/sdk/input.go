package sdk

import (
	"fmt"
	"reflect"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
	kjson "sigs.k8s.io/json"
)

// Decode decodes a function's input into the struct that into points to, by its
// json tags. It is strict: a field that the struct lacks or spells with other
// capitals, and a value of another type, are errors. A null is as good as
// nothing, and no input is an empty one.
//
// The error begins as that of the real functions, whose input types are all of
// the Go package v1beta1; only what follows "json: " is our own, as theirs is an
// accident of a library.
func Decode(input *structpb.Struct, into any) error {
	kind := reflect.TypeOf(into).Elem().Name()
	err := decode(input, into)
	if err != nil {
		return fmt.Errorf("cannot get function input *v1beta1.%s from *v1.RunFunctionRequest: cannot unmarshal JSON from *structpb.Struct into *v1beta1.%s: json: %s", kind, kind, strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

func decode(input *structpb.Struct, into any) error {
	raw, err := input.MarshalJSON()
	if err != nil {
		return err
	}
	unknown, err := kjson.UnmarshalStrict(raw, into, kjson.DisallowUnknownFields)
	if err != nil {
		return err
	}
	if len(unknown) > 0 {
		return unknown[0]
	}
	return nil
}
