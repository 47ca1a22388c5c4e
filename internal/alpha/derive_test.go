package alpha_test

import (
	"testing"

	fnio "github.com/xfn-dev/xfn/internal/alpha/v1alpha1"
	"github.com/xfn-dev/xfn/internal/e2e"
)

const (
	observing = `cannot observe composed resources: `
	secret    = `{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: xs}, data: {key: dg==, binary: /w==}}`
	ready     = `conditions: [{type: Ready, status: "True"}, {type: Odd, status: "Maybe"}]`
)

// derive reconciles an XR with a composed resource of kind Till that exists and
// has a status. The YAML texts byFunction and byTemplate add readiness checks or
// connection details to what the function and the template return.
func derive(t *testing.T, byFunction, byTemplate string) *reconciled {
	t.Helper()
	w := world{
		existing: []string{
			exists("till", `spec: {drawers: 2, name: t, none: null, list: [1], writeConnectionSecretToRef: {name: s, namespace: xs}}, status: {`+ready+`, open: true}`),
			secret,
		},
		xr:        `spec: {writeConnectionSecretToRef: {name: s, namespace: xs}}`,
		spec:      calls("f"),
		functions: map[string]func(*fnio.FunctionIO){"f": desires(`{name: till, resource: {apiVersion: kit.gold.test/v1, kind: Till, metadata: {name: stall-till}}, ` + byFunction + `}`)},
	}
	if byTemplate != "" {
		w.spec = "resources:\n" + till + ", " + byTemplate + "}\n" + calls("f")
		w.functions["f"] = func(io *fnio.FunctionIO) {
			io.Desired.Resources = nil
			desires(`{name: till, resource: {apiVersion: kit.gold.test/v1, kind: Till, metadata: {name: stall-till}}, ` + byFunction + `}`)(io)
		}
	}
	return w.run(t)
}

