package clusterdiff

import (
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/schema"
)

const owner = "apiextensions.crossplane.io/composed/1"

// managedBy returns metadata with managed fields: Crossplane's in the form of FieldsV1, and
// the fields of another manager.
func managedBy(crossplane, other string) string {
	entry := func(manager, operation, fields string) string {
		return `{"manager":"` + manager + `","operation":"` + operation + `","fieldsType":"FieldsV1","apiVersion":"v1","fieldsV1":` + fields + `}`
	}
	return `"metadata":{"managedFields":[` + entry(owner, "Apply", crossplane) + "," + entry("kubectl", "Update", other) + `]}`
}

const widgets = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.gold.test"},"spec":{"group":"gold.test","scope":"Namespaced",
"names":{"kind":"Widget","plural":"widgets"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{
"size":{"type":"integer","default":3},
"rules":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["port"],"items":{"type":"object","required":["port"],"properties":{"port":{"type":"integer"},"mode":{"type":"string"}}}},
"tags":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}},
"steps":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"retries":{"type":"integer","default":5}}}},
"selector":{"type":"object","x-kubernetes-map-type":"atomic","additionalProperties":{"type":"string"}}}}}}}}]}}`

// TestApplySchema: an apply merges lists and maps by the schema of the kind, and removes the
// fields that Crossplane managed.
func TestApplySchema(t *testing.T) {
	defined := e2e.Must(schema.Define(object(t, widgets)))(t)
	types := schema.Definitions{defined[0].GroupKind: defined[0]}
	service := func(fields string) string { return `{"apiVersion":"v1","kind":"Service",` + fields + `}` }
	widget := func(fields string) string { return `{"apiVersion":"gold.test/v1","kind":"Widget",` + fields + `}` }
	spec := func(fields string) string { return widget(`"spec":{` + fields + `}`) }
	cases := map[string]struct{ reason, live, desired, previous, want, guess string }{
		"Grows": {
			reason:  "the ports of a Service are merged by port and protocol, whose default is TCP",
			live:    service(`"spec":{"ports":[{"port":80,"protocol":"TCP","targetPort":80}]}`),
			desired: service(`"spec":{"ports":[{"port":80},{"port":81}]}`),
			want:    `{"ports":[{"port":80,"protocol":"TCP","targetPort":80},{"port":81,"protocol":"TCP"}],"type":"ClusterIP","sessionAffinity":"None"}`,
		},
		"Protocols": {
			reason:  "ports of the same number and other protocols are different items",
			live:    service(`"spec":{"ports":[{"port":53,"protocol":"UDP","nodePort":1}]}`),
			desired: service(`"spec":{"ports":[{"port":53,"protocol":"TCP"},{"port":53,"protocol":"UDP"}]}`),
			want:    `{"ports":[{"port":53,"protocol":"TCP"},{"port":53,"protocol":"UDP","nodePort":1}],"type":"ClusterIP","sessionAffinity":"None"}`,
		},
		"Selector": {
			reason:  "the selector of a Service is atomic",
			live:    service(`"spec":{"selector":{"a":"1","b":"2"}}`),
			desired: service(`"spec":{"selector":{"a":"1"}}`),
			want:    `{"selector":{"a":"1"},"type":"ClusterIP","sessionAffinity":"None"}`,
		},
		"Managed": {
			reason:  "fields that Crossplane manages and no longer sets are removed, and fields of other managers are kept",
			live:    service(managedBy(`{"f:spec":{"f:clusterIP":{},"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}}}}`, `{"f:spec":{"f:externalName":{},"f:ports":{"k:{\"port\":443,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}}}}`) + `,"spec":{"type":"ClusterIP","sessionAffinity":"None","clusterIP":"None","externalName":"x","ports":[{"port":80,"protocol":"TCP","targetPort":80},{"port":443,"protocol":"TCP"}]}`),
			desired: service(`"spec":{}`),
			want:    `{"externalName":"x","ports":[{"port":443,"protocol":"TCP"}],"type":"ClusterIP","sessionAffinity":"None"}`,
		},
		"OtherManager": {
			reason:   "with managed fields, the previous configuration is not used",
			live:     service(managedBy(`{}`, `{"f:spec":{"f:externalName":{}}}`) + `,"spec":{"externalName":"x"}`),
			desired:  service(`"spec":{}`),
			previous: service(`"spec":{"externalName":"x"}`),
			want:     `{"externalName":"x","type":"ClusterIP","sessionAffinity":"None"}`,
		},
		"Reset": {
			reason:   "a removed field with a default is reset to it",
			live:     spec(`"size":7`),
			desired:  spec(`"rules":[{"port":1}]`),
			previous: spec(`"size":7`),
			want:     `{"rules":[{"port":1}],"size":3}`,
		},
		"ResetService": {
			reason:   "a removed field with a default that the API server sets in Go is reset to it",
			live:     service(`"spec":{"type":"LoadBalancer"}`),
			desired:  service(`"spec":{"sessionAffinity":"ClientIP"}`),
			previous: service(`"spec":{"type":"LoadBalancer"}`),
			want:     `{"type":"ClusterIP","sessionAffinity":"ClientIP"}`,
		},
		"Quantity": {
			reason:  "the API server stores quantities in canonical form",
			live:    `{"apiVersion":"v1","kind":"LimitRange","spec":{"limits":[{"type":"Pod","max":{"cpu":"500m","memory":"1Gi"}}]}}`,
			desired: `{"apiVersion":"v1","kind":"LimitRange","spec":{"limits":[{"type":"Pod","max":{"cpu":0.5,"memory":"1024Mi"}}]}}`,
			want:    `{"limits":[{"type":"Pod","max":{"cpu":"500m","memory":"1Gi"}}]}`,
		},
		"ListMap": {
			reason:   "a list of the type map is merged by its keys",
			live:     spec(`"rules":[{"port":1,"mode":"x"},{"port":2},{"port":3}]`),
			desired:  spec(`"rules":[{"port":3},{"port":1}]`),
			previous: spec(`"rules":[{"port":2},{"port":1}]`),
			want:     `{"rules":[{"port":3},{"port":1,"mode":"x"}],"size":3}`,
		},
		"Set": {
			reason:   "items of other managers stay in a list of type set",
			live:     spec(`"tags":["a","b","c"]`),
			desired:  spec(`"tags":["d"]`),
			previous: spec(`"tags":["a"]`),
			want:     `{"tags":["b","c","d"],"size":3}`,
		},
		"Atomic": {
			reason:  "other lists and atomic maps are replaced, and items get their defaults",
			live:    spec(`"steps":[{"name":"a","retries":9}],"selector":{"x":"1"}`),
			desired: spec(`"steps":[{"name":"a"},{"name":"b"}],"selector":{"y":"2"}`),
			want:    `{"steps":[{"name":"a","retries":5},{"name":"b","retries":5}],"selector":{"y":"2"},"size":3}`,
		},
		"Misfit": {
			reason:  "an object that does not fit its schema is compared without it",
			live:    spec(`"size":3`),
			desired: spec(`"sizes":4`),
			want:    `{"size":3,"sizes":4}`,
			guess:   "does not fit its schema (.spec.sizes: field not declared in schema): lists are compared by name or index",
		},
		"Unknown": {
			reason:  "managed fields show the keys of lists without a schema",
			live:    `{"apiVersion":"a.test/v1","kind":"Other",` + managedBy(`{"f:spec":{"f:rules":{"k:{\"port\":1}":{".":{},"f:port":{}},"k:{\"port\":2}":{".":{},"f:port":{}}}}}`, `{}`) + `,"spec":{"rules":[{"port":1,"mode":"x"},{"port":2,"mode":"y"}]}}`,
			desired: `{"apiVersion":"a.test/v1","kind":"Other","spec":{"rules":[{"port":2}]}}`,
			want:    `{"rules":[{"port":2,"mode":"y"}]}`,
		},
		"Guess": {
			reason:  "without a schema and managed fields, lists are compared by index, and a note says so",
			live:    `{"apiVersion":"a.test/v1","kind":"Other","spec":{"rules":[{"port":1,"mode":"x"}]}}`,
			desired: `{"apiVersion":"a.test/v1","kind":"Other","spec":{"rules":[{"port":1},{"port":2}]}}`,
			want:    `{"rules":[{"port":1,"mode":"x"},{"port":2}]}`,
			guess:   "has no known schema: lists are compared by name or index",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := e2e.Must(apply(types, owner, object(t, tc.live), object(t, tc.desired), object(t, tc.previous)))(t)
			e2e.Equal(t, tc.reason, object(t, tc.want), got.after["spec"])
			e2e.Equal(t, tc.reason, tc.guess, got.guess)
		})
	}
}

