package generate_test

import (
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
)

// The XRD has the bytes that crossplane xrd generate of v2.5.0 wrote.
func TestSimpleSchemaAsCrossplane(t *testing.T) {
	got := e2e.Must(schemaOf(t, `spec:
  hosts: '[]Host | listType=map listMapKey=name listMapKey=port'
  names: '[]string | listType=set'
  text: string | default="one\ttwo" pattern=e|b
  quoted: string | description=a"b"
  undescribed: string | description=""
  empty: {}
  spaced: 'map[string] [] string'
customTypes:
  Host: {name: string | required=true, port: integer | required=true}
`))(t)
	want := `        properties:
          spec:
            default: {}
            properties:
              empty:
                type: object
              hosts:
                items:
                  properties:
                    name:
                      type: string
                    port:
                      type: integer
                  required:
                  - name
                  - port
                  type: object
                type: array
                x-kubernetes-list-map-keys:
                - name
                - port
                x-kubernetes-list-type: map
              names:
                items:
                  type: string
                type: array
                x-kubernetes-list-type: set
              quoted:
                description: a"b"
                type: string
              spaced:
                additionalProperties:
                  items:
                    type: string
                  type: array
                type: object
              text:
                default: "one\ttwo"
                pattern: e|b
                type: string
              undescribed:
                type: string
            type: object
          status:
            type: object
        required:
        - spec
        type: object
    served: true
`
	_, properties, _ := strings.Cut(got, "for the App API.\n")
	e2e.Equal(t, "the schema has the bytes of the crossplane CLI", want, properties)
}

// crossplane xrd generate refuses these fields, too.
func TestSimpleSchemaRefusesAsCrossplane(t *testing.T) {
	for name, tc := range map[string]struct{ reason, field, want string }{
		"Open":    {"a list in a value is closed", "string | default={a", `marker default: the value "{a" has no closing bracket`},
		"Close":   {"a bracket in a value that is not quoted is opened", "string | default=a}", `marker default: the value "a}" has a closing bracket`},
		"Length":  {"only strings have a length", "integer | minLength=1", "marker minLength: it is for the type string, not for integer"},
		"List":    {"only lists have a list type", "string | listType=set", "marker listType: it is for the type array, not for string"},
		"Keys":    {"only a list that is a map has keys", "[]object | listMapKey=id", "x-kubernetes-list-type: is required"},
		"Both":    {"a list has one type", "[]string | uniqueItems=true listType=atomic", "marker listType: the list has the type set already"},
		"Enum":    {"an integer has integers as values", "integer | enum=1,2.5", `marker enum: "2.5" is not a value of type integer`},
		"Unknown": {"a list type is one of three", "[]string | listType=bogus", `is "bogus": supported values: "atomic", "map", "set"`},
	} {
		t.Run(name, func(t *testing.T) {
			e2e.ErrorHas(t, tc.reason, e2e.Err(schemaOf(t, "spec: {a: '"+tc.field+"'}\n")), tc.want)
		})
	}
}
