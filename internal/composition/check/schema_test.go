package check_test

import (
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/composition/check"
	"github.com/xfn-dev/xfn/internal/e2e"
)

// template returns a Composition with one step, whose input has one resource
// template. The text rest is the end of the template and begins on line 16.
func template(rest string) string {
	return pipeline("  resources:\n  - name: a\n    base: {apiVersion: gold.test/v1, kind: Bucket}\n" + indent(rest))
}

// patchInput returns a Composition whose only resource template has one patch.
func patchInput(text string) string { return template("patches:\n- {" + text + "}\n") }

// short abbreviates kinds and field paths in problems, such as MR for kind Bucket.
func short(all []string) []string {
	for i, line := range all {
		line = strings.ReplaceAll(line, " of kind XWidget of gold.test/v1", " of XR")
		line = strings.ReplaceAll(line, " of kind Bucket of gold.test/v1", " of MR")
		line = strings.ReplaceAll(line, "kind XWidget of gold.test/v1", "XR")
		line = strings.ReplaceAll(line, "kind Bucket of gold.test/v1", "MR")
		all[i] = strings.Replace(strings.ReplaceAll(line, "spec.pipeline[0].input.resources[0].", ""), "17 patches[0].", "", 1)
	}
	return all
}

func TestPatches(t *testing.T) {
	const noEnvironment = `fromFieldPath: warning: OutOfOrder: no step before step "compose" gives it an environment: add a step of function-environment-configs before it`
	cases := map[string]struct{ reason, patch, want string }{
		"Same":              {"a string fits a string", "fromFieldPath: spec.text, toFieldPath: spec.text", ""},
		"Default":           {"a patch without a target writes to its source path", "fromFieldPath: spec.text", ""},
		"NoSource":          {"the source must exist", "fromFieldPath: spec.txt, toFieldPath: spec.text", "fromFieldPath: NoSuchField: XR has no field spec.txt, did you mean spec.text?"},
		"NoTarget":          {"the target must exist", "fromFieldPath: spec.text, toFieldPath: spec.deep.er", "toFieldPath: NoSuchField: MR has no field spec.deep"},
		"NoDefaultTarget":   {"the target must exist if it is the source path", "fromFieldPath: spec.counts", "fromFieldPath: NoSuchField: MR has no field spec.counts, did you mean spec.count?"},
		"Near":              {"an error suggests a similar field", "fromFieldPath: spec.Text, toFieldPath: spec.text", "fromFieldPath: NoSuchField: XR has no field spec.Text, did you mean spec.text?"},
		"BelowText":         {"a string has no fields", "fromFieldPath: spec.text.a, toFieldPath: spec.text", "fromFieldPath: NoSuchField: spec.text of XR is a string, so it has no a"},
		"BelowList":         {"a list has no fields", "fromFieldPath: spec.list.a, toFieldPath: spec.text", "fromFieldPath: NoSuchField: spec.list of XR is an array, so it has no a"},
		"IndexOfObject":     {"an object has no elements", "fromFieldPath: 'spec.map[0]', toFieldPath: spec.text", "fromFieldPath: NoSuchField: spec.map of XR is an object, so it has no [0]"},
		"Index":             {"elements of a list have a type", "fromFieldPath: 'spec.list[3]', toFieldPath: spec.count", "toFieldPath: WrongType: spec.list[3] of XR is a string, but spec.count of MR must be an integer"},
		"TargetIndex":       {"elements of two lists are compared", "fromFieldPath: spec.text, toFieldPath: 'spec.rules[0].name'", ""},
		"LargeIndex":        {"the index of a list has a maximum", "fromFieldPath: spec.text, toFieldPath: 'spec.rules[1025].name'", "toFieldPath: InvalidInput: index 1025 exceeds the maximum, 1024"},
		"Key":               {"a map has any key", "fromFieldPath: 'spec.map[a.b/c]', toFieldPath: spec.text", ""},
		"KeyType":           {"values of a map have a type", "fromFieldPath: spec.map.x, toFieldPath: spec.flag", "toFieldPath: WrongType: spec.map.x of XR is a string, but spec.flag of MR must be a boolean"},
		"Open":              {"an object that preserves unknown fields has any path", "fromFieldPath: 'spec.any.a[0].b', toFieldPath: spec.open.x.y", ""},
		"UnknownToText":     {"an unknown field fits any type", "fromFieldPath: spec.any.a, toFieldPath: spec.text", ""},
		"AnyIsAnObject":     {"an object that preserves unknown fields is still an object", "fromFieldPath: spec.any, toFieldPath: spec.text", "toFieldPath: WrongType: spec.any of XR is an object, but spec.text of MR must be a string"},
		"IntegerToNumber":   {"an integer fits a number", "fromFieldPath: spec.count, toFieldPath: spec.ratio", ""},
		"NumberToInteger":   {"a number may fit an integer", "fromFieldPath: spec.ratio, toFieldPath: spec.count", ""},
		"TextToInteger":     {"a string does not fit an integer", "fromFieldPath: spec.text, toFieldPath: spec.count", "toFieldPath: WrongType: spec.text of XR is a string, but spec.count of MR must be an integer"},
		"IntOrString":       {"an int-or-string may fit an integer", "fromFieldPath: spec.port, toFieldPath: spec.count", ""},
		"ToIntOrString":     {"an int-or-string accepts a string", "fromFieldPath: spec.text, toFieldPath: spec.port", ""},
		"NotIntOrString":    {"an int-or-string does not accept a boolean", "fromFieldPath: spec.flag, toFieldPath: spec.port", "toFieldPath: WrongType: spec.flag of XR is a boolean, but spec.port of MR must be a string or an integer"},
		"Nullable":          {"a nullable value has only its other type", "fromFieldPath: spec.maybe, toFieldPath: spec.count", "toFieldPath: WrongType: spec.maybe of XR is a string, but spec.count of MR must be an integer"},
		"Metadata":          {"every object has metadata", "fromFieldPath: 'metadata.labels[app]', toFieldPath: 'metadata.annotations[a.b/c]'", ""},
		"MetadataType":      {"fields of metadata have types", "fromFieldPath: metadata.generation, toFieldPath: metadata.name", "toFieldPath: WrongType: metadata.generation of XR is an integer, but metadata.name of MR must be a string"},
		"NoMetadata":        {"unknown fields of metadata do not exist", "fromFieldPath: metadata.label, toFieldPath: metadata.name", "fromFieldPath: NoSuchField: XR has no field metadata.label, did you mean metadata.labels?"},
		"Owner":             {"lists of metadata have elements", "fromFieldPath: 'metadata.ownerReferences[0].uid', toFieldPath: spec.text", ""},
		"Kind":              {"every object has a kind", "fromFieldPath: kind, toFieldPath: spec.text", ""},
		"CrossplanesFields": {"Crossplane adds fields to the schema of an XRD", "fromFieldPath: spec.crossplane.compositionRef.name, toFieldPath: spec.text", ""},
		"Embedded":          {"an embedded object has metadata", "fromFieldPath: spec.text, toFieldPath: spec.manifest.metadata.nam", "toFieldPath: NoSuchField: MR has no field spec.manifest.metadata.nam, did you mean spec.manifest.metadata.name?"},
		"EmbeddedSpec":      {"an embedded object preserves its other fields", "fromFieldPath: spec.text, toFieldPath: spec.manifest.spec.a", ""},
		"Wildcard":          {"a wildcard addresses each element", "fromFieldPath: spec.text, toFieldPath: 'spec.rules[*].name'", ""},
		"WildcardType":      {"the element at a wildcard has a type", "fromFieldPath: spec.text, toFieldPath: 'spec.rules[*].ports[*]'", "toFieldPath: WrongType: spec.text of XR is a string, but spec.rules[*].ports[*] of MR must be an integer"},
		"WildcardField":     {"the element at a wildcard has fields", "fromFieldPath: spec.text, toFieldPath: 'spec.rules[*].title'", "toFieldPath: NoSuchField: MR has no field spec.rules[*].title"},
		"WildcardMap":       {"a wildcard addresses each value of a map", "fromFieldPath: spec.count, toFieldPath: 'spec.map[*]'", "toFieldPath: WrongType: spec.count of XR is an integer, but spec.map[*] of MR must be a string"},
		"WildcardObject":    {"a wildcard addresses each field of an object, of any type", "fromFieldPath: spec.count, toFieldPath: 'spec.object[*]'", ""},
		"WildcardScalar":    {"a string has no elements for a wildcard", "fromFieldPath: spec.text, toFieldPath: 'spec.text[*]'", "toFieldPath: NoSuchField: spec.text of MR is a string, so it has no [*]"},
		"WildcardSource":    {"in a source a wildcard is a key", "fromFieldPath: 'spec.list[*]', toFieldPath: spec.text", "fromFieldPath: NoSuchField: spec.list of XR is an array, so it has no [*]"},
		"BadPath":           {"a source path must be well-formed", "fromFieldPath: 'spec..text', toFieldPath: spec.text", `fromFieldPath: InvalidInput: cannot parse path "spec..text": unexpected '.' at position 5`},
		"BadTarget":         {"a target path must be well-formed", "fromFieldPath: spec.text, toFieldPath: 'spec.list['", `toFieldPath: InvalidInput: cannot parse path "spec.list[": unterminated '[' at position 9`},
		"Maps":              {"a map fits a map of the same type", "fromFieldPath: spec.map", ""},
		"ObjectToMap":       {"an object fits a map if its fields have the map's type", "fromFieldPath: spec.object, toFieldPath: spec.map", ""},
		"Lists":             {"a list does not fit a list of other elements", "fromFieldPath: spec.counts, toFieldPath: spec.list", "toFieldPath: WrongType: [*] of spec.counts of XR is an integer, but must be a string in spec.list of MR"},
		"ObjectLoses":       {"an object does not fit if the target lacks a required field", "fromFieldPath: spec.object", "fromFieldPath: WrongType: spec.object of XR always has extra, but spec.object of MR has no such field"},
		"ObjectField":       {"an object does not fit if an optional field has another type", "fromFieldPath: spec.pair, toFieldPath: spec.object", "toFieldPath: WrongType: size of spec.pair of XR is a string, but must be an integer in spec.object of MR"},
		"MapToObject":       {"a map may fit an object", "fromFieldPath: spec.map, toFieldPath: spec.object", ""},
		"FromRoot":          {"a composite resource has five fields at its root", "fromFieldPath: text, toFieldPath: spec.text", "fromFieldPath: NoRootField: a composite resource has no field text, only apiVersion, kind, metadata, spec, status, did you mean spec.text?"},
		"FromRootTypo":      {"a field at the root may be misspelled", "fromFieldPath: sepc.text, toFieldPath: spec.text", "fromFieldPath: NoRootField: a composite resource has no field sepc.text, only apiVersion, kind, metadata, spec, status, did you mean spec.text?"},
		"ToXRStatus":        {"a pipeline patches the XR's status", "type: ToCompositeFieldPath, fromFieldPath: status.text, toFieldPath: status.text", ""},
		"ToXRSpec":          {"a pipeline does not patch other fields of the XR", "type: ToCompositeFieldPath, fromFieldPath: status.text, toFieldPath: spec.text", "toFieldPath: warning: OutsideStatus: a pipeline only changes the status of a composite resource, so spec.text is not applied, did you mean type: FromCompositeFieldPath?"},
		"ToXRType":          {"the XR's status has a type", "type: ToCompositeFieldPath, fromFieldPath: status.flag, toFieldPath: status.count", "toFieldPath: WrongType: status.flag of MR is a boolean, but status.count of XR must be an integer"},
		"ToStatus":          {"only its controller sets the status of a resource", "fromFieldPath: spec.text, toFieldPath: status.text", "toFieldPath: warning: NotApplied: the status of a composed resource is not applied"},
		"FromEnvironment":   {"an environment has any field", "type: FromEnvironmentFieldPath, fromFieldPath: a.b, toFieldPath: spec.count", noEnvironment},
		"FromEnvironmentTo": {"the target of a value from the environment must exist", "type: FromEnvironmentFieldPath, fromFieldPath: a.b, toFieldPath: spec.cont", "toFieldPath: NoSuchField: MR has no field spec.cont, did you mean spec.count?\n" + noEnvironment},
		"ToEnvironment":     {"the source of a value for the environment must exist", "type: ToEnvironmentFieldPath, fromFieldPath: status.nothing, toFieldPath: a", "fromFieldPath: NoSuchField: MR has no field status.nothing"},
		"Combine":           {"a combined value is a string", "type: CombineFromComposite, toFieldPath: spec.text, combine: {strategy: string, string: {fmt: '%s-%v'}, variables: [{fromFieldPath: spec.text}, {fromFieldPath: spec.count}]}", ""},
		"CombineType":       {"a combined value does not fit an integer", "type: CombineFromComposite, toFieldPath: spec.count, combine: {strategy: string, string: {fmt: '%s'}, variables: [{fromFieldPath: spec.text}]}", "toFieldPath: WrongType: the combined value is a string, but spec.count of MR must be an integer"},
		"CombineVariable":   {"the variables of a combine patch must exist", "type: CombineToComposite, toFieldPath: status.text, combine: {strategy: string, string: {fmt: '%s'}, variables: [{fromFieldPath: spec.text}, {fromFieldPath: spec.none}]}", "combine.variables[1].fromFieldPath: NoSuchField: MR has no field spec.none"},
		"CombineWildcard":   {"the target of a combine patch has no wildcards", "type: CombineFromComposite, toFieldPath: 'spec.rules[*].name', combine: {strategy: string, string: {fmt: '%s'}, variables: [{fromFieldPath: spec.text}]}", "toFieldPath: NoSuchField: spec.rules of MR is an array, so it has no [*].name"},
		"RequiredOptional":  {"a required policy is allowed for an optional field", "fromFieldPath: spec.count, policy: {fromFieldPath: Required}", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(short(lines(check.Composition(t.Context(), entry(t, patchInput(tc.patch)), options(known(t).Definition, check.Strict)))), "\n")
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
}

func TestTransforms(t *testing.T) {
	const (
		ends  = "toFieldPath: WrongType: the output of the transforms is "
		first = "transforms[0]: WrongType: "
	)
	cases := map[string]struct{ reason, from, transforms, to, want string }{
		"Map":             {"a map returns the type of its values", "text", "{type: map, map: {a: 1, b: 2.0}}", "count", ""},
		"MapTypes":        {"a map may return several types", "text", "{type: map, map: {a: x, b: true}}", "count", ends + "a string or a boolean, but spec.count of MR must be an integer"},
		"MapSome":         {"one of several types must fit", "text", "{type: map, map: {a: x, b: 1}}", "count", ""},
		"MapInput":        {"a map requires a string", "count", "{type: map, map: {'1': x}}", "text", first + "this map transform requires a string, got an integer"},
		"MapEnum":         {"a map requires a value for each enum value", "size", "{type: map, map: {small: x}}", "text", `transforms[0].map: NotInMap: spec.size of XR may be "large", but the map has no value for it`},
		"MapLater":        {"a map after another transform is not checked", "size", "{type: string, string: {type: Convert, convert: ToUpper}}, {type: map, map: {SMALL: x}}", "text", ""},
		"MapNull":         {"a null in a map fits any type", "text", "{type: map, map: {a: null}}", "count", ""},
		"Match":           {"a match returns the types of its results", "text", "{type: match, match: {patterns: [{type: literal, literal: a, result: [x]}], fallbackValue: {}}}", "text", ends + "an object or an array, but spec.text of MR must be a string"},
		"MatchFallback":   {"a match may return its input", "text", "{type: match, match: {patterns: [{type: literal, literal: a, result: 1}], fallbackTo: Input}}", "text", ""},
		"MatchInput":      {"a match requires a string", "flag", "{type: match, match: {patterns: [{type: literal, literal: a, result: x}]}}", "text", first + "this match transform requires a string, got a boolean"},
		"Multiply":        {"math keeps integers", "count", "{type: math, math: {type: Multiply, multiply: 2}}", "text", ends + "an integer, but spec.text of MR must be a string"},
		"MultiplyNumber":  {"math accepts numbers", "ratio", "{type: math, math: {type: Multiply, multiply: 2}}", "count", ""},
		"MathInput":       {"math requires a number", "text", "{type: math, math: {type: ClampMin, clampMin: 2}}", "count", first + "this math transform requires a number, got a string"},
		"Format":          {"a string transform accepts any value", "object", "{type: string, string: {type: Format, fmt: '%v'}}", "count", ends + "a string, but spec.count of MR must be an integer"},
		"Regexp":          {"a trimmed string is a string", "text", "{type: string, string: {type: Regexp, regexp: {match: a}}}", "text", ""},
		"Join":            {"joined elements are a string", "list", "{type: string, string: {type: Join, join: {separator: ','}}}", "text", ""},
		"JoinInput":       {"a join requires a list", "text", "{type: string, string: {type: Join, join: {separator: ','}}}", "text", first + "this string transform requires an array, got a string"},
		"ConvertInt":      {"a string converts to an integer", "text", "{type: convert, convert: {toType: int}}", "count", ""},
		"ConvertFloat":    {"a string converts to a number", "text", "{type: convert, convert: {toType: float64}}", "flag", ends + "a number, but spec.flag of MR must be a boolean"},
		"ConvertBool":     {"a string converts to a boolean", "count", "{type: convert, convert: {toType: bool}}", "flag", ""},
		"ConvertText":     {"numbers and booleans convert to a string", "flag", "{type: convert, convert: {toType: string}}", "text", ""},
		"ConvertList":     {"a list does not convert", "list", "{type: convert, convert: {toType: string}}", "text", first + "this convert transform requires a string or a number or a boolean, got an array"},
		"ConvertJSON":     {"a string with the format json converts to an object", "text", "{type: convert, convert: {toType: object, format: json}}", "object", ""},
		"ConvertNoJSON":   {"the format json must be set", "text", "{type: convert, convert: {toType: object}}", "object", "transforms[0].convert.format: InvalidInput: the format none cannot convert a value to object; the format json converts a string"},
		"ConvertArray":    {"a string with the format json converts to an array", "text", "{type: convert, convert: {toType: array, format: json}}", "object", ends + "an array, but spec.object of MR must be an object"},
		"ConvertQuantity": {"a quantity requires a string or a number", "flag", "{type: convert, convert: {toType: float64, format: quantity}}", "ratio", first + "this convert transform requires a string or a number, got a boolean"},
		"Chain":           {"each transform gets the output of the previous one", "count", "{type: convert, convert: {toType: string}}, {type: map, map: {a: [1]}}, {type: string, string: {type: Join, join: {separator: ','}}}", "text", ""},
		"ChainBreaks":     {"a transform fails if the output of the previous one does not fit", "count", "{type: convert, convert: {toType: string}}, {type: math, math: {type: Multiply, multiply: 2}}", "count", "transforms[1]: WrongType: this math transform requires a number, got a string"},
		"Object":          {"a transformed value no longer has its schema", "object", "{type: convert, convert: {toType: string}}", "object", first + "this convert transform requires a string or a number or a boolean, got an object"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			text := patchInput("fromFieldPath: spec." + tc.from + ", toFieldPath: spec." + tc.to + ", transforms: [" + tc.transforms + "]")
			got := strings.Join(short(lines(check.Composition(t.Context(), entry(t, text), options(known(t).Definition, check.Strict)))), "\n")
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
}

func TestObserved(t *testing.T) {
	cases := map[string]struct {
		reason, text string
		want         []string
	}{
		"Readiness": {"the field of a readiness check exists and has the type to match", `readinessChecks:
- {type: MatchString, fieldPath: status.text, matchString: a}
- {type: MatchString, fieldPath: status.count, matchString: a}
- {type: MatchInteger, fieldPath: status.count, matchInteger: 1}
- {type: MatchInteger, fieldPath: spec.ratio, matchInteger: 1}
- {type: MatchInteger, fieldPath: status.text, matchInteger: 1}
- {type: MatchTrue, fieldPath: status.flag}
- {type: MatchFalse, fieldPath: status.text}
- {type: NonEmpty, fieldPath: status.conditions}
- {type: NonEmpty, fieldPath: status.nothing}
- {type: NonEmpty, fieldPath: 'status['}
- {type: MatchCondition, matchCondition: {type: Ready, status: 'True'}}
`, []string{
			"18 readinessChecks[1].fieldPath: WrongType: status.count of MR is an integer, but MatchString requires a string",
			"21 readinessChecks[4].fieldPath: WrongType: status.text of MR is a string, but MatchInteger requires an integer",
			"23 readinessChecks[6].fieldPath: WrongType: status.text of MR is a string, but MatchFalse requires a boolean",
			"25 readinessChecks[8].fieldPath: NoSuchField: MR has no field status.nothing",
			`26 readinessChecks[9].fieldPath: InvalidInput: cannot parse path "status[": unterminated '[' at position 6`,
		}},
		"Details": {"the field of a connection detail exists", `connectionDetails:
- {name: a, type: FromFieldPath, fromFieldPath: status.count}
- {name: b, type: FromFieldPath, fromFieldPath: status.adress}
- {name: c, type: FromFieldPath, fromFieldPath: 'status[x'}
- {name: d, type: FromConnectionSecretKey, fromConnectionSecretKey: status.none}
`, []string{
			"18 connectionDetails[1].fromFieldPath: NoSuchField: MR has no field status.adress",
			`19 connectionDetails[2].fromFieldPath: InvalidInput: cannot parse path "status[x": unterminated '[' at position 6`,
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := short(lines(check.Composition(t.Context(), entry(t, template(tc.text)), options(known(t).Definition, check.Strict))))
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
}

// TestBase checks that the fields of a base are validated, but that required
// fields may be missing.
func TestBase(t *testing.T) {
	text := pipeline(`  resources:
  - name: a
    base:
      apiVersion: gold.test/v1
      kind: Bucket
      metadata:
        labels: {a: 1}
        lables: {}
      spec:
        text: 1
        count: 1.5
        ratio: 2
        flag: null
        port: x
        list: [a, 1]
        any: {x: {y: 1}}
        open: {x: [1]}
        txt: a
        rules:
        - name: a
          ports:
          - 1
          - http
          prot: 1
        manifest: {kind: A, metadata: {name: 1}, other: {}}
      staus: {}
  - {name: b, base: {apiVersion: gold.test/v1}}
  - {name: c, base: [a]}
  - {name: d, base: {apiVersion: {v1: }, kind: Bucket}}
  - {name: e, base: {apiversion: v1, kind: Bucket}}
  - {name: f, base: {kind: Bucket}, patches: [{fromFieldPath: spec.text, toFieldPath: apiVersion}]}
  - {name: g, base: {apiVersion: apps/v1, kind: Deploymnt}}
`)
	want := []string{
		"19 base.metadata.labels.a: WrongType: metadata.labels.a of MR must be a string, got an integer",
		"20 base.metadata.lables: NoSuchField: MR has no field metadata.lables, did you mean metadata.labels?",
		"22 base.spec.text: WrongType: spec.text of MR must be a string, got an integer",
		"23 base.spec.count: WrongType: spec.count of MR must be an integer, got a number",
		"27 base.spec.list[1]: WrongType: spec.list[1] of MR must be a string, got an integer",
		"30 base.spec.txt: NoSuchField: MR has no field spec.txt, did you mean spec.text?",
		"35 base.spec.rules[0].ports[1]: WrongType: spec.rules[0].ports[1] of MR must be an integer, got a string",
		"36 base.spec.rules[0].prot: NoSuchField: MR has no field spec.rules[0].prot, did you mean spec.rules[0].ports?",
		"37 base.spec.manifest.metadata.name: WrongType: spec.manifest.metadata.name of MR must be a string, got an integer",
		"38 base.staus: NoSuchField: MR has no field staus, did you mean status?",
		"39 spec.pipeline[0].input.resources[1].base.kind: InvalidInput: the base has no kind",
		"40 spec.pipeline[0].input.resources[2].base: InvalidInput: the base is not an object",
		"41 spec.pipeline[0].input.resources[3].base.apiVersion: InvalidInput: the base has no apiVersion that is a text",
		"42 spec.pipeline[0].input.resources[4].base.apiVersion: InvalidInput: the base has no apiVersion that is a text",
		"43 spec.pipeline[0].input.resources[5].base: MissingSchema: no schema of kind Bucket of  was found, so its fields are not checked",
		"44 spec.pipeline[0].input.resources[6].base: InvalidInput: no API server has kind Deploymnt of apps/v1, did you mean Deployment?",
	}
	got := short(lines(check.Composition(t.Context(), entry(t, text), options(known(t).Definition, check.Strict))))
	e2e.Equal(t, "each invalid field of a base is reported, and missing fields are not", want, got)
}

// TestPlaces checks patches outside of templates, and templates without a base.
func TestPlaces(t *testing.T) {
	const none = "fromFieldPath: spec.none"
	cases := map[string]struct {
		reason, text string
		want         []string
	}{
		"PatchSet": {"the patches of a set are checked for each kind, and reported once", `  patchSets:
  - name: s
    patches:
    - {fromFieldPath: spec.none, toFieldPath: spec.text}
    - {fromFieldPath: spec.text, toFieldPath: spec.other}
  resources:
  - {name: a, base: {apiVersion: gold.test/v1, kind: Bucket}, patches: [{type: PatchSet, patchSetName: s}]}
  - {name: b, base: {apiVersion: gold.test/v1, kind: Bucket}, patches: [{type: PatchSet, patchSetName: s}]}
  - {name: c, base: {apiVersion: gold.test/v1, kind: XWidget}, patches: [{type: PatchSet, patchSetName: s}]}
  - {name: d, patches: [{type: PatchSet, patchSetName: t}]}
`, []string{
			"16 spec.pipeline[0].input.patchSets[0].patches[0].fromFieldPath: NoSuchField: XR has no field spec.none",
			"17 spec.pipeline[0].input.patchSets[0].patches[1].toFieldPath: NoSuchField: MR has no field spec.other",
			"17 spec.pipeline[0].input.patchSets[0].patches[1].toFieldPath: NoSuchField: XR has no field spec.other",
			`22 spec.pipeline[0].input.resources[3].patches[0].patchSetName: InvalidInput: patch set "t" does not exist: add it to patchSets`,
		}},
		"Environment": {"an environment patch reads and writes the XR", `  environment:
    patches:
    - {` + none + `, toFieldPath: a}
    - {type: ToEnvironmentFieldPath, ` + none + `, toFieldPath: a}
    - {type: FromEnvironmentFieldPath, fromFieldPath: a, toFieldPath: status.none}
    - {type: ToCompositeFieldPath, fromFieldPath: a, toFieldPath: status.text}
    - {type: CombineFromEnvironment, fromFieldPath: a, toFieldPath: status.text}
`, []string{
			"15 spec.pipeline[0].input.environment.patches[0].fromFieldPath: NoSuchField: XR has no field spec.none",
			"16 spec.pipeline[0].input.environment.patches[1].fromFieldPath: NoSuchField: XR has no field spec.none",
			"17 spec.pipeline[0].input.environment.patches[2].toFieldPath: NoSuchField: XR has no field status.none",
			`19 spec.pipeline[0].input.environment.patches[4].type: InvalidInput: Invalid value: "CombineFromEnvironment": invalid environment patch type`,
		}},
		"Secret": {"the name of the Secret may come from the XR", `  resources:
  - name: a
  writeConnectionSecretToRef:
    patches:
    - {fromFieldPath: metadata.name, toFieldPath: name}
    - {` + none + `, toFieldPath: name}
    - {type: ToCompositeFieldPath, fromFieldPath: a}
    - {}
`, []string{
			"18 spec.pipeline[0].input.writeConnectionSecretToRef.patches[1].fromFieldPath: NoSuchField: XR has no field spec.none",
			`19 spec.pipeline[0].input.writeConnectionSecretToRef.patches[2].type: InvalidInput: expected patch type FromCompositeFieldPath or CombineFromComposite, got "ToCompositeFieldPath"`,
			"20 spec.pipeline[0].input.writeConnectionSecretToRef.patches[3].fromFieldPath: PatchWithoutFromFieldPath: fromFieldPath must be set for patch type FromCompositeFieldPath",
		}},
		"NoBase": {"a template without a base uses a known resource of the same name", `  resources:
  - {name: a, base: {apiVersion: gold.test/v1, kind: Bucket}}
  - {name: a, patches: [{fromFieldPath: spec.text, toFieldPath: spec.none}]}
  - {name: b, patches: [{fromFieldPath: spec.text, toFieldPath: spec.none}]}
`, []string{
			"15 spec.pipeline[0].input.resources[1].patches[0].toFieldPath: NoSuchField: MR has no field spec.none",
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := short(lines(check.Composition(t.Context(), entry(t, pipeline(tc.text)), options(known(t).Definition, check.Strict))))
			for i := range got {
				got[i] = strings.ReplaceAll(got[i], "resources[0].", "spec.pipeline[0].input.resources[0].")
			}
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
}

// TestLegacySchemas checks that a legacy Composition is checked like the pipeline
// that it is converted to. Problems have the lines of the legacy Composition.
func TestLegacySchemas(t *testing.T) {
	text := legacy(`  environment:
    patches:
    - {fromFieldPath: spec.none, toFieldPath: a}
  patchSets:
  - name: s
    patches:
    - {fromFieldPath: spec.text, toFieldPath: spec.none}
  resources:
  - base: {apiVersion: gold.test/v1, kind: Bucket}
    patches:
    - {type: PatchSet, patchSetName: s}
    - fromFieldPath: spec.text
      toFieldPath: spec.count
    - {type: ToCompositeFieldPath, fromFieldPath: spec.text, toFieldPath: spec.text}
    readinessChecks:
    - {type: MatchString, fieldPath: status.flag, matchString: a}
    connectionDetails:
    - {name: a, fromFieldPath: status.none}
`)
	want := []string{
		"9 spec.environment.patches[0].fromFieldPath: NoSuchField: XR has no field spec.none",
		"13 spec.patchSets[0].patches[0].toFieldPath: NoSuchField: MR has no field spec.none",
		"19 spec.resources[0].patches[1].toFieldPath: WrongType: spec.text of XR is a string, but spec.count of MR must be an integer",
		"22 spec.resources[0].readinessChecks[0].fieldPath: WrongType: status.flag of MR is a boolean, but MatchString requires a string",
		"24 spec.resources[0].connectionDetails[0].fromFieldPath: NoSuchField: MR has no field status.none",
	}
	got := short(lines(check.Composition(t.Context(), entry(t, text), options(known(t).Definition, check.Strict))))
	e2e.Equal(t, "problems have the lines and fields of the legacy Composition", want, got)
}
