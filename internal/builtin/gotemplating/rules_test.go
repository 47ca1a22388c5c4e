package gotemplating_test

import (
	"encoding/json"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/builtin/gotemplating"
	"github.com/xfn-dev/xfn/internal/e2e"
)

// answer returns the function's response to a request. It also asserts that the
// function does not change the request.
func answer(t *testing.T, o gotemplating.Options, request string) any {
	t.Helper()
	return answerOf(t, gotemplating.New(o), request)
}

// answerOf is like answer, for a given function.
func answerOf(t *testing.T, r function.Runner, request string) any {
	t.Helper()
	raw := e2e.Must(yaml.YAMLToJSON([]byte(request)))(t)
	req := &fnv1.RunFunctionRequest{}
	e2e.NoError(t, protojson.Unmarshal(raw, req))
	before := protojson.Format(req)
	rsp, err := r.RunFunction(t.Context(), "", req)
	e2e.NoError(t, err)
	e2e.Equal(t, "RunFunction does not change the request", before, protojson.Format(req))
	if raw, err = protojson.Marshal(rsp); err != nil {
		t.Fatal(err)
	}
	return value(t, raw)
}

func fromYAML(t *testing.T, text string) any {
	t.Helper()
	return value(t, e2e.Must(yaml.YAMLToJSON([]byte(text)))(t))
}

func value(t *testing.T, raw []byte) any {
	t.Helper()
	var v any
	e2e.NoError(t, json.Unmarshal(raw, &v))
	return v
}

const (
	observed = "observed: {composite: {resource: {apiVersion: h/v1, kind: Pier, metadata: {name: p}}}}\n"
	metaAPI  = "apiVersion: meta.gotemplating.fn.crossplane.io/v1alpha1\n"
)

// crane returns a document that describes a composed resource.
func crane(name string) string {
	return "apiVersion: d/v1\nkind: Crane\nmetadata: {annotations: {gotemplating.fn.crossplane.io/composition-resource-name: " + name + "}}\n"
}