func TestReadiness(t *testing.T) {
	const till = observing + `cannot determine whether composed resource "till" (a Till named stall-till) is ready: cannot run readiness check at index `
	cases := map[string]struct {
		reason, checks, template string
		want                     bool
		err                      string
	}{
		"NoChecks":          {reason: "without checks the condition Ready must be True", want: true},
		"None":              {reason: "None always passes", checks: `{type: None}`, want: true},
		"NonEmpty":          {reason: "NonEmpty passes for a field that exists", checks: `{type: NonEmpty, fieldPath: status.open}`, want: true},
		"Null":              {reason: "NonEmpty passes for a null", checks: `{type: NonEmpty, fieldPath: spec.none}`, want: true},
		"Missing":           {reason: "NonEmpty fails for a missing field", checks: `{type: NonEmpty, fieldPath: status.no}`},
		"MatchString":       {reason: "MatchString passes for the same string", checks: `{type: MatchString, fieldPath: spec.name, matchString: t}`, want: true},
		"OtherString":       {reason: "MatchString fails for another string", checks: `{type: MatchString, fieldPath: spec.name, matchString: u}`},
		"MissingString":     {reason: "MatchString fails for a missing field", checks: `{type: MatchString, fieldPath: spec.no, matchString: u}`},
		"EmptyString":       {reason: "MatchString of a function may be the empty string", checks: `{type: MatchString, fieldPath: spec.name, matchString: ""}`},
		"NoString":          {reason: "MatchString of a number is an error", checks: `{type: MatchString, fieldPath: spec.drawers, matchString: a}`, err: till + `0: spec.drawers: not a string`},
		"MatchInteger":      {reason: "MatchInteger passes for the same number", checks: `{type: MatchInteger, fieldPath: spec.drawers, matchInteger: 2}`, want: true},
		"Zero":              {reason: "MatchInteger of a function may be 0", checks: `{type: MatchInteger, fieldPath: spec.drawers, matchInteger: 0}`},
		"NoInteger":         {reason: "MatchInteger of a string is an error", checks: `{type: MatchInteger, fieldPath: spec.name, matchInteger: 1}`, err: till + `0: spec.name: not a (int64) number`},
		"MatchCondition":    {reason: "MatchCondition passes for the same status", checks: `{type: MatchCondition, matchCondition: {type: Odd, status: Maybe}}`, want: true},
		"NoDefaults":        {reason: "MatchCondition of a function has no default", checks: `{type: MatchCondition, matchCondition: {}}`},
		"UnknownCondition":  {reason: "a missing condition has the status Unknown", checks: `{type: MatchCondition, matchCondition: {type: X, status: Unknown}}`, want: true},
		"All":               {reason: "all checks have to pass", checks: `{type: None}, {type: NonEmpty, fieldPath: status.no}`},
		"FirstFailureEnds":  {reason: "no check runs after the first failed check", checks: `{type: NonEmpty, fieldPath: status.no}, {type: X}`},
		"Index":             {reason: "an error of a check contains its index", checks: `{type: None}, {type: MatchString}`, err: till + `1: invalid: type "MatchString" requires a match string`},
		"IntegerMissing":    {reason: "MatchInteger requires an integer", checks: `{type: MatchInteger, fieldPath: a}`, err: till + `0: invalid: type "MatchInteger" requires a match integer`},
		"ConditionMissing":  {reason: "MatchCondition requires a condition", checks: `{type: MatchCondition}`, err: till + `0: invalid: type "MatchCondition" requires a valid match condition`},
		"FieldPathMissing":  {reason: "NonEmpty requires a path", checks: `{type: NonEmpty}`, err: till + `0: invalid: type "NonEmpty" requires a field path`},
		"StringPathMissing": {reason: "MatchString requires a path", checks: `{type: MatchString, matchString: a}`, err: till + `0: invalid: type "MatchString" requires a field path`},
		"UnknownType":       {reason: "an unknown type is an error", checks: `{type: MatchTrue, fieldPath: a}`, err: till + `0: invalid: unknown type "MatchTrue"`},
		"BadPath":           {reason: "a malformed path is an error", checks: `{type: NonEmpty, fieldPath: "a["}`, err: till + `0: cannot parse path "a[": unterminated '[' at position 1`},
		"NotAList":          {reason: "a path through a string is an error", checks: `{type: NonEmpty, fieldPath: "spec[0]"}`, err: till + `0: spec: not an array`},

		"Template":         {reason: "a failed check of the template makes the resource unready", template: `readinessChecks: [{type: NonEmpty, fieldPath: status.no}]`},
		"NoneRelaxesNot":   {reason: "a function's None does not replace the template's checks", checks: `{type: None}`, template: `readinessChecks: [{type: NonEmpty, fieldPath: status.no}]`},
		"After":            {reason: "a function's checks run after the template's", checks: `{type: X}`, template: `readinessChecks: [{type: None}]`, err: till + `1: invalid: unknown type "X"`},
		"TemplateEmpty":    {reason: "an empty string in a template counts as unset", template: `readinessChecks: [{type: MatchString, fieldPath: a, matchString: ""}]`, err: till + `0: invalid: type "MatchString" requires a match string`},
		"TemplateZero":     {reason: "a 0 in a template counts as unset", template: `readinessChecks: [{type: MatchInteger, fieldPath: a, matchInteger: 0}]`, err: till + `0: invalid: type "MatchInteger" requires a match integer`},
		"TemplateNoPath":   {reason: "an empty path in a template counts as unset", template: `readinessChecks: [{type: NonEmpty, fieldPath: ""}]`, err: till + `0: invalid: type "NonEmpty" requires a field path`},
		"TemplateDefaults": {reason: "a template's condition has defaults", template: `readinessChecks: [{type: MatchCondition, matchCondition: {}}]`, want: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := derive(t, "readinessChecks: ["+tc.checks+"]", tc.template)
			if tc.err != "" {
				p.failed(t, tc.reason, tc.err)
				return
			}
			e2e.Equal(t, tc.reason, tc.want, p.ok(t).Composed[0].Ready)
		})
	}
}

