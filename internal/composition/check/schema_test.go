package check_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xfn-dev/xfn/internal/composition/check"
)

// template is an input with one template, whose patches or the like begin on
// line 16.
func template(rest string) string {
	return pipeline("  resources:\n  - name: a\n    base: {apiVersion: gold.test/v1, kind: Bucket}\n" + indent(rest))
}

// patchInput is an input with one patch.
func patchInput(text string) string { return template("patches:\n- {" + text + "}\n") }

// short shortens lines about patch.
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
	cases := map[string]struct{ reason, patch, want string }{
		"Same":              {"a string is one on both sides", "fromFieldPath: spec.text, toFieldPath: spec.text", ""},
		"Default":           {"a patch writes where it reads", "fromFieldPath: spec.text", ""},
		"NoSource":          {"what is read is there", "fromFieldPath: spec.txt, toFieldPath: spec.text", "fromFieldPath: NoSuchField: XR has no field spec.txt"},
		"NoTarget":          {"and what is written", "fromFieldPath: spec.text, toFieldPath: spec.deep.er", "toFieldPath: NoSuchField: MR has no field spec.deep"},
		"NoDefaultTarget":   {"also where nobody has written it down", "fromFieldPath: spec.counts", "fromFieldPath: NoSuchField: MR has no field spec.counts, but spec.count"},
		"Near":              {"a field of nearly that name is named", "fromFieldPath: spec.Text, toFieldPath: spec.text", "fromFieldPath: NoSuchField: XR has no field spec.Text, but spec.text"},
		"BelowText":         {"a string has no fields", "fromFieldPath: spec.text.a, toFieldPath: spec.text", "fromFieldPath: NoSuchField: spec.text of XR is a string, and has no a"},
		"BelowList":         {"nor has a list", "fromFieldPath: spec.list.a, toFieldPath: spec.text", "fromFieldPath: NoSuchField: spec.list of XR is an array, and has no a"},
		"IndexOfObject":     {"an object has no elements", "fromFieldPath: 'spec.map[0]', toFieldPath: spec.text", "fromFieldPath: NoSuchField: spec.map of XR is an object, and has no [0]"},
		"Index":             {"elements have a type", "fromFieldPath: 'spec.list[3]', toFieldPath: spec.count", "toFieldPath: WrongType: spec.list[3] of XR is a string, and spec.count of MR can only be an integer"},
		"TargetIndex":       {"on both sides", "fromFieldPath: spec.text, toFieldPath: 'spec.rules[0].name'", ""},
		"LargeIndex":        {"no list may grow so far", "fromFieldPath: spec.text, toFieldPath: 'spec.rules[1025].name'", "toFieldPath: InvalidInput: index 1025 is greater than the greatest that may be written, 1024"},
		"Key":               {"any key is one of a map", "fromFieldPath: 'spec.map[a.b/c]', toFieldPath: spec.text", ""},
		"KeyType":           {"whose values have a type", "fromFieldPath: spec.map.x, toFieldPath: spec.flag", "toFieldPath: WrongType: spec.map.x of XR is a string, and spec.flag of MR can only be a boolean"},
		"Open":              {"where any field may be, any path leads somewhere", "fromFieldPath: 'spec.any.a[0].b', toFieldPath: spec.open.x.y", ""},
		"UnknownToText":     {"to any type", "fromFieldPath: spec.any.a, toFieldPath: spec.text", ""},
		"AnyIsAnObject":     {"but what is kept whole is an object", "fromFieldPath: spec.any, toFieldPath: spec.text", "toFieldPath: WrongType: spec.any of XR is an object, and spec.text of MR can only be a string"},
		"IntegerToNumber":   {"an integer is a number", "fromFieldPath: spec.count, toFieldPath: spec.ratio", ""},
		"NumberToInteger":   {"and a number may be an integer", "fromFieldPath: spec.ratio, toFieldPath: spec.count", ""},
		"TextToInteger":     {"a string is no integer", "fromFieldPath: spec.text, toFieldPath: spec.count", "toFieldPath: WrongType: spec.text of XR is a string, and spec.count of MR can only be an integer"},
		"IntOrString":       {"an int or string may be either", "fromFieldPath: spec.port, toFieldPath: spec.count", ""},
		"ToIntOrString":     {"and takes either", "fromFieldPath: spec.text, toFieldPath: spec.port", ""},
		"NotIntOrString":    {"but is no boolean", "fromFieldPath: spec.flag, toFieldPath: spec.port", "toFieldPath: WrongType: spec.flag of XR is a boolean, and spec.port of MR can only be a string or an integer"},
		"Nullable":          {"a null decides nothing", "fromFieldPath: spec.maybe, toFieldPath: spec.count", "toFieldPath: WrongType: spec.maybe of XR is a string, and spec.count of MR can only be an integer"},
		"Metadata":          {"every object has metadata", "fromFieldPath: 'metadata.labels[app]', toFieldPath: 'metadata.annotations[a.b/c]'", ""},
		"MetadataType":      {"of which the types are known", "fromFieldPath: metadata.generation, toFieldPath: metadata.name", "toFieldPath: WrongType: metadata.generation of XR is an integer, and metadata.name of MR can only be a string"},
		"NoMetadata":        {"and the fields", "fromFieldPath: metadata.label, toFieldPath: metadata.name", "fromFieldPath: NoSuchField: XR has no field metadata.label, but metadata.labels"},
		"Owner":             {"lists too", "fromFieldPath: 'metadata.ownerReferences[0].uid', toFieldPath: spec.text", ""},
		"Kind":              {"and a kind", "fromFieldPath: kind, toFieldPath: spec.text", ""},
		"CrossplanesFields": {"Crossplane adds fields to an XRD's", "fromFieldPath: spec.crossplane.compositionRef.name, toFieldPath: spec.text", ""},
		"Embedded":          {"an object in an object has metadata, too", "fromFieldPath: spec.text, toFieldPath: spec.manifest.metadata.nam", "toFieldPath: NoSuchField: MR has no field spec.manifest.metadata.nam"},
		"EmbeddedSpec":      {"and what it likes besides", "fromFieldPath: spec.text, toFieldPath: spec.manifest.spec.a", ""},
		"Wildcard":          {"a star is each element", "fromFieldPath: spec.text, toFieldPath: 'spec.rules[*].name'", ""},
		"WildcardType":      {"whose type counts", "fromFieldPath: spec.text, toFieldPath: 'spec.rules[*].ports[*]'", "toFieldPath: WrongType: spec.text of XR is a string, and spec.rules[*].ports[*] of MR can only be an integer"},
		"WildcardField":     {"and fields", "fromFieldPath: spec.text, toFieldPath: 'spec.rules[*].title'", "toFieldPath: NoSuchField: MR has no field spec.rules[*].title"},
		"WildcardMap":       {"or each key", "fromFieldPath: spec.count, toFieldPath: 'spec.map[*]'", "toFieldPath: WrongType: spec.count of XR is an integer, and spec.map[*] of MR can only be a string"},
		"WildcardObject":    {"of an object with fields it may be any", "fromFieldPath: spec.count, toFieldPath: 'spec.object[*]'", ""},
		"WildcardScalar":    {"a string has nothing to expand", "fromFieldPath: spec.text, toFieldPath: 'spec.text[*]'", "toFieldPath: NoSuchField: spec.text of MR is a string, and has no [*]"},
		"WildcardSource":    {"when reading a star is a key", "fromFieldPath: 'spec.list[*]', toFieldPath: spec.text", "fromFieldPath: NoSuchField: spec.list of XR is an array, and has no [*]"},
		"BadPath":           {"a path has to be one", "fromFieldPath: 'spec..text', toFieldPath: spec.text", `fromFieldPath: InvalidInput: cannot parse path "spec..text": unexpected '.' at position 5`},
		"BadTarget":         {"on both sides", "fromFieldPath: spec.text, toFieldPath: 'spec.list['", `toFieldPath: InvalidInput: cannot parse path "spec.list[": unterminated '[' at position 9`},
		"Maps":              {"maps of the same fit", "fromFieldPath: spec.map", ""},
		"ObjectToMap":       {"an object is a map if its fields are of its type", "fromFieldPath: spec.object, toFieldPath: spec.map", ""},
		"Lists":             {"lists of other elements do not fit", "fromFieldPath: spec.counts, toFieldPath: spec.list", "toFieldPath: WrongType: [*] of spec.counts of XR is an integer, and of spec.list of MR can only be a string"},
		"ObjectLoses":       {"an object does not fit if a field that it must have is lost", "fromFieldPath: spec.object", "fromFieldPath: WrongType: spec.object of XR always has extra, which spec.object of MR cannot have"},
		"ObjectField":       {"or if a field that it may have is of another type", "fromFieldPath: spec.pair, toFieldPath: spec.object", "toFieldPath: WrongType: size of spec.pair of XR is a string, and of spec.object of MR can only be an integer"},
		"MapToObject":       {"a map may have the fields or not", "fromFieldPath: spec.map, toFieldPath: spec.object", ""},
		"ToXRStatus":        {"a pipeline sets the XR's status", "type: ToCompositeFieldPath, fromFieldPath: status.text, toFieldPath: status.text", ""},
		"ToXRSpec":          {"and nothing else of it", "type: ToCompositeFieldPath, fromFieldPath: status.text, toFieldPath: spec.text", "toFieldPath: warning: NotApplied: a pipeline changes nothing but the status of a composite resource, so spec.text is not applied"},
		"ToXRType":          {"of its type", "type: ToCompositeFieldPath, fromFieldPath: status.flag, toFieldPath: status.count", "toFieldPath: WrongType: status.flag of MR is a boolean, and status.count of XR can only be an integer"},
		"ToStatus":          {"nobody but its controller sets the status of a resource", "fromFieldPath: spec.text, toFieldPath: status.text", "toFieldPath: warning: NotApplied: nothing is applied to the status of a composed resource"},
		"FromEnvironment":   {"an environment may hold anything", "type: FromEnvironmentFieldPath, fromFieldPath: a.b, toFieldPath: spec.count", ""},
		"FromEnvironmentTo": {"what is written is still there or not", "type: FromEnvironmentFieldPath, fromFieldPath: a.b, toFieldPath: spec.cont", "toFieldPath: NoSuchField: MR has no field spec.cont"},
		"ToEnvironment":     {"or read", "type: ToEnvironmentFieldPath, fromFieldPath: status.nothing, toFieldPath: a", "fromFieldPath: NoSuchField: MR has no field status.nothing"},
		"Combine":           {"a combination is a string", "type: CombineFromComposite, toFieldPath: spec.text, combine: {strategy: string, string: {fmt: '%s-%v'}, variables: [{fromFieldPath: spec.text}, {fromFieldPath: spec.count}]}", ""},
		"CombineType":       {"and nothing else", "type: CombineFromComposite, toFieldPath: spec.count, combine: {strategy: string, string: {fmt: '%s'}, variables: [{fromFieldPath: spec.text}]}", "toFieldPath: WrongType: the combined value is a string, and spec.count of MR can only be an integer"},
		"CombineVariable":   {"of variables that are there", "type: CombineToComposite, toFieldPath: status.text, combine: {strategy: string, string: {fmt: '%s'}, variables: [{fromFieldPath: spec.text}, {fromFieldPath: spec.none}]}", "combine.variables[1].fromFieldPath: NoSuchField: MR has no field spec.none"},
		"CombineWildcard":   {"its target has no wildcards", "type: CombineFromComposite, toFieldPath: 'spec.rules[*].name', combine: {strategy: string, string: {fmt: '%s'}, variables: [{fromFieldPath: spec.text}]}", "toFieldPath: NoSuchField: spec.rules of MR is an array, and has no [*].name"},
		"RequiredOptional":  {"that a field may be missing is why it is required", "fromFieldPath: spec.count, policy: {fromFieldPath: Required}", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(short(lines(check.Composition(entry(t, patchInput(tc.patch)), known(t), check.Strict))), "\n")
			if got != tc.want {
				t.Errorf("%s:\ngot  %s\nwant %s", tc.reason, got, tc.want)
			}
		})
	}
}