// TestRules checks rules that no golden case covers. The field want of a case is
// the response without its meta. If want is a list, only the messages of the
// results are compared with it.
func TestRules(t *testing.T) {
	text := func(template string) string {
		quoted, _ := json.Marshal(template)
		return "input: {source: Inline, inline: {template: " + string(quoted) + "}}\n"
	}
	const pier = "apiVersion: h/v1\nkind: Pier\n"
	const reserved = metaAPI + "kind: ClaimConditions\nconditions: [{type: A, status: 'True', reason: R}, {type: Synced}]\n"
	cases := map[string]struct{ reason, request, want string }{
		"EnvironmentSource": {
			reason: "the key is literal",
			request: `context: {apiextensions.crossplane.io/environment: {a.b: "kind: A\nmetadata: {annotations: {gotemplating.fn.crossplane.io/composition-resource-name: x}}"}}
input: {source: Environment, environment: {key: a.b}}`,
			want: `{context: {apiextensions.crossplane.io/environment: {a.b: "kind: A\nmetadata: {annotations: {gotemplating.fn.crossplane.io/composition-resource-name: x}}"}}, desired: {composite: {resource: {}}, resources: {x: {resource: {kind: A, metadata: {annotations: {}}}}}}}`,
		},
		"EnvironmentNoObject": {
			reason: "an environment that is not an object is ignored",
			request: `context: {apiextensions.crossplane.io/environment: x}
input: {source: Environment, environment: {key: a}}`,
			want: `{context: {apiextensions.crossplane.io/environment: x}, results: ['invalid function input: cannot read tmpl from the environment: apiextensions.crossplane.io/environment key does not exist in context']}`,
		},
		"NoInput": {
			reason:  "a missing input is an empty input",
			request: "meta: {tag: t}",
			want:    `{results: ['invalid function input: source is required']}`,
		},
		"NoFileSystem": {
			reason:  "the folder is required",
			request: "input: {source: FileSystem}",
			want:    `{results: ['invalid function input: fileSystem.dirPath should be provided']}`,
		},
		"EmptyTemplates": {
			reason:  "an empty list of templates is a missing template",
			request: "input: {source: Inline, inline: {templates: []}}",
			want:    `{results: ['invalid function input: inline.template or inline.templates should be provided']}`,
		},
		"RightDelimOnly": {
			reason:  "a single delimiter is ignored",
			request: "input: {source: Inline, inline: {template: '# {{ 1 }} ]]'}, delims: {right: ']]'}}",
			want:    `{desired: {composite: {resource: {}}}}`,
		},
		"LinesRunThrough": {
			reason:  "line numbers continue in later templates",
			request: "input: {source: Inline, inline: {templates: [\"a\\n\", \"{{ upper 1 }}\"]}}",
			want:    `{results: ['cannot execute template: template: manifests:4:9: executing "manifests" at <1>: expected string; found 1']}`,
		},
		"LaterOptionWins": {
			reason:  "the last of two options applies",
			request: "input: {source: Inline, inline: {template: '# {{ .x }}'}, options: [missingkey=error, missingkey=default]}",
			want:    `{desired: {composite: {resource: {}}}}`,
		},
		"EmptyOption": {
			reason:  "an empty option among others is invalid",
			request: "input: {source: Inline, inline: {template: x}, options: [missingkey=zero, '']}",
			want:    `{results: ['cannot apply template options: panic occurred while applying template options: empty option string']}`,
		},
		"OnlyEmptyOption": {
			reason:  "a single empty option is invalid",
			request: "input: {source: Inline, inline: {template: x}, options: ['']}",
			want:    `{results: ['cannot apply template options: panic occurred while applying template options: empty option string']}`,
		},
		"OptionsInside": {
			reason:  "options apply to defined templates",
			request: "input: {source: Inline, inline: {template: '{{ define \"t\" }}{{ .x }}{{ end }}{{ include \"t\" . }}'}, options: [missingkey=error]}",
			want:    `{results: ['cannot execute template: template: manifests:1:36: executing "manifests" at <include "t" .>: error calling include: template: manifests:1:19: executing "t" at <.x>: map has no entry for key "x"']}`,
		},
		"ParseBeforeOptions": {
			reason:  "a syntax error is reported before an invalid option",
			request: "input: {source: Inline, inline: {template: '{{'}, options: [x]}",
			want:    `{results: ['invalid function input: cannot parse the provided templates: template: manifests:1: unclosed action']}`,
		},

		"Ready": {
			reason: "enums, bytes and aliases have their JSON form",
			request: `desired: {resources: {a: {ready: READY_TRUE, connectionDetails: {k: aGk=}}}}
` + text(metaAPI+`kind: Context
data: {r: {{ .desired.resources.a.ready }}, k: {{ .desired.resources.a.connectionDetails.k }}, e: {{ hasKey . "extraResources" }}}`),
			want: `{context: {e: false, k: 'aGk=', r: READY_TRUE}, desired: {composite: {resource: {}}, resources: {a: {ready: READY_TRUE, resource: {}}}}}`,
		},
		"NoMixing": {
			reason: "extra resources hide the required resources",
			request: `extraResources: {e: {}}
requiredResources: {r: {}}
` + text(metaAPI+`kind: Context
data: {k: {{ keys .extraResources | toJson }}}`),
			want: `{context: {apiextensions.crossplane.io/extra-resources: {r: {}}, k: [e]}, desired: {composite: {resource: {}}}}`,
		},
		"LargeInts": {
			reason: "a number has the shortest digits that identify it",
			request: `context: {nn: 4611686018427387904, z: -0.0, m: 9223372036854775807}
` + text("# {{ fail (printf `%v %v %v` .context.nn .context.z .context.m) }}"),
			want: `{"context":{"nn":4611686018427387904,"z":0,"m":9223372036854775808},"results":["cannot execute template: template: manifests:1:5: executing \"manifests\" at <fail (printf ` + "`%v %v %v`" + ` .context.nn .context.z .context.m)>: error calling fail: 4611686018427388000 0 9.223372036854776e+18"]}`,
		},

		"SeparatorComment": {
			reason: "a separator may have spaces and a comment",
			request: text(crane("a") + `---  # c
` + crane("b") + `...
`),
			want: `{desired: {composite: {resource: {}}, resources: {a: {resource: {apiVersion: d/v1, kind: Crane, metadata: {annotations: {}}}}, b: {resource: {apiVersion: d/v1, kind: Crane, metadata: {annotations: {}}}}}}}`,
		},
		"YAMLAfterJSON": {
			reason: "YAML may follow JSON after a separator",
			request: text(`{"kind":"A","metadata":{"annotations":{"gotemplating.fn.crossplane.io/composition-resource-name":"j"}}}` + `
---
` + crane("a")),
			want: `{desired: {composite: {resource: {}}, resources: {a: {resource: {apiVersion: d/v1, kind: Crane, metadata: {annotations: {}}}}, j: {resource: {kind: A, metadata: {annotations: {}}}}}}}`,
		},
		"YAML11": {
			reason: "values are read as YAML 1.1",
			request: text(crane("a") + `v: [y, no, on, 0777, 0o17, 1_000, !!binary aGk=, 2026-01-02, 12:30, 1.0]
n: 5
`),
			want: `{desired: {composite: {resource: {}}, resources: {a: {resource: {apiVersion: d/v1, 'false': 5, kind: Crane, metadata: {annotations: {}}, v: [true, false, true, 511, 15, 1000, hi, '2026-01-02', '12:30', 1]}}}}}`,
		},
		"Null": {
			reason: "null documents and comments are skipped",
			request: text(`null
---
# c
---
~
`),
			want: `{desired: {composite: {resource: {}}}}`,
		},
		"List": {
			reason:  "a document must not be a list",
			request: text("- a"),
			want:    `{results: ['cannot decode manifest: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go value of type map[string]interface {}']}`,
		},
		"EmptyKind": {
			reason:  "a kind must not be empty",
			request: text("kind: ''"),
			want:    `{results: ["cannot decode manifest: error unmarshaling JSON: while decoding JSON: Object 'Kind' is missing in '{\"kind\":\"\"}'"]}`,
		},
		"NullShiftsNothing": {
			reason: "a null document does not count",
			request: text(`null
---
` + crane("a") + `a: b: c
`),
			want: `{results: ["cannot decode manifest: error converting YAML to JSON: yaml: line 6 (document 1, line 4) near: 'a: b: c': mapping values are not allowed in this context"]}`,
		},
		"IndentedSeparator": {
			reason: "an indented separator counts",
			request: text(`kind: A
v: |
  ---
b: c: d
x: 1
y: 2
z: 3
`),
			want: `{results: ["cannot decode manifest: error converting YAML to JSON: yaml: line 7 (document 1, line 4) near: 'z: 3': mapping values are not allowed in this context"]}`,
		},
		"LongLine": {
			reason: "the quoted text is cut after 80 bytes",
			request: text(`kind: A
---
kind: B
b: c: ` + strings.Repeat("x", 100)),
			want: `{"results":["cannot decode manifest: error converting YAML to JSON: yaml: line 4 (document 2, line 2) near: 'b: c: ` + strings.Repeat("x", 74) + `...': mapping values are not allowed in this context"]}`,
		},
		"LongLineRune": {
			reason: "a character that is cut stays valid UTF-8",
			request: text(`kind: A
---
kind: B
b: c:  ` + strings.Repeat("ä", 100)),
			want: `{"results":["cannot decode manifest: error converting YAML to JSON: yaml: line 4 (document 2, line 2) near: 'b: c:  ` + strings.Repeat("ä", 36) + "\uFFFD" + `...': mapping values are not allowed in this context"]}`,
		},

		"NullAnnotations": {
			reason: "annotations must not be null",
			request: text(`kind: A
metadata: {annotations: null}`),
			want: `{results: ["invalid annotations in resource '/, Kind=A resource-name=<nil>': .metadata.annotations accessor error: <nil> is of the type <nil>, expected map[string]interface{}"]}`,
		},
		"AnnotationsFirst": {
			reason: "annotations are validated before any document is applied",
			request: text(reserved + `---
kind: A
metadata: []
`),
			want: `{results: ["invalid annotations in resource '/, Kind=A resource-name=<nil>': .metadata.annotations accessor error: [] is of the type []interface {}, expected map[string]interface{}"]}`,
		},

		"CompositeNamed": {
			reason: "a composite resource with a resource name is a composed resource",
			request: observed + text(pier+`metadata: {annotations: {gotemplating.fn.crossplane.io/composition-resource-name: nn}}
status: {a: 1}`),
			want: `{desired: {composite: {resource: {}}, resources: {nn: {resource: {apiVersion: h/v1, kind: Pier, metadata: {annotations: {}}, status: {a: 1}}}}}}`,
		},
		"StatusMerge": {
			reason: "objects are merged and other values are replaced",
			request: observed + `desired: {composite: {resource: {status: {o: {a: 1, b: {}}, l: [1, 2], s: x, nn: 1, t: true, k: {z: 1}}}}}
` + text(pier+"status: {o: {a: 2, c: 3, b: {}}, l: [3], s: '', nn: null, t: {x: 1}, k: 5}"),
			want: `{desired: {composite: {resource: {status: {k: 5, l: [3], nn: null, o: {a: 2, b: {}, c: 3}, s: '', t: {x: 1}}}}}}`,
		},
		"StatusEmpty": {
			reason: "an empty object does not change an object",
			request: observed + `desired: {composite: {resource: {status: {o: {a: 1}}}}}
` + text(pier+"status: {o: {}}"),
			want: `{desired: {composite: {resource: {status: {o: {a: 1}}}}}}`,
		},
		"StatusNull": {
			reason:  "a null status is an empty status",
			request: observed + text(pier+"status: null"),
			want:    `{desired: {composite: {resource: {status: {}}}}}`,
		},
		"StatusLate": {
			reason: "after an error the status of the request is kept",
			request: observed + `desired: {composite: {resource: {status: {a: 1}}}}
` + text(pier+`status: {a: 2}
---
`+pier+`status: []
`),
			want: `{desired: {composite: {resource: {status: {a: 1}}}}, results: ['cannot get templated composite status: cannot unmarshal value from JSON: json: cannot unmarshal array into Go value of type map[string]interface {}']}`,
		},
		"ReadyReset": {
			reason: "a readiness of an earlier step is kept if it is set again",
			request: observed + `desired: {composite: {resource: {a: 1}, ready: READY_TRUE, connectionDetails: {k: YQ==}}, resources: {o: {resource: {b: 1}, ready: READY_FALSE, connectionDetails: {k: YQ==}}}}
` + text("# x"),
			want: `{desired: {composite: {connectionDetails: {k: 'YQ=='}, resource: {a: 1}}, resources: {o: {ready: READY_FALSE, resource: {b: 1}}}}}`,
		},
		"LastWins": {
			reason: "of two documents with the same name the last applies",
			request: text(crane("a") + `x: 1
---
` + crane("a")),
			want: `{desired: {composite: {resource: {}}, resources: {a: {resource: {apiVersion: d/v1, kind: Crane, metadata: {annotations: {}}}}}}}`,
		},
		"ReadyBeforeName": {
			reason: "readiness is validated before the name",
			request: text(`kind: A
metadata: {annotations: {gotemplating.fn.crossplane.io/ready: x}}`),
			want: `{results: ['invalid function input: invalid "gotemplating.fn.crossplane.io/ready" annotation value "x": must be True, False, or Unspecified']}`,
		},

		"Leaks": {
			reason: "context and conditions stay after an error",
			request: `context: {a: {x: 1}}
` + text(metaAPI+`kind: Context
data: {a: {yy: 2}}
---
`+reserved),
			want: `{conditions: [{reason: R, status: STATUS_CONDITION_TRUE, target: TARGET_COMPOSITE, type: A}], context: {a: {x: 1, yy: 2}}, results: ['cannot set ClaimCondition type: Synced is a reserved Crossplane Condition']}`,
		},
		"DetailsLeak": {
			reason: "connection details stay after an error if the request had some",
			request: `desired: {composite: {resource: {a: 1}, ready: READY_TRUE, connectionDetails: {k: YQ==}}, resources: {o: {connectionDetails: {k: YQ==}}}}
` + text(metaAPI+`kind: CompositeConnectionDetails
data: {nn: Yg==}
---
kind: A`),
			want: `{desired: {composite: {connectionDetails: {k: 'YQ==', nn: 'Yg=='}, ready: READY_TRUE, resource: {a: 1}}, resources: {o: {connectionDetails: {k: 'YQ=='}}}}, results: ['"A" template is missing required "gotemplating.fn.crossplane.io/composition-resource-name" annotation']}`,
		},
		"DetailsLeakNot": {
			reason: "connection details are dropped after an error if the request had none",
			request: `desired: {composite: {resource: {a: 1}}}
` + text(metaAPI+`kind: CompositeConnectionDetails
data: {nn: Yg==}
---
kind: A`),
			want: `{desired: {composite: {resource: {a: 1}}}, results: ['"A" template is missing required "gotemplating.fn.crossplane.io/composition-resource-name" annotation']}`,
		},
		"DetailsNumber": {
			reason: "a value that is not a string drops all connection details",
			request: text(metaAPI + `kind: CompositeConnectionDetails
data: {nn: Yg==, m: 1}`),
			want: `{desired: {composite: {resource: {}}}}`,
		},
		"DetailsBroken": {
			reason: "invalid base64 is decoded up to the error",
			request: text(metaAPI + `kind: CompositeConnectionDetails
data: {nn: 'YWJjZGV!'}`),
			want: `{desired: {composite: {connectionDetails: {nn: YWJj}, resource: {}}}}`,
		},
		"Conditions": {
			reason: "an unknown state is Unknown, and an unknown target is the composite resource",
			request: text(metaAPI + `kind: ClaimConditions
conditions: [{type: '', status: Maybe, reason: R, message: m, target: CompositeAndClaim}, {type: B, target: Else, message: ''}]`),
			want: `{conditions: [{message: m, reason: R, status: STATUS_CONDITION_UNKNOWN, target: TARGET_COMPOSITE_AND_CLAIM}, {status: STATUS_CONDITION_UNKNOWN, target: TARGET_COMPOSITE, type: B}], desired: {composite: {resource: {}}}}`,
		},
		"ContextTwice": {
			reason: "without a context in the request the second document replaces the first",
			request: text(metaAPI + `kind: Context
data: {m: {a: 1}, k: 1}
---
` + metaAPI + `kind: Context
data: {m: {b: 2}}`),
			want: `{context: {k: 1, m: {b: 2}}, desired: {composite: {resource: {}}}}`,
		},
		"ContextEmpty": {
			reason: "an empty context in the request counts as no context, as over gRPC",
			request: `context: {}
` + text(metaAPI+`kind: Context
data: {m: {a: 1}}
---
`+metaAPI+`kind: Context
data: {m: {b: 2}}`),
			want: `{context: {m: {b: 2}}, desired: {composite: {resource: {}}}}`,
		},
		"Namespaced": {
			reason: "a namespace needs a name, and a newer version of Crossplane",
			request: text(metaAPI + `kind: ExtraResources
requirements: {nn: {apiVersion: v1, kind: S, matchName: s, namespace: x}, l: {apiVersion: v1, kind: S, namespace: x}}
---
` + metaAPI + `kind: ExtraResources
requirements: {nn: {apiVersion: v1, kind: T, matchName: s}}`),
			want: `{desired: {composite: {resource: {}}}, requirements: {extraResources: {nn: {apiVersion: v1, kind: T, matchName: s}}, resources: {l: {apiVersion: v1, kind: S, matchLabels: {}}, nn: {apiVersion: v1, kind: T, matchName: s}}}}`,
		},
		"BothNoContext": {
			reason: "without a context only required resources are copied",
			request: `extraResources: {e: {}}
requiredResources: {r: {}}
` + text("# x"),
			want: `{context: {apiextensions.crossplane.io/extra-resources: {r: {}}}, desired: {composite: {resource: {}}}}`,
		},
		"ExtraReplaces": {
			reason: "a value that is not an object is replaced",
			request: `context: {apiextensions.crossplane.io/extra-resources: x}
extraResources: {e: {}}
` + text("# x"),
			want: `{context: {apiextensions.crossplane.io/extra-resources: {e: {}}}, desired: {composite: {resource: {}}}}`,
		},
		"ExtraOverData": {
			reason: "extra resources replace the value of a document",
			request: `context: {a: 1}
extraResources: {e: {}}
` + text(metaAPI+`kind: Context
data: {apiextensions.crossplane.io/extra-resources: {z: {items: []}}}`),
			want: `{context: {a: 1, apiextensions.crossplane.io/extra-resources: {e: {}, z: {items: []}}}, desired: {composite: {resource: {}}}}`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := answer(t, gotemplating.Options{}, tc.request).(map[string]any)
			delete(got, "meta")
			var messages []any
			results, _ := got["results"].([]any)
			for _, r := range results {
				messages = append(messages, r.(map[string]any)["message"])
			}
			if messages != nil {
				got["results"] = messages
			}
			e2e.Equal(t, tc.reason, fromYAML(t, tc.want), any(got))
		})
	}
}

