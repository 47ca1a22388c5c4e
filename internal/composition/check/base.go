package check

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	"github.com/xfn-dev/xfn/internal/schema"
)

// base returns the base of a resource and its type, or false if it is invalid.
func (c *checker) base(field string, raw json.RawMessage) (base map[string]any, gvk kschema.GroupVersionKind, ok bool) {
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &base); err != nil {
		c.add(InvalidInput, field, "the base is not an object")
		return nil, gvk, false
	}
	kind, _ := base["kind"].(string)
	apiVersion, _ := base["apiVersion"].(string)
	if kind == "" {
		c.add(InvalidInput, field+".kind", "the base has no kind")
		return nil, gvk, false
	}
	return base, kschema.FromAPIVersionAndKind(apiVersion, kind), true
}

// A given is a value in a base, and its schema.
type given struct {
	value any
	node  schema.Node
	// path is the path of the value in the base, as in problems.
	path string
}

// object checks the fields that a base sets. Missing required fields are no
// problem, since patches may set them.
func (c *checker) object(field string, s side, base map[string]any) {
	todo := []given{{base, s.root, ""}}
	for len(todo) > 0 {
		g := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if g.node.Types() == schema.Any {
			continue
		}
		path := strings.TrimPrefix(g.path, ".")
		if is := typeOf(g.value); is != schema.Null && is&g.node.Types() == 0 {
			c.add(WrongType, field+g.path, "%s of %s must be %s, got %s", path, s.what, g.node.Types(), is)
			continue
		}
		switch v := g.value.(type) {
		case map[string]any:
			todo = append(todo, c.fields(field, s, g, v)...)
		case []any:
			for i, element := range v {
				todo = append(todo, given{element, g.node.Element(), fmt.Sprintf("%s[%d]", g.path, i)})
			}
		}
	}
}

// fields returns the fields of an object, and reports those that its schema
// does not define.
func (c *checker) fields(field string, s side, g given, obj map[string]any) (all []given) {
	for _, name := range slices.Sorted(maps.Keys(obj)) {
		at := g.path + "." + name
		node, ok := g.node.Field(name)
		if !ok {
			c.add(NoSuchField, field+at, "%s has no field %s", s.what, strings.TrimPrefix(at, "."))
			continue
		}
		all = append(all, given{obj[name], node, at})
	}
	return all
}

// typeOf returns the type of a decoded JSON value.
func typeOf(v any) schema.Types {
	switch v := v.(type) {
	case string:
		return schema.String
	case int64:
		return schema.Integer
	case float64:
		if v == math.Trunc(v) {
			return schema.Integer
		}
		return schema.Fraction
	case bool:
		return schema.Boolean
	case map[string]any:
		return schema.Object
	case []any:
		return schema.Array
	default:
		return schema.Null
	}
}
