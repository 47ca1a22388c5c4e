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

// object checks the fields that a base sets, from the value v at a path of it.
// Missing required fields are not a problem, since patches may set them.
func (c *checker) object(field string, s side, at string, v any, node schema.Node) {
	if node.Types() == schema.Any {
		return
	}
	if is := typeOf(v); is != schema.Null && is&node.Types() == 0 {
		c.add(WrongType, field+at, "%s of %s must be %s, got %s", strings.TrimPrefix(at, "."), s.what, node.Types(), is)
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			below := at + "." + name
			if next, ok := node.Field(name); ok {
				c.object(field, s, below, v[name], next)
			} else {
				c.add(NoSuchField, field+below, "%s has no field %s", s.what, strings.TrimPrefix(below, "."))
			}
		}
	case []any:
		for i, element := range v {
			c.object(field, s, fmt.Sprintf("%s[%d]", at, i), element, node.Element())
		}
	}
}

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
