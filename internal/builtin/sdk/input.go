package sdk

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"go/token"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"golang.org/x/mod/semver"
	"google.golang.org/protobuf/types/known/structpb"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/proc"
)

// Meta has the fields that all inputs have and functions ignore.
type Meta struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   metav1.ObjectMeta `json:"metadata"`
}

// Decode decodes a function's input into a struct by its json tags. Unknown
// fields, field names in another case, and values of the wrong type are errors.
// absent are the paths of fields that the struct has, but not the imitated version of the
// function, such as "rules[].condition". They are unknown fields, too.
//
// An error begins with the text of the real functions, whose input types are in Go packages
// called v1beta1. If the field is unknown and the Go name of its type is known, the whole
// text equals the text of the real function. In other errors, the text after "json: " comes
// from the JSON library.
func Decode(input *structpb.Struct, into any, absent ...string) error {
	t := reflect.TypeOf(into).Elem()
	raw, err := input.MarshalJSON()
	if err == nil {
		var unknown []error
		if unknown, err = kjson.UnmarshalStrict(raw, into, kjson.DisallowUnknownFields); err == nil && len(unknown) > 0 {
			err = unknownField(t, pathOf(unknown[0]))
		}
	}
	if i := slices.IndexFunc(absent, func(path string) bool { return has(input, path) }); err == nil && i >= 0 {
		err = unknownField(t, absent[i])
	}
	if err != nil {
		return fmt.Errorf("cannot get function input *v1beta1.%s from *v1.RunFunctionRequest: cannot unmarshal JSON from *structpb.Struct into *v1beta1.%s: json: %s", goName(t), goName(t), strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// has reports whether an object has a field at a path, in which [] is any index.
func has(object *structpb.Struct, path string) bool {
	name, rest, more := strings.Cut(path, ".")
	name, isList := strings.CutSuffix(name, "[]")
	v, ok := object.GetFields()[name]
	switch {
	case !ok || !more:
		return ok
	case isList:
		return slices.ContainsFunc(v.GetListValue().GetValues(), func(v *structpb.Value) bool { return has(v.GetStructValue(), rest) })
	default:
		return has(v.GetStructValue(), rest)
	}
}

// goTypes are the names of the Go types of objects in the inputs of real functions, by their
// paths without indexes. No two functions have different types at the same path.
var goTypes = map[string]string{
	"environment.patches[]":                        "EnvironmentPatch",
	"patchSets[].patches[]":                        "PatchSetPatch",
	"resources[]":                                  "ComposedTemplate",
	"resources[].patches[]":                        "ComposedPatch",
	"resources[].readinessChecks[].matchCondition": "MatchConditionReadinessCheck",
	"writeConnectionSecretToRef":                   "WriteConnectionSecretToRef",
	"writeConnectionSecretToRef.patches[]":         "ConnectionSecretPatch",

	"spec":                               "InputSpec",
	"spec.policy":                        "Policy",
	"spec.environmentConfigs[]":          "EnvironmentSource",
	"spec.environmentConfigs[].ref":      "EnvironmentSourceReference",
	"spec.environmentConfigs[].selector": "EnvironmentSourceSelector",
	"spec.environmentConfigs[].selector.matchLabels[]": "EnvironmentSourceSelectorLabelMatcher",
	"spec.extraResources[]":                            "ResourceSource",
	"spec.extraResources[].ref":                        "ResourceSourceReference",
	"spec.extraResources[].selector":                   "ResourceSourceSelector",
	"spec.extraResources[].selector.matchLabels[]":     "ResourceSourceSelectorLabelMatcher",
}

// patchTypes are the names of types below a patch, by their paths below it.
var patchTypes = map[string]string{
	"combine.string":                "StringCombine",
	"combine.variables[]":           "CombineVariable",
	"policy":                        "PatchPolicy",
	"transforms[].convert":          "ConvertTransform",
	"transforms[].match":            "MatchTransform",
	"transforms[].match.patterns[]": "MatchTransformPattern",
	"transforms[].math":             "MathTransform",
	"transforms[].string":           "StringTransform",
	"transforms[].string.join":      "StringTransformJoin",
	"transforms[].string.regexp":    "StringTransformRegexp",
	"transforms[].string.replace":   "StringTransformReplace",
}

var index = proc.Regexp(`\[[0-9]+\]`)

// unknownField returns the error of the real functions for an unknown field at a path of an
// input of type t. If the name of the field's Go type is not known, it returns the error of the
// JSON library.
func unknownField(t reflect.Type, path string) error {
	parent, name := "", path
	if dot := strings.LastIndex(path, "."); dot >= 0 {
		parent, name = index().ReplaceAllString(path[:dot], "[]"), path[dot+1:]
	}
	known := goTypes[parent]
	if _, below, ok := strings.Cut(parent, "patches[]."); ok {
		known = patchTypes[below]
	}
	goType := "v1beta1." + known
	if known == "" {
		goType = goTypeAt(t, parent)
	}
	if strings.HasSuffix(goType, ".") {
		return fmt.Errorf("unknown field %q", path)
	}
	return fmt.Errorf("cannot unmarshal Go value of type %s: unknown name %q", goType, name)
}

// goTypeAt returns the name of the struct type at a path below t, with the package name of the
// real functions. The result ends with a dot if there is no such type, or if the type is
// unexported, because then its name differs from the name in the real function.
func goTypeAt(t reflect.Type, path string) string {
	for part := range strings.SplitSeq(path, ".") {
		if path != "" {
			t = fieldType(t, part)
		}
	}
	switch {
	case t == nil || t.Kind() != reflect.Struct || !token.IsExported(t.Name()):
		return "v1beta1."
	case strings.HasPrefix(t.PkgPath(), "k8s.io/"):
		return t.String()
	default:
		return "v1beta1." + goName(t)
	}
}

// goName returns the name of an input's type in the real function. Several real functions call it
// Input; here, the name of the function precedes that.
func goName(t reflect.Type) string {
	if strings.HasSuffix(t.Name(), "Input") {
		return "Input"
	}
	return t.Name()
}

// fieldType returns the type to which part of a path leads, such as name or list[], or nil.
func fieldType(t reflect.Type, part string) reflect.Type {
	name, isList := strings.CutSuffix(part, "[]")
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	for _, f := range reflect.VisibleFields(t) {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch elem := f.Type; {
		case tag != name || isList != (elem.Kind() == reflect.Slice):
		case elem.Kind() == reflect.Slice || elem.Kind() == reflect.Pointer:
			return elem.Elem()
		default:
			return elem
		}
	}
	return nil
}

// UnknownFields returns the paths of the fields in an input that a struct type does not have.
// The input is in JSON.
func UnknownFields(input []byte, t reflect.Type) []string {
	unknown, err := kjson.UnmarshalStrict(input, reflect.New(t).Interface(), kjson.DisallowUnknownFields)
	if err != nil {
		return nil
	}
	paths := make([]string, len(unknown))
	for i, err := range unknown {
		paths[i] = pathOf(err)
	}
	return paths
}

// FieldNamed returns the path of a field with a name in an input, or "". The input is in JSON. Of
// several fields, it returns the first in the order of paths.
func FieldNamed(input []byte, name string) string {
	in := &structpb.Struct{}
	if in.UnmarshalJSON(input) != nil {
		return ""
	}
	return fieldNamed(structpb.NewStructValue(in), name)
}

func fieldNamed(v *structpb.Value, name string) string {
	fields := v.GetStructValue().GetFields()
	if _, ok := fields[name]; ok {
		return name
	}
	for _, key := range manifest.Keys(fields) {
		if path := fieldNamed(fields[key], name); path != "" {
			return key + below(path)
		}
	}
	for i, element := range v.GetListValue().GetValues() {
		if path := fieldNamed(element, name); path != "" {
			return fmt.Sprintf("[%d]%s", i, below(path))
		}
	}
	return ""
}

// below returns a path as the end of a longer path.
func below(path string) string {
	if strings.HasPrefix(path, "[") {
		return path
	}
	return "." + path
}

// pathOf returns the path of the field in a strict error of the JSON library, or "".
func pathOf(err error) string {
	if field, ok := errors.AsType[kjson.FieldError](err); ok {
		return field.FieldPath()
	}
	return ""
}

// Inputs decodes the inputs of a function into structs, and caches these. The zero value is for
// a function all of whose versions have the same fields.
type Inputs[T any] struct {
	// Lacks are the fields that the version of the function does not have, as in Decode.
	Lacks []string
	memo  proc.Memo[Sum, *T]
}

// Of returns the input in a request, which must not be changed. The text of an error is the
// message of the fatal result.
func (i *Inputs[T]) Of(req *fnv1.RunFunctionRequest) (*T, error) {
	return i.memo.Do(SumOf(req.GetInput()), func() (*T, error) { return Input[T](req, i.Lacks...) })
}

// Input decodes the input in a request, like Inputs.Of. lacks are the paths of fields that the
// imitated version lacks.
func Input[T any](req *fnv1.RunFunctionRequest, lacks ...string) (*T, error) {
	in := new(T)
	if err := Decode(req.GetInput(), in, lacks...); err != nil {
		return nil, fmt.Errorf("cannot get Function input from *v1.RunFunctionRequest: %w", err)
	}
	return in, nil
}

// A Sum is the SHA-256 digest of an input.
type Sum [sha256.Size]byte

// SumOf returns the digest of an input. Equal inputs have equal digests. SumOf is
// ten times as fast as a digest of the output of a deterministic proto.Marshal.
func SumOf(input *structpb.Struct) Sum {
	return sha256.Sum256(appendObject(nil, input))
}

func appendObject(b []byte, s *structpb.Struct) []byte {
	b = binary.AppendUvarint(append(b, '{'), uint64(len(s.GetFields())))
	for _, key := range manifest.Keys(s.GetFields()) {
		b = appendValue(appendText(b, key), s.GetFields()[key])
	}
	return b
}

func appendValue(b []byte, v *structpb.Value) []byte {
	switch v := v.GetKind().(type) {
	case *structpb.Value_StringValue:
		return appendText(b, v.StringValue)
	case *structpb.Value_NumberValue:
		return binary.BigEndian.AppendUint64(append(b, 'n'), math.Float64bits(v.NumberValue))
	case *structpb.Value_BoolValue:
		if v.BoolValue {
			return append(b, 't')
		}
		return append(b, 'f')
	case *structpb.Value_StructValue:
		return appendObject(b, v.StructValue)
	case *structpb.Value_ListValue:
		b = binary.AppendUvarint(append(b, '['), uint64(len(v.ListValue.GetValues())))
		for _, element := range v.ListValue.GetValues() {
			b = appendValue(b, element)
		}
		return b
	default:
		return append(b, '0')
	}
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(append(b, '"'), uint64(len(s))), s...)
}

// Since reports whether a version of a real function, such as v0.7.1, is since or later. The
// branch main is later than all releases. Any other text, such as "", means the release newest.
func Since(version, newest, since string) bool {
	if version == "main" {
		return true
	}
	if !semver.IsValid(version) {
		version = newest
	}
	return semver.Compare(version, since) >= 0
}

// Absent returns the paths of fields that a version does not have, for Decode. since has the
// first version with each field.
func Absent(version, newest string, since map[string]string) []string {
	var absent []string
	for _, path := range slices.Sorted(maps.Keys(since)) {
		if !Since(version, newest, since[path]) {
			absent = append(absent, path)
		}
	}
	return absent
}
