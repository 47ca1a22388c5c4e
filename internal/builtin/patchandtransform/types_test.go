package patchandtransform_test

import (
	"testing"

	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/internal/builtin/sdk"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/patch/spec"
)

// TestUnknownFields checks that an error for an unknown field names the Go type as
// function-patch-and-transform v0.10.7 does.
func TestUnknownFields(t *testing.T) {
	for input, want := range map[string]string{
		"patchSets: [{x: 1}]":                                                     "PatchSet",
		"patchSets: [{patches: [{x: 1}]}]":                                        "PatchSetPatch",
		"patchSets: [{patches: [{transforms: [{math: {x: 1}}]}]}]":                "MathTransform",
		"environment: {x: 1}":                                                     "Environment",
		"environment: {patches: [{x: 1}]}":                                        "EnvironmentPatch",
		"resources: [{x: 1}]":                                                     "ComposedTemplate",
		"resources: [{patches: [{x: 1}]}]":                                        "ComposedPatch",
		"resources: [{patches: [{policy: {x: 1}}]}]":                              "PatchPolicy",
		"resources: [{patches: [{combine: {x: 1}}]}]":                             "Combine",
		"resources: [{patches: [{combine: {variables: [{x: 1}]}}]}]":              "CombineVariable",
		"resources: [{patches: [{combine: {string: {x: 1}}}]}]":                   "StringCombine",
		"resources: [{patches: [{transforms: [{x: 1}]}]}]":                        "Transform",
		"resources: [{patches: [{transforms: [{match: {x: 1}}]}]}]":               "MatchTransform",
		"resources: [{patches: [{transforms: [{match: {patterns: [{x: 1}]}}]}]}]": "MatchTransformPattern",
		"resources: [{patches: [{transforms: [{string: {x: 1}}]}]}]":              "StringTransform",
		"resources: [{patches: [{transforms: [{string: {regexp: {x: 1}}}]}]}]":    "StringTransformRegexp",
		"resources: [{patches: [{transforms: [{string: {join: {x: 1}}}]}]}]":      "StringTransformJoin",
		"resources: [{patches: [{transforms: [{string: {replace: {x: 1}}}]}]}]":   "StringTransformReplace",
		"resources: [{patches: [{transforms: [{convert: {x: 1}}]}]}]":             "ConvertTransform",
		"resources: [{connectionDetails: [{x: 1}]}]":                              "ConnectionDetail",
		"resources: [{readinessChecks: [{x: 1}]}]":                                "ReadinessCheck",
		"resources: [{readinessChecks: [{matchCondition: {x: 1}}]}]":              "MatchConditionReadinessCheck",
		"writeConnectionSecretToRef: {x: 1}":                                      "WriteConnectionSecretToRef",
		"writeConnectionSecretToRef: {patches: [{x: 1}]}":                         "ConnectionSecretPatch",
		"writeConnectionSecretToRef: {patches: [{transforms: [{math: {x: 1}}]}]}": "MathTransform",
	} {
		var object map[string]any
		e2e.NoError(t, yaml.Unmarshal([]byte(input), &object))
		err := sdk.Decode(e2e.Must(structpb.NewStruct(object))(t), &spec.Resources{})
		e2e.ErrorHas(t, "the error names the type that lacks the field in "+input, err, "cannot unmarshal Go value of type v1beta1."+want+`: unknown name "x"`)
	}
}
