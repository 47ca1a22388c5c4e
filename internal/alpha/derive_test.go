package alpha_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	fnio "github.com/xfn-dev/xfn/internal/alpha/v1alpha1"
)

const (
	observing = `cannot observe composed resources: `
	secret    = `{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: xs}, data: {key: dg==, binary: /w==}}`
	ready     = `conditions: [{type: Ready, status: "True"}, {type: Odd, status: "Maybe"}]`
)

// derive composes a Till that exists, with a status, with what a function and a
// template say of it.
func derive(t *testing.T, byFunction, byTemplate string) *passed {
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
		"NoChecks":          {reason: "without a check the condition Ready counts", want: true},
		"None":              {reason: "None needs nothing", checks: `{type: None}`, want: true},
		"NonEmpty":          {reason: "what is there passes", checks: `{type: NonEmpty, fieldPath: status.open}`, want: true},
		"Null":              {reason: "NonEmpty accepts null, which is a value", checks: `{type: NonEmpty, fieldPath: spec.none}`, want: true},
		"Missing":           {reason: "what is not there is not ready", checks: `{type: NonEmpty, fieldPath: status.no}`},
		"MatchString":       {reason: "the same string passes", checks: `{type: MatchString, fieldPath: spec.name, matchString: t}`, want: true},
		"OtherString":       {reason: "a different string is not ready", checks: `{type: MatchString, fieldPath: spec.name, matchString: u}`},
		"MissingString":     {reason: "a missing field does not match a string", checks: `{type: MatchString, fieldPath: spec.no, matchString: u}`},
		"EmptyString":       {reason: "an empty string may be asked for", checks: `{type: MatchString, fieldPath: spec.name, matchString: ""}`},
		"NoString":          {reason: "a number is none", checks: `{type: MatchString, fieldPath: spec.drawers, matchString: a}`, err: till + `0: spec.drawers: not a string`},
		"MatchInteger":      {reason: "the same number passes", checks: `{type: MatchInteger, fieldPath: spec.drawers, matchInteger: 2}`, want: true},
		"Zero":              {reason: "0 may be asked for", checks: `{type: MatchInteger, fieldPath: spec.drawers, matchInteger: 0}`},
		"NoInteger":         {reason: "a string is none", checks: `{type: MatchInteger, fieldPath: spec.name, matchInteger: 1}`, err: till + `0: spec.name: not a (int64) number`},
		"MatchCondition":    {reason: "the status of a condition passes", checks: `{type: MatchCondition, matchCondition: {type: Odd, status: Maybe}}`, want: true},
		"NoDefaults":        {reason: "a function's MatchCondition has no default condition", checks: `{type: MatchCondition, matchCondition: {}}`},
		"UnknownCondition":  {reason: "a condition that is missing is Unknown", checks: `{type: MatchCondition, matchCondition: {type: X, status: Unknown}}`, want: true},
		"All":               {reason: "all have to pass", checks: `{type: None}, {type: NonEmpty, fieldPath: status.no}`},
		"FirstFailureEnds":  {reason: "the first that fails ends the others", checks: `{type: NonEmpty, fieldPath: status.no}, {type: X}`},
		"Index":             {reason: "a check that cannot be run is named by its place", checks: `{type: None}, {type: MatchString}`, err: till + `1: invalid: type "MatchString" requires a match string`},
		"IntegerMissing":    {reason: "MatchInteger needs one", checks: `{type: MatchInteger, fieldPath: a}`, err: till + `0: invalid: type "MatchInteger" requires a match integer`},
		"ConditionMissing":  {reason: "MatchCondition needs one", checks: `{type: MatchCondition}`, err: till + `0: invalid: type "MatchCondition" requires a valid match condition`},
		"FieldPathMissing":  {reason: "NonEmpty needs a path", checks: `{type: NonEmpty}`, err: till + `0: invalid: type "NonEmpty" requires a field path`},
		"StringPathMissing": {reason: "MatchString needs a path", checks: `{type: MatchString, matchString: a}`, err: till + `0: invalid: type "MatchString" requires a field path`},
		"UnknownType":       {reason: "there are no other types", checks: `{type: MatchTrue, fieldPath: a}`, err: till + `0: invalid: unknown type "MatchTrue"`},
		"BadPath":           {reason: "a path has to be one", checks: `{type: NonEmpty, fieldPath: "a["}`, err: till + `0: cannot parse path "a[": unterminated '[' at position 1`},
		"NotAList":          {reason: "a path must fit the object", checks: `{type: NonEmpty, fieldPath: "spec[0]"}`, err: till + `0: spec: not an array`},

		"Template":       {reason: "a template's checks count", template: `readinessChecks: [{type: NonEmpty, fieldPath: status.no}]`},
		"NoneRelaxesNot": {reason: "None comes after the template's and cannot relax them", checks: `{type: None}`, template: `readinessChecks: [{type: NonEmpty, fieldPath: status.no}]`},
		"After":          {reason: "a function's come after the template's", checks: `{type: X}`, template: `readinessChecks: [{type: None}]`, err: till + `1: invalid: unknown type "X"`},
		"TemplateEmpty":  {reason: "in a template an empty matchString counts as missing", template: `readinessChecks: [{type: MatchString, fieldPath: a, matchString: ""}]`, err: till + `0: invalid: type "MatchString" requires a match string`},
		"TemplateZero":   {reason: "in a template matchInteger 0 counts as missing", template: `readinessChecks: [{type: MatchInteger, fieldPath: a, matchInteger: 0}]`, err: till + `0: invalid: type "MatchInteger" requires a match integer`},
		"TemplateNoPath": {reason: "in a template an empty fieldPath counts as missing", template: `readinessChecks: [{type: NonEmpty, fieldPath: ""}]`, err: till + `0: invalid: type "NonEmpty" requires a field path`},
		"TemplateDefaults": {
			reason: "its conditions have defaults", template: `readinessChecks: [{type: MatchCondition, matchCondition: {}}]`, want: true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := derive(t, "readinessChecks: ["+tc.checks+"]", tc.template)
			if tc.err != "" {
				p.failed(t, tc.reason, tc.err)
				return
			}
			if got := p.ok(t).Composed[0].Ready; got != tc.want {
				t.Errorf("%s: got %v", tc.reason, got)
			}
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
		"Value":       {reason: "a value is one", details: `{name: a, type: FromValue, value: v}`, want: map[string]string{"a": "v"}},
		"EmptyValue":  {reason: "even if it is empty", details: `{name: a, type: FromValue, value: ""}`, want: map[string]string{"a": ""}},
		"Key":         {reason: "a key of the resource's secret is", details: `{name: a, type: FromConnectionSecretKey, fromConnectionSecretKey: key}`, want: map[string]string{"a": "v"}},
		"KeyIsName":   {reason: "a detail without a name has the name of its secret key", details: `{type: FromConnectionSecretKey, fromConnectionSecretKey: key}`, want: map[string]string{"key": "v"}},
		"NoKey":       {reason: "one that is not there gives nothing", details: `{type: FromConnectionSecretKey, fromConnectionSecretKey: no}`, want: map[string]string{}},
		"Path":        {reason: "a field is", details: `{name: a, type: FromFieldPath, fromFieldPath: spec.name}`, want: map[string]string{"a": "t"}},
		"PathObject":  {reason: "as JSON, if it is no string", details: `{name: a, type: FromFieldPath, fromFieldPath: spec.list}`, want: map[string]string{"a": "[1]"}},
		"NoPath":      {reason: "one that is not there gives nothing", details: `{name: a, type: FromFieldPath, fromFieldPath: spec.no}`, want: map[string]string{}},
		"BadPath":     {reason: "a path that cannot be parsed gives nothing", details: `{name: a, type: FromFieldPath, fromFieldPath: "a["}`, want: map[string]string{}},
		"Unknown":     {reason: "a type that is not known gives nothing", details: `{name: a, type: FromConnectionDetailKey}`, want: map[string]string{}},
		"NoName":      {reason: "a name is required", details: `{type: FromValue, value: v}`, err: till + `connection detail is missing name`},
		"EmptyName":   {reason: "that is not empty", details: `{name: "", type: FromConnectionSecretKey, fromConnectionSecretKey: key}`, err: till + `connection detail is missing name`},
		"NoType":      {reason: "no type is inferred", details: `{name: a, value: v}`, want: map[string]string{}},
		"ValueUnset":  {reason: "each type needs its own", details: `{name: a, type: FromValue}`, err: till + `connection detail of type "FromValue" value is not set`},
		"KeyUnset":    {reason: "each type needs its own", details: `{name: a, type: FromConnectionSecretKey}`, err: till + `connection detail of type "FromConnectionSecretKey" key is not set`},
		"PathUnset":   {reason: "each type needs its own", details: `{name: a, type: FromFieldPath}`, err: till + `connection detail of type "FromFieldPath" fromFieldPath is not set`},
		"Template":    {reason: "a template's type is inferred, and its are there without a function's", template: `connectionDetails: [{name: a, value: v}, {fromConnectionSecretKey: key}, {name: b, fromFieldPath: spec.drawers}]`, want: map[string]string{"a": "v", "key": "v", "b": "2"}},
		"Over":        {reason: "a function's win over a template's", details: `{name: a, type: FromValue, value: f}`, template: `connectionDetails: [{name: a, value: v}]`, want: map[string]string{"a": "f"}},
		"NothingThen": {reason: "none, none", want: map[string]string{}},
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
			// The XR has a secret of its own, which echoes.
			for key, value := range map[string]string{"key": "v", "binary": "\ufffd"} {
				if _, derived := tc.want[key]; !derived {
					if got[key] != value {
						t.Errorf("%s: the XR's own %q is %q", tc.reason, key, got[key])
					}
					delete(got, key)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestConnectionDetailsAreReplaced: what functions return is all that there is.
func TestConnectionDetailsAreReplaced(t *testing.T) {
	p := world{
		existing: []string{secret},
		xr:       `spec: {writeConnectionSecretToRef: {name: s, namespace: xs}}`,
		spec:     calls("f"),
		functions: map[string]func(*fnio.FunctionIO){"f": func(io *fnio.FunctionIO) {
			io.Desired.Composite.ConnectionDetails = []fnio.ExplicitConnectionDetail{{Name: "new", Value: "n"}}
		}},
	}.run(t).ok(t)
	if diff := cmp.Diff(map[string][]byte{"new": []byte("n")}, p.ConnectionDetails); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