func TestTransforms(t *testing.T) {
	const (
		ends  = "toFieldPath: WrongType: what the transforms make is "
		first = "transforms[0]: WrongType: "
	)
	cases := map[string]struct{ reason, from, transforms, to, want string }{
		"Map":             {"a map makes what it maps to", "text", "{type: map, map: {a: 1, b: 2.0}}", "count", ""},
		"MapTypes":        {"of whatever type", "text", "{type: map, map: {a: x, b: true}}", "count", ends + "a string or a boolean, and spec.count of MR can only be an integer"},
		"MapSome":         {"one that fits is enough", "text", "{type: map, map: {a: x, b: 1}}", "count", ""},
		"MapInput":        {"it takes strings", "count", "{type: map, map: {'1': x}}", "text", first + "a map transform like this takes a string, and gets an integer"},
		"MapEnum":         {"what may be read has to be in it", "size", "{type: map, map: {small: x}}", "text", `transforms[0].map: NotInMap: spec.size of XR may be "large", for which there is no value`},
		"MapLater":        {"as it is read", "size", "{type: string, string: {type: Convert, convert: ToUpper}}, {type: map, map: {SMALL: x}}", "text", ""},
		"MapNull":         {"null is anything", "text", "{type: map, map: {a: null}}", "count", ""},
		"Match":           {"a match makes its results", "text", "{type: match, match: {patterns: [{type: literal, literal: a, result: [x]}], fallbackValue: {}}}", "text", ends + "an object or an array, and spec.text of MR can only be a string"},
		"MatchFallback":   {"or the value itself", "text", "{type: match, match: {patterns: [{type: literal, literal: a, result: 1}], fallbackTo: Input}}", "text", ""},
		"MatchInput":      {"it takes strings", "flag", "{type: match, match: {patterns: [{type: literal, literal: a, result: x}]}}", "text", first + "a match transform like this takes a string, and gets a boolean"},
		"Multiply":        {"an integer stays one", "count", "{type: math, math: {type: Multiply, multiply: 2}}", "text", ends + "an integer, and spec.text of MR can only be a string"},
		"MultiplyNumber":  {"a number, too", "ratio", "{type: math, math: {type: Multiply, multiply: 2}}", "count", ""},
		"MathInput":       {"only numbers count", "text", "{type: math, math: {type: ClampMin, clampMin: 2}}", "count", first + "a math transform like this takes a number, and gets a string"},
		"Format":          {"anything can be a string", "object", "{type: string, string: {type: Format, fmt: '%v'}}", "count", ends + "a string, and spec.count of MR can only be an integer"},
		"Regexp":          {"part of a string is one", "text", "{type: string, string: {type: Regexp, regexp: {match: a}}}", "text", ""},
		"Join":            {"elements make a string", "list", "{type: string, string: {type: Join, join: {separator: ','}}}", "text", ""},
		"JoinInput":       {"what has none does not", "text", "{type: string, string: {type: Join, join: {separator: ','}}}", "text", first + "a string transform like this takes an array, and gets a string"},
		"ConvertInt":      {"a string may be an integer", "text", "{type: convert, convert: {toType: int}}", "count", ""},
		"ConvertFloat":    {"or a number", "text", "{type: convert, convert: {toType: float64}}", "flag", ends + "a number, and spec.flag of MR can only be a boolean"},
		"ConvertBool":     {"or a boolean", "count", "{type: convert, convert: {toType: bool}}", "flag", ""},
		"ConvertText":     {"and all of them strings", "flag", "{type: convert, convert: {toType: string}}", "text", ""},
		"ConvertList":     {"lists are not converted", "list", "{type: convert, convert: {toType: string}}", "text", first + "a convert transform like this takes a string or a number or a boolean, and gets an array"},
		"ConvertJSON":     {"a string may be JSON", "text", "{type: convert, convert: {toType: object, format: json}}", "object", ""},
		"ConvertNoJSON":   {"if that is said", "text", "{type: convert, convert: {toType: object}}", "object", "transforms[0].convert.format: InvalidInput: nothing can be converted to object by the format none: a string can be by json"},
		"ConvertArray":    {"of either type", "text", "{type: convert, convert: {toType: array, format: json}}", "object", ends + "an array, and spec.object of MR can only be an object"},
		"ConvertQuantity": {"a quantity is a string", "flag", "{type: convert, convert: {toType: float64, format: quantity}}", "ratio", first + "a convert transform like this takes a string or a number, and gets a boolean"},
		"Chain":           {"each takes what the one before makes", "count", "{type: convert, convert: {toType: string}}, {type: map, map: {a: [1]}}, {type: string, string: {type: Join, join: {separator: ','}}}", "text", ""},
		"ChainBreaks":     {"and fails where it cannot", "count", "{type: convert, convert: {toType: string}}, {type: math, math: {type: Multiply, multiply: 2}}", "count", "transforms[1]: WrongType: a math transform like this takes a number, and gets a string"},
		"Object":          {"what is changed is not as its schema says", "object", "{type: convert, convert: {toType: string}}", "object", first + "a convert transform like this takes a string or a number or a boolean, and gets an object"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			text := patchInput("fromFieldPath: spec." + tc.from + ", toFieldPath: spec." + tc.to + ", transforms: [" + tc.transforms + "]")
			got := strings.Join(short(lines(check.Composition(entry(t, text), known(t), check.Strict))), "\n")
			if got != tc.want {
				t.Errorf("%s:\ngot  %s\nwant %s", tc.reason, got, tc.want)
			}
		})
	}
}