func TestApplySecret(t *testing.T) {
	secret := func(fields string) string { return `{"apiVersion":"v1","kind":"Secret",` + fields + `}` }
	cases := map[string]struct{ reason, live, desired, previous, want, guess string }{
		"NotAString": {
			reason:  "a value of stringData that is not a string is refused by an API server",
			live:    secret(`"type":"Opaque","data":{"a":"YQ=="}`),
			desired: secret(`"stringData":{"a":5}`),
			want:    secret(`"type":"Opaque","data":{"a":"YQ=="},"stringData":{"a":5}`),
			guess:   `is refused by an API server (stringData[a]: Invalid value: must be a string)`,
		},
		"Merged": {
			reason:  "stringData is merged into data, in base64",
			live:    secret(`"type":"Opaque","data":{"a":"YQ==","b":"Yg=="}`),
			desired: secret(`"stringData":{"a":"A","c":"c"}`),
			want:    secret(`"type":"Opaque","data":{"a":"QQ==","b":"Yg==","c":"Yw=="}`),
		},
		"Same": {
			reason:  "stringData that data has already changes nothing",
			live:    secret(`"type":"Opaque","data":{"a":"YQ=="}`),
			desired: secret(`"stringData":{"a":"a"}`),
			want:    secret(`"type":"Opaque","data":{"a":"YQ=="}`),
		},
		"Precedence": {
			reason:  "stringData takes precedence over data",
			live:    secret(`"type":"Opaque","data":{}`),
			desired: secret(`"data":{"a":"YQ=="},"stringData":{"a":"b"}`),
			want:    secret(`"type":"Opaque","data":{"a":"Yg=="}`),
		},
		"Removed": {
			reason:   "a key that stringData no longer has stays in data, because nobody owns the key there",
			live:     secret(`"type":"Opaque","data":{"a":"YQ==","b":"Yg=="}`),
			desired:  secret(`"stringData":{"a":"a"}`),
			previous: secret(`"stringData":{"a":"a","b":"b"}`),
			want:     secret(`"type":"Opaque","data":{"a":"YQ==","b":"Yg=="}`),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := e2e.Must(apply(nil, owner, object(t, tc.live), object(t, tc.desired), object(t, tc.previous)))(t)
			e2e.Equal(t, tc.reason, object(t, tc.want), got.after)
			e2e.Equal(t, tc.reason, tc.guess, got.guess)
		})
	}
}
