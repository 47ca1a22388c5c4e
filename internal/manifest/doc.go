// Package manifest reads YAML from files, folders and standard input, keeps the
// file and line of every document, and writes YAML in a stable order.
//
// It reads the dialect of Kubernetes' tools (sigs.k8s.io/yaml): YAML 1.1, where bare
// yes, no, on and off are booleans, decoded through JSON.
//
// The YAML libraries of this program are:
//
//	sigs.k8s.io/yaml    decodes, as Kubernetes' tools do
//	go.yaml.in/yaml/v2  encodes with a given order of keys, in the style of sigs.k8s.io/yaml; and
//	                    decodes what sigs.k8s.io/yaml, which uses it, would convert to the same values
//	go.yaml.in/yaml/v3  parses into nodes, for the lines of fields
//	go.yaml.in/yaml/v4  finds the lines of some syntax errors
//	gopkg.in/yaml.v3    decodes and encodes for template functions, as function-go-templating does
//
// DecodeStrict decodes a document into Go structs and returns all faults.
// JSONSchema describes the same structs. Struct tags describe a field:
//
//	json:"name"    its key; a field without it, or with "-", is not decoded
//	doc:"text"     its description in the schema
//	enum:"a,b"     the strings that it accepts
//	required:""    an object without the key is an error
//	short:""       a value that is not an object is decoded into this field alone
//	single:""      a value that is not a list is decoded as a list of one item
//	whole:"a,b"    an object with one of these keys is decoded into this field alone;
//	               with whole:"", every object is
//
// An encoding.TextUnmarshaler accepts strings, and the texts of other scalars.
package manifest
