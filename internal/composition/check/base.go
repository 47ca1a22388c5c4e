package check

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	"github.com/xfn-dev/xfn/internal/patch/spec"
	"github.com/xfn-dev/xfn/internal/schema"
)

// template checks the base of a template, and returns the side of its resource:
// without a base, that of another template with the same name.
func (c *checker) template(field string, t *spec.Template) side {
	if !hasBase(t) {
		return c.bases[t.Name]
	}
	field += ".base"
	var base map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(t.Base, &base); err != nil {
		c.add(InvalidInput, field, "the base is not an object")
		return side{}
	}
	kind, _ := base["kind"].(string)
	apiVersion, _ := base["apiVersion"].(string)
	if kind == "" {
		c.add(InvalidInput, field+".kind", "the base has no kind")
		return side{}
	}
	s := c.side(kschema.FromAPIVersionAndKind(apiVersion, kind), field)
	c.bases[t.Name] = s
	c.object(field, s, "", base, s.root)
	return s
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