// TestTTL checks the time to live of responses of the main branch.
func TestTTL(t *testing.T) {
	annotated := func(ttl string) string {
		return "observed: {composite: {resource: {metadata: {annotations: {gotemplating.fn.crossplane.io/ttl: " + ttl + "}}}}}\n"
	}
	const ok, fatal, undecodable = "'# x'", "'kind: A'", "'kind: ['"
	cases := map[string]struct {
		reason, annotation, template, ttl, want string
	}{
		"None":       {reason: "the default is a minute", annotation: "", template: ok, ttl: "''", want: "60s"},
		"Input":      {reason: "the input sets the time", annotation: "", template: ok, ttl: "5m", want: "300s"},
		"NoDuration": {reason: "an invalid duration in the input is ignored", annotation: "", template: ok, ttl: "soon", want: "60s"},
		"Annotation": {reason: "the annotation takes precedence over the input", annotation: annotated("7s"), template: ok, ttl: "5m", want: "7s"},
		"Unparsable": {reason: "an invalid duration in the annotation is zero", annotation: annotated("soon"), template: ok, ttl: "5m", want: "0s"},
		"Number":     {reason: "an annotation that is not a string invalidates all annotations", annotation: annotated("7"), template: ok, ttl: "5m", want: "300s"},
		"Null":       {reason: "another annotation that is null has no effect", annotation: annotated("7s, a: null"), template: ok, ttl: "5m", want: "7s"},
		"NullTime": {
			reason:     "an annotation that is null is an empty string, which is an invalid duration",
			annotation: annotated("null"),
			template:   ok,
			ttl:        "5m",
			want:       "0s",
		},
		"LateFatal":   {reason: "the time applies to errors after decoding", annotation: annotated("7s"), template: fatal, ttl: "5m", want: "7s"},
		"DecodeFatal": {reason: "the time does not apply to decoding errors", annotation: annotated("7s"), template: undecodable, ttl: "5m", want: "300s"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			request := tc.annotation + "input: {source: Inline, inline: {template: " + tc.template + "}, ttl: " + tc.ttl + "}"
			got := answer(t, gotemplating.Options{Version: "main"}, request).(map[string]any)["meta"]
			e2e.Equal(t, tc.reason, any(map[string]any{"ttl": tc.want}), got)
		})
	}
}