func TestConnectionDetails(t *testing.T) {
	const till = observing + `cannot extract connection details from composed resource "till" (a Till named stall-till): `
	cases := map[string]struct {
		reason, details, template string
		want                      map[string]string
		err                       string
	}{
		"Value":       {reason: "FromValue returns its value", details: `{name: a, type: FromValue, value: v}`, want: map[string]string{"a": "v"}},
		"EmptyValue":  {reason: "FromValue may be empty", details: `{name: a, type: FromValue, value: ""}`, want: map[string]string{"a": ""}},
		"Key":         {reason: "FromConnectionSecretKey returns the key of the resource's secret", details: `{name: a, type: FromConnectionSecretKey, fromConnectionSecretKey: key}`, want: map[string]string{"a": "v"}},
		"KeyIsName":   {reason: "FromConnectionSecretKey uses the key as the default name", details: `{type: FromConnectionSecretKey, fromConnectionSecretKey: key}`, want: map[string]string{"key": "v"}},
		"NoKey":       {reason: "a missing key of the secret adds no connection detail", details: `{type: FromConnectionSecretKey, fromConnectionSecretKey: no}`, want: map[string]string{}},
		"Path":        {reason: "FromFieldPath returns the field's string", details: `{name: a, type: FromFieldPath, fromFieldPath: spec.name}`, want: map[string]string{"a": "t"}},
		"PathObject":  {reason: "FromFieldPath returns JSON for other values", details: `{name: a, type: FromFieldPath, fromFieldPath: spec.list}`, want: map[string]string{"a": "[1]"}},
		"NoPath":      {reason: "a missing field adds no connection detail", details: `{name: a, type: FromFieldPath, fromFieldPath: spec.no}`, want: map[string]string{}},
		"BadPath":     {reason: "a malformed path adds no connection detail", details: `{name: a, type: FromFieldPath, fromFieldPath: "a["}`, want: map[string]string{}},
		"Unknown":     {reason: "an unknown type adds no connection detail", details: `{name: a, type: FromConnectionDetailKey}`, want: map[string]string{}},
		"NoName":      {reason: "FromValue requires a name", details: `{type: FromValue, value: v}`, err: till + `connection detail is missing name`},
		"EmptyName":   {reason: "the name must not be empty", details: `{name: "", type: FromConnectionSecretKey, fromConnectionSecretKey: key}`, err: till + `connection detail is missing name`},
		"NoType":      {reason: "the type of a function's connection detail is not inferred", details: `{name: a, value: v}`, want: map[string]string{}},
		"ValueUnset":  {reason: "FromValue requires a value", details: `{name: a, type: FromValue}`, err: till + `connection detail of type "FromValue" value is not set`},
		"KeyUnset":    {reason: "FromConnectionSecretKey requires a key", details: `{name: a, type: FromConnectionSecretKey}`, err: till + `connection detail of type "FromConnectionSecretKey" key is not set`},
		"PathUnset":   {reason: "FromFieldPath requires a path", details: `{name: a, type: FromFieldPath}`, err: till + `connection detail of type "FromFieldPath" fromFieldPath is not set`},
		"Template":    {reason: "the type of a template's connection detail is inferred", template: `connectionDetails: [{name: a, value: v}, {fromConnectionSecretKey: key}, {name: b, fromFieldPath: spec.drawers}]`, want: map[string]string{"a": "v", "key": "v", "b": "2"}},
		"Over":        {reason: "a function's connection detail overrides a template's", details: `{name: a, type: FromValue, value: f}`, template: `connectionDetails: [{name: a, value: v}]`, want: map[string]string{"a": "f"}},
		"NothingThen": {reason: "without connection details, the result has none", want: map[string]string{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := derive(t, "connectionDetails: ["+tc.details+"]", tc.template)
			if tc.err != "" {
				p.failed(t, tc.reason, tc.err)
				return
			}
			got := map[string]string{}
			for k, v := range p.ok(t).ConnectionDetails {
				got[k] = string(v)
			}
			// The XR's own Secret has these connection details, and the function
			// returns them unchanged.
			for key, value := range map[string]string{"key": "v", "binary": "\ufffd"} {
				if _, derived := tc.want[key]; !derived {
					e2e.Equal(t, tc.reason, value, got[key])
					delete(got, key)
				}
			}
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
}

// TestConnectionDetailsAreReplaced checks that the XR has only the connection
// details that functions return.
func TestConnectionDetailsAreReplaced(t *testing.T) {
	p := world{
		existing: []string{secret},
		xr:       `spec: {writeConnectionSecretToRef: {name: s, namespace: xs}}`,
		spec:     calls("f"),
		functions: map[string]func(*fnio.FunctionIO){"f": func(io *fnio.FunctionIO) {
			io.Desired.Composite.ConnectionDetails = []fnio.ExplicitConnectionDetail{{Name: "new", Value: "n"}}
		}},
	}.run(t).ok(t)
	e2e.Equal(t, "only the connection details that the function returns are left", map[string][]byte{"new": []byte("n")}, p.ConnectionDetails)
}
