package patch_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/patch"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/patch/spec"
)

type object = map[string]any

// compiled returns the compiled form of a patch in YAML.
func compiled(t *testing.T, text string) patch.Patch {
	t.Helper()
	p := &spec.Patch{}
	e2e.NoError(t, yaml.UnmarshalStrict([]byte(text), p))
	return patch.Compile(p)
}

func TestApply(t *testing.T) {
	from := object{"null": "null", "i": int64(7), "f": 7.0, "s": "text", "l": []any{1.0, int64(2)}, "o": object{"a": int64(1)}}
	cases := map[string]struct {
		reason, patch string
		to, want      object
		wantErr       string
		missing       bool
	}{
		"Plain":       {"toFieldPath defaults to fromFieldPath", "{fromFieldPath: s}", object{"kind": "K"}, object{"kind": "K", "s": "text"}, "", false},
		"Integer":     {"a whole float is written as an integer", "{fromFieldPath: l, toFieldPath: x}", object{"kind": "K"}, object{"kind": "K", "x": []any{int64(1), int64(2)}}, "", false},
		"Object":      {"a whole float that exists in the target becomes an integer", "{fromFieldPath: s}", object{"kind": "K", "n": 3.0}, object{"kind": "K", "n": int64(3), "s": "text"}, "", false},
		"FormatInt":   {"a transform gets an integer as int64", "{fromFieldPath: i, toFieldPath: x, transforms: [{type: string, string: {type: Format, fmt: '%d'}}]}", object{"kind": "K"}, object{"kind": "K", "x": "7"}, "", false},
		"FormatFloat": {"a transform gets a whole float as float64", "{fromFieldPath: f, toFieldPath: x, transforms: [{type: string, string: {type: Format, fmt: '%d'}}]}", object{"kind": "K"}, object{"kind": "K", "x": "%!d(float64=7)"}, "", false},
		"Combine":     {"variables are combined to one string", "{type: CombineToComposite, toFieldPath: x, combine: {strategy: string, string: {fmt: '%d-%s'}, variables: [{fromFieldPath: i}, {fromFieldPath: s}]}}", object{"kind": "K"}, object{"kind": "K", "x": "7-text"}, "", false},
		"NullObject":  {"an object that is JSON null is written as null", "{fromFieldPath: 'null', toFieldPath: x, transforms: [{type: convert, convert: {toType: object, format: json}}]}", object{"kind": "K"}, object{"kind": "K", "x": nil}, "", false},
		"NullList":    {"a combined list that is JSON null is written as null", "{type: CombineFromComposite, combine: {strategy: string, string: {fmt: '%s'}, variables: [{fromFieldPath: 'null'}]}, toFieldPath: x, transforms: [{type: convert, convert: {toType: array, format: json}}]}", object{"kind": "K"}, object{"kind": "K", "x": nil}, "", false},
		"NullText":    {"an object that is JSON null has the text of an empty object", "{fromFieldPath: 'null', toFieldPath: x, transforms: [{type: convert, convert: {toType: object, format: json}}, {type: string, string: {type: Format, fmt: '%v'}}]}", object{"kind": "K"}, object{"kind": "K", "x": "map[]"}, "", false},
		"NullJoin":    {"a list that is JSON null has no elements", "{fromFieldPath: 'null', toFieldPath: x, transforms: [{type: convert, convert: {toType: array, format: json}}, {type: string, string: {type: Join, join: {separator: ','}}}]}", object{"kind": "K"}, object{"kind": "K", "x": ""}, "", false},
		"Merge":       {"MergeObjects keeps existing fields", "{fromFieldPath: o, policy: {toFieldPath: MergeObjects}}", object{"kind": "K", "o": object{"a": int64(2), "b": int64(3)}}, object{"kind": "K", "o": object{"a": int64(2), "b": int64(3)}}, "", false},
		"Wildcard":    {"a wildcard matches all existing elements", "{fromFieldPath: s, toFieldPath: 'l[*].x'}", object{"kind": "K", "l": []any{object{"x": 1.5}, object{}}}, object{"kind": "K", "l": []any{object{"x": "text"}, object{}}}, "", false},
		"Missing":     {"a missing source is a not-found error", "{fromFieldPath: none}", object{"kind": "K"}, object{"kind": "K"}, "none: no such field", true},
		"Required":    {"a missing optional source is a not-found error too", "{fromFieldPath: none, policy: {fromFieldPath: Optional}}", object{"kind": "K"}, object{"kind": "K"}, "none: no such field", true},
		"Path":        {"an invalid source path is an error", "{fromFieldPath: 'a..b', toFieldPath: x}", object{"kind": "K"}, object{"kind": "K"}, `cannot parse path "a..b": unexpected '.' at position 2`, false},
		"ToPath":      {"an invalid target path is an error", "{fromFieldPath: s, toFieldPath: 'a..b'}", object{"kind": "K"}, object{"kind": "K"}, `cannot patch to object: cannot parse path "a..b": unexpected '.' at position 2`, false},
		"WildPath":    {"an invalid target path with a wildcard is an error", "{fromFieldPath: s, toFieldPath: 'a..b[*]'}", object{"kind": "K"}, object{"kind": "K"}, `cannot parse path "a..b[*]": unexpected '.' at position 2`, false},
		"NoKind":      {"a target without a kind is an error after the write", "{fromFieldPath: s}", object{}, object{"s": "text"}, `cannot patch to object: Object 'Kind' is missing in '{"s":"text"}'`, false},
		"MinusZero":   {"the error for a missing kind shows numbers as they were", "{fromFieldPath: s}", object{"n": math.Copysign(0, -1)}, object{"n": 0.0, "s": "text"}, `cannot patch to object: Object 'Kind' is missing in '{"n":-0,"s":"text"}'`, false},
		"APIVersion":  {"a target with an invalid apiVersion has no kind", "{fromFieldPath: s}", object{"apiVersion": "a/b/c", "kind": "K"}, object{"apiVersion": "a/b/c", "kind": "K", "s": "text"}, `cannot patch to object: Object 'Kind' is missing in '{"apiVersion":"a/b/c","kind":"K","s":"text"}'`, false},
		"NoCombine":   {"a combine patch without combine is an error", "{type: CombineFromComposite, toFieldPath: x}", object{"kind": "K"}, object{"kind": "K"}, "combine must be set for patch type CombineFromComposite", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := compiled(t, tc.patch)
			to := &patch.Object{Fields: tc.to}
			err := p.Apply(from, to, &patch.Budget{})
			if got := errText(err); got != tc.wantErr || fieldpath.IsNotFound(err) != tc.missing {
				t.Errorf("%s: got error %q, want %q", tc.reason, got, tc.wantErr)
			}
			e2e.Equal(t, tc.reason, tc.want, to.Fields)
		})
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestSettled checks that a patch converts only the written value if the Object is Settled.
func TestSettled(t *testing.T) {
	p := compiled(t, "{fromFieldPath: f}")
	to := &patch.Object{Fields: object{"kind": "K", "n": 3.0}, Settled: true}
	e2e.NoError(t, p.Apply(object{"f": 2.0}, to, &patch.Budget{}))
	e2e.Equal(t, "only the written float becomes an integer", object{"kind": "K", "n": 3.0, "f": int64(2)}, to.Fields)
}

// TestSource checks that a patch reads the same from the source as from the whole object.
func TestSource(t *testing.T) {
	t.Parallel()
	whole := map[string]any{"kind": "A", "spec": map[string]any{"a": map[string]any{"b": "x", "c": 1.0}, "list": []any{map[string]any{"n": 1.0}, 2.0}, "none": nil, "empty": map[string]any{}}}
	object := e2e.Must(structpb.NewStruct(whole))(t)
	cases := map[string]struct {
		reason, paths string
		want          map[string]any
	}{
		"Field":   {"only the field is converted", "spec.a.b", map[string]any{"spec": map[string]any{"a": map[string]any{"b": "x"}}}},
		"Object":  {"an object is converted as a whole", "spec.a", map[string]any{"spec": map[string]any{"a": map[string]any{"b": "x", "c": 1.0}}}},
		"Element": {"the list of an element is converted as a whole", "spec.list[0].n", map[string]any{"spec": map[string]any{"list": []any{map[string]any{"n": 1.0}, 2.0}}}},
		"Several": {"paths with a common parent are both there", "spec.a.b spec.a.c kind", map[string]any{"kind": "A", "spec": map[string]any{"a": map[string]any{"b": "x", "c": 1.0}}}},
		"Within":  {"a path may be within another one", "spec.a spec.a.b spec", map[string]any{"spec": whole["spec"]}},
		"Missing": {"a missing field has its parents, so that the error is the same", "spec.empty.b.c", map[string]any{"spec": map[string]any{"empty": map[string]any{}}}},
		"Null":    {"a null on the path is converted", "spec.none.b", map[string]any{"spec": map[string]any{"none": nil}}},
		"Scalar":  {"a scalar on the path is converted", "kind.b", map[string]any{"kind": "A"}},
		"Root":    {"the object has no elements", "[0]", map[string]any{}},
		"Invalid": {"an invalid path reads nothing", "spec[", map[string]any{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			combined := &spec.Patch{Type: spec.CombineFromComposite, Combine: &spec.Combine{}}
			for path := range strings.FieldsSeq(tc.paths) {
				combined.Combine.Variables = append(combined.Combine.Variables, spec.Variable{FromFieldPath: path})
				p := patch.Parse(path)
				want, wantErr := p.Get(whole)
				one := patch.Compile(&spec.Patch{Type: spec.FromCompositeFieldPath, FromFieldPath: &path})
				got, err := p.Get(one.Source(object))
				if fmt.Sprint(err) != fmt.Sprint(wantErr) || !cmp.Equal(got, want) {
					t.Errorf("%s: %s: got %v and error %v, want %v and %v", tc.reason, path, got, err, want, wantErr)
				}
			}
			all := patch.Compile(combined)
			e2e.Equal(t, tc.reason, tc.want, all.Source(object))
		})
	}
}

// TestCompile checks the exported fields of a compiled patch.
func TestCompile(t *testing.T) {
	p := compiled(t, "{fromFieldPath: a}")
	if p.Type != spec.FromCompositeFieldPath || p.Policy != spec.FromOptional || p.Odd != "" {
		t.Errorf("the defaults are %q, %q and %q", p.Type, p.Policy, p.Odd)
	}
	p = compiled(t, "{type: ToCompositeFieldPath, fromFieldPath: a, policy: {fromFieldPath: Required}, transforms: [{type: string, string: {type: Join, join: {separator: ', '}}}]}")
	if p.Type != spec.ToCompositeFieldPath || p.Policy != spec.FromRequired || p.Odd == "" {
		t.Errorf("got %q, %q and %q", p.Type, p.Policy, p.Odd)
	}
}

func TestEnvironment(t *testing.T) {
	cases := map[string]struct {
		reason   string
		in, want object
	}{
		"Untyped": {"an environment without a type gets the internal type", object{"a": int64(1)}, object{"a": int64(1), "apiVersion": "internal.crossplane.io/v1alpha1", "kind": "Environment"}},
		"Typed":   {"an environment with a type keeps it", object{"apiVersion": "v1", "kind": "E"}, object{"apiVersion": "v1", "kind": "E"}},
		"Half":    {"an environment with only a kind keeps it", object{"kind": "E"}, object{"kind": "E"}},
		"Slashes": {"an environment with an invalid apiVersion gets the internal type", object{"apiVersion": "a/b/c", "kind": "E"}, object{"apiVersion": "internal.crossplane.io/v1alpha1", "kind": "Environment"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.Equal(t, tc.reason, tc.want, patch.Environment(tc.in).Fields)
		})
	}
}
