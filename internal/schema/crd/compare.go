package crd

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
)

// A Change is a difference between two definitions of a kind.
type Change struct {
	// Version is the API version whose schema changed. It is empty for a change
	// outside of the schemas, such as of the scope.
	Version string `json:"version,omitempty"`
	// Path is a field such as "spec.ports[*].name", where [*] is any element or
	// key. It is empty for the object itself.
	Path string `json:"path,omitempty"`
	// Rule identifies the type of change, such as "field-removed".
	Rule string `json:"rule"`
	// Breaking is true if the API server may reject an object that was valid
	// before, or prune fields of it, or if clients may no longer find the kind.
	Breaking bool `json:"breaking"`
	// Text describes the change.
	Text string `json:"text"`
}

// maxDepth limits the depth of the fields that are compared. API servers reject
// schemas of that depth.
const maxDepth = 256

// Compare returns the changes from one definition of a kind to another, in the
// order of the versions. It compares the schemas of a version only if both definitions
// serve the version. It ignores descriptions.
func Compare(from, to Definition) []Change {
	c := &comparison{}
	c.kind(from, to)
	for _, old := range from.Versions {
		i := slices.IndexFunc(to.Versions, func(v Version) bool { return v.Name == old.Name })
		if i < 0 {
			c.add("version-removed", old.Served || old.Storage, "version %s is removed", old.Name)
			continue
		}
		c.version(old, to.Versions[i])
	}
	for _, v := range to.Versions {
		if !slices.ContainsFunc(from.Versions, func(old Version) bool { return old.Name == v.Name }) {
			c.add("version-added", false, "version %s is added", v.Name)
		}
	}
	if was, is := cmp.Or(from.Storage(), "none"), cmp.Or(to.Storage(), "none"); was != is {
		c.add("storage-version-changed", false, "the storage version is %s, was %s", is, was)
	}
	return c.changes
}

// Storage returns the name of the storage version, or "" if no version is marked as such.
func (d Definition) Storage() string {
	for _, v := range d.Versions {
		if v.Storage {
			return v.Name
		}
	}
	return ""
}

// A comparison collects changes. in is the current version, and path the current field.
type comparison struct {
	changes []Change
	in      string
	path    []string
}

func (c *comparison) add(rule string, breaking bool, format string, args ...any) {
	path := strings.TrimPrefix(strings.ReplaceAll(strings.Join(c.path, "."), ".[*]", "[*]"), ".")
	c.changes = append(c.changes, Change{c.in, path, rule, breaking, fmt.Sprintf(format, args...)})
}

// at calls compare. The changes that compare adds have field at the end of their path.
func (c *comparison) at(field string, compare func()) {
	c.path = append(c.path, field)
	compare()
	c.path = c.path[:len(c.path)-1]
}

func (c *comparison) kind(from, to Definition) {
	for _, f := range []struct{ rule, what, was, is string }{
		{"group-changed", "group", from.Group, to.Group},
		{"kind-changed", "kind", from.Kind, to.Kind},
		{"plural-changed", "plural name", from.Plural, to.Plural},
		{"scope-changed", "scope", from.Scope, to.Scope},
	} {
		if f.was != f.is {
			c.add(f.rule, true, "the %s is %q, was %q", f.what, f.is, f.was)
		}
	}
	switch {
	case from.Claim == to.Claim && from.claimPlural == to.claimPlural:
	case from.Claim == "":
		c.add("claim-added", false, "claims of kind %s are added", to.Claim)
	case to.Claim == "":
		c.add("claim-removed", true, "claims of kind %s are removed", from.Claim)
	default:
		c.add("claim-changed", true, "claims are %s (%s), were %s (%s)", to.Claim, to.claimPlural, from.Claim, from.claimPlural)
	}
}

func (c *comparison) version(from, to Version) {
	if from.Served != to.Served {
		if to.Served {
			c.add("version-served", false, "version %s is served", to.Name)
		} else {
			c.add("version-not-served", true, "version %s is no longer served", to.Name)
		}
	}
	if to.Deprecated && !from.Deprecated {
		c.add("version-deprecated", false, "version %s is deprecated", to.Name)
	}
	if from.Served && to.Served {
		c.in = from.Name
		c.schema(from.schema, to.schema)
		c.in = ""
	}
}

// schema compares the old and the new schema of a value. It treats a missing schema as a
// schema without fields, because the API server prunes all fields of such a value.
func (c *comparison) schema(from, to map[string]any) {
	if reflect.DeepEqual(from, to) {
		return
	}
	if len(c.path) > maxDepth {
		c.add("schema-too-deep", true, "the schema has a change below %d levels of fields, which is not compared", maxDepth)
		return
	}
	c.types(from, to)
	c.values(from, to)
	c.bounds(from, to)
	c.composed(from, to)
	c.rules(from, to)
	c.lists(from, to)
	c.unknown(from, to)
	c.required(from, to)
	c.fields(from, to)
	for _, key := range []string{"items", "additionalProperties"} {
		if was, is := fieldpath.Map(from, key), fieldpath.Map(to, key); was != nil && is != nil {
			c.at("[*]", func() { c.schema(was, is) })
		}
	}
}

// fields compares the properties of the old and the new schema of an object.
func (c *comparison) fields(from, to map[string]any) {
	was, is := fieldpath.Map(from, "properties"), fieldpath.Map(to, "properties")
	for _, name := range slices.Sorted(maps.Keys(was)) {
		c.at(name, func() { c.field(fieldpath.Map(was, name), is, to, name) })
	}
	for _, name := range slices.Sorted(maps.Keys(is)) {
		if _, known := was[name]; known {
			continue
		}
		c.at(name, func() {
			if values := fieldpath.Map(from, "additionalProperties"); values != nil {
				c.schema(values, fieldpath.Map(is, name))
				return
			}
			if keepsUnknown(from) && !isAny(fieldpath.Map(is, name)) {
				c.add("field-added", true, "the field is added, where anything was allowed")
				return
			}
			c.add("field-added", false, "the field is added")
		})
	}
}

// field compares the old schema of the property name, was, with its new schema.
// The new schema is in fields, the new properties, or follows from other
// keywords of to, the new schema of the object.
func (c *comparison) field(was, fields, to map[string]any, name string) {
	_, there := fields[name]
	values := fieldpath.Map(to, "additionalProperties")
	switch {
	case there:
		c.schema(was, fieldpath.Map(fields, name))
	case values != nil:
		c.schema(was, values)
	case keepsUnknown(to):
		c.add("field-removed", false, "the field is removed, and its values are kept as an unknown field")
	default:
		c.add("field-removed", true, "the field is removed")
	}
}

func keepsUnknown(s map[string]any) bool {
	return s["x-kubernetes-preserve-unknown-fields"] == true || s["additionalProperties"] == true
}

// isAny reports whether a schema allows any value.
func isAny(s map[string]any) bool {
	return len(s) == 1 && s["x-kubernetes-preserve-unknown-fields"] == true
}
