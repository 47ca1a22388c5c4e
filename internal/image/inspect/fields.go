package inspect

import (
	"cmp"
	"strings"

	"github.com/xfn-dev/xfn/internal/fieldpath"
)

// A Field is a field that two objects do not have alike.
type Field struct {
	// Path is as in "spec.pipeline[run].input", where an element of a list is
	// named by what tells it from the others, or by its number.
	Path   string `json:"path"`
	Change string `json:"change"`
	// From and To are the values. Those of schemas are left out.
	From     any  `json:"from,omitempty"`
	To       any  `json:"to,omitempty"`
	Breaking bool `json:"breaking,omitempty"`
}

// maxFields bounds how many fields are told apart.
const maxFields = 1000

// schemaField holds a schema, which crd.Compare compares.
const schemaField = "openAPIV3Schema"

// Fields returns the fields in which two objects differ, in the order of their
// names. A field that only one of them has is one difference, whatever it holds.
// Beyond 1000 fields the rest of an object counts as one, too.
func Fields(from, to map[string]any) []Field {
	differ := fieldpath.Differ{
		Whole: true, Raw: true, Limit: maxFields, Name: nameOf,
		Opaque: func(key string) bool { return key == schemaField },
	}
	var all []Field
	for _, c := range differ.Diff(notNil(from), notNil(to)) {
		f := Field{Path: c.Path, Change: string(c.Op), From: c.Old, To: c.New}
		if strings.HasSuffix("."+c.Path, "."+schemaField) {
			f.From, f.To = nil, nil
		}
		all = append(all, f)
	}
	return all
}

// nameOf returns what tells an element of a list from the others, or "".
// Dependencies are named by their packages.
func nameOf(element any) string {
	name := ""
	for _, key := range []string{"name", "step", "package", "provider", "function", "configuration"} {
		name = cmp.Or(name, text(element, key))
	}
	return name
}

func notNil(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}