func TestObserved(t *testing.T) {
	cases := map[string]struct {
		reason, text string
		want         []string
	}{
		"Readiness": {"a field is there and of the type that is matched", `readinessChecks:
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
			"18 readinessChecks[1].fieldPath: WrongType: status.count of MR is an integer, and MatchString takes a string",
			"21 readinessChecks[4].fieldPath: WrongType: status.text of MR is a string, and MatchInteger takes an integer",
			"23 readinessChecks[6].fieldPath: WrongType: status.text of MR is a string, and MatchFalse takes a boolean",
			"25 readinessChecks[8].fieldPath: NoSuchField: MR has no field status.nothing",
			`26 readinessChecks[9].fieldPath: InvalidInput: cannot parse path "status[": unterminated '[' at position 6`,
		}},
		"Details": {"a connection detail is read where it is", `connectionDetails:
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
			got := short(lines(check.Composition(entry(t, template(tc.text)), known(t), check.Strict)))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// What is given of a base has to fit, and nothing has to be given.
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
`)
	want := []string{
		"19 base.metadata.labels.a: WrongType: metadata.labels.a of MR can only be a string, and is an integer",
		"20 base.metadata.lables: NoSuchField: MR has no field metadata.lables",
		"22 base.spec.text: WrongType: spec.text of MR can only be a string, and is an integer",
		"23 base.spec.count: WrongType: spec.count of MR can only be an integer, and is a number",
		"27 base.spec.list[1]: WrongType: spec.list[1] of MR can only be a string, and is an integer",
		"30 base.spec.txt: NoSuchField: MR has no field spec.txt",
		"35 base.spec.rules[0].ports[1]: WrongType: spec.rules[0].ports[1] of MR can only be an integer, and is a string",
		"36 base.spec.rules[0].prot: NoSuchField: MR has no field spec.rules[0].prot",
		"37 base.spec.manifest.metadata.name: WrongType: spec.manifest.metadata.name of MR can only be a string, and is an integer",
		"38 base.staus: NoSuchField: MR has no field staus",
		"39 spec.pipeline[0].input.resources[1].base.kind: InvalidInput: the base has no kind",
		"40 spec.pipeline[0].input.resources[2].base: InvalidInput: the base is no object",
	}
	got := short(lines(check.Composition(entry(t, text), known(t), check.Strict)))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPlaces is about patches elsewhere than in a template, and templates whose
// resource others made.
func TestPlaces(t *testing.T) {
	const none = "fromFieldPath: spec.none"
	cases := map[string]struct {
		reason, text string
		want         []string
	}{
		"PatchSet": {"the patches of a set are checked for each kind, and told of once", `  patchSets:
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
			`22 spec.pipeline[0].input.resources[3].patches[0].patchSetName: InvalidInput: there is no patch set "t"`,
		}},
		"Environment": {"an environment is patched from the XR and back", `  environment:
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
			`19 spec.pipeline[0].input.writeConnectionSecretToRef.patches[2].type: InvalidInput: there is no patch of type "ToCompositeFieldPath" here`,
			"20 spec.pipeline[0].input.writeConnectionSecretToRef.patches[3].fromFieldPath: PatchWithoutFromFieldPath: fromFieldPath must be set for patch type FromCompositeFieldPath",
		}},
		"NoBase": {"a template without base goes on with what is there, if that is known", `  resources:
  - {name: a, base: {apiVersion: gold.test/v1, kind: Bucket}}
  - {name: a, patches: [{fromFieldPath: spec.text, toFieldPath: spec.none}]}
  - {name: b, patches: [{fromFieldPath: spec.text, toFieldPath: spec.none}]}
`, []string{
			"15 spec.pipeline[0].input.resources[1].patches[0].toFieldPath: NoSuchField: MR has no field spec.none",
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := short(lines(check.Composition(entry(t, pipeline(tc.text)), known(t), check.Strict)))
			for i := range got {
				got[i] = strings.ReplaceAll(got[i], "resources[0].", "spec.pipeline[0].input.resources[0].")
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// A legacy Composition is checked as its pipeline is, at the lines that it has.
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
		"19 spec.resources[0].patches[1].toFieldPath: WrongType: spec.text of XR is a string, and spec.count of MR can only be an integer",
		"22 spec.resources[0].readinessChecks[0].fieldPath: WrongType: status.flag of MR is a boolean, and MatchString takes a string",
		"24 spec.resources[0].connectionDetails[0].fromFieldPath: NoSuchField: MR has no field status.none",
	}
	got := short(lines(check.Composition(entry(t, text), known(t), check.Strict)))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
