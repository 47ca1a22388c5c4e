package models

import (
	"cmp"
	"fmt"
	"strings"
)

// shortNames are the names of the alternatives of IntOrString of Kubernetes.
var shortNames = map[string]string{
	"IoK8SApimachineryPkgUtilIntstrIntOrString0": "Int",
	"IoK8SApimachineryPkgUtilIntstrIntOrString1": "String",
}

// union returns the type of a value with one of several types.
func (g *golang) union(all []*Schema, name, full string) string {
	var alternatives []string
	for i, a := range all {
		alternative := fmt.Sprintf("%s%d", strings.ReplaceAll(full, "_", ""), i)
		alternative = unique(g.used, cmp.Or(shortNames[alternative], alternative))
		alternatives = append(alternatives, alternative)
		t := g.goType(a, alternative+"Type", alternative+"Type")
		fmt.Fprintf(&g.types, "// %s is a value of %s.\ntype %s = %s\n\n", alternative, name, alternative, t)
	}
	g.comment(name, "has one of several types.")
	fmt.Fprintf(&g.types, "type %s struct {\nunion json.RawMessage\n}\n", name)
	for _, a := range alternatives {
		fmt.Fprintf(&g.methods, strings.ReplaceAll(unionMethods, "ALT", a), name)
	}
	fmt.Fprintf(&g.methods, unionJSON, name)
	return name
}

const accessorMethods = `
// Get%[2]s returns the field %[2]s, or nil if o is nil.
func (o *%[1]s) Get%[2]s() *%[3]s {
	if o == nil {
		return nil
	}
	return o.%[2]s
}

// Set%[2]s sets the field %[2]s.
func (o *%[1]s) Set%[2]s(v *%[3]s) {
	o.%[2]s = v
}
`

const unionMethods = `
// AsALT returns the value as a ALT.
func (t %[1]s) AsALT() (ALT, error) {
	var body ALT
	err := json.Unmarshal(t.union, &body)
	return body, err
}

// FromALT replaces the value.
func (t *%[1]s) FromALT(v ALT) error {
	b, err := json.Marshal(v)
	t.union = b
	return err
}

// MergeALT merges v into the value.
func (t *%[1]s) MergeALT(v ALT) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	merged, err := runtime.JSONMerge(t.union, b)
	t.union = merged
	return err
}
`

const unionJSON = `
// MarshalJSON returns the value in JSON.
func (t %[1]s) MarshalJSON() ([]byte, error) {
	return t.union.MarshalJSON()
}

// UnmarshalJSON replaces the value.
func (t *%[1]s) UnmarshalJSON(b []byte) error {
	return t.union.UnmarshalJSON(b)
}
`
