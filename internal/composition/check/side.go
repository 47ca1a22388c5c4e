package check

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/patch/spec"
	"github.com/xfn-dev/xfn/internal/schema"
)

// A side is the object that a patch reads from or writes to, with the schema of its kind.
// If the schema is missing, root is zero.
type side struct {
	// what describes the object in messages: "kind KIND of APIVERSION".
	what string
	root schema.Node
	// isXR is true for the composite resource.
	isXR bool
	// name is the name of the composed resource's template, or "".
	name string
}

// side returns the side for a kind. If the kind has no schema, side adds one
// problem, in the field that it was first called with for this kind.
func (c *checker) side(gvk kschema.GroupVersionKind, field string) side {
	if s, ok := c.sides[gvk]; ok {
		return s
	}
	apiVersion, kind := gvk.ToAPIVersionAndKind()
	s := side{what: fmt.Sprintf("kind %s of %s", kind, apiVersion)}
	var err error
	if def := c.Schemas(gvk.GroupKind()); def != nil {
		if s.root, err = def.Root(gvk.Version); err != nil {
			c.add(MissingSchema, field, "the fields of %s are not checked: %v", s.what, err)
		}
	} else if builtIn, ok := schema.FindKind(gvk); ok {
		s.root = builtIn.Root()
	} else {
		near := schema.SimilarKind(apiVersion, kind)
		if near == "" && c.similar != nil {
			near = c.similar(gvk)
		}
		c.add(MissingSchema, field, "no schema of %s was found, so its fields are not checked%s", s.what, hint.DidYouMean(near))
	}
	c.sides[gvk] = s
	return s
}

func (c *checker) xr() side {
	s := c.side(kschema.FromAPIVersionAndKind(c.composite.APIVersion, c.composite.Kind), "spec.compositeTypeRef")
	s.isXR = true
	return s
}

// rootFault returns the fault of a path that begins with a field that no composite resource has, or
// nil.
func (c *checker) rootFault(path fieldpath.Path) *fault {
	roots := schema.RootFields()
	if len(path) == 0 || path[0].IsIndex || slices.Contains(roots, path[0].Key) {
		return nil
	}
	near := hint.Nearest(path[0].Key, roots)
	meant := append(fieldpath.Path{fieldpath.Key(near)}, path[1:]...).String()
	if near == "" {
		meant = "spec." + path.String()
	}
	if c.givesEnvironment {
		meant += " or, of the environment, type: FromEnvironmentFieldPath"
	}
	return &fault{NoRootField, fmt.Sprintf("a composite resource has no field %s, only %s%s", path, strings.Join(roots, ", "), hint.DidYouMean(meant))}
}

// of describes a path in this object for messages.
func (s side) of(path fieldpath.Path) string {
	if s.what == "" {
		return path.String()
	}
	return path.String() + " of " + s.what
}

// find returns the schema at a path, or a fault if the schema has no such path. If wild is
// set, a segment "*" selects all elements of a list or all values of a map.
func (s side) find(path fieldpath.Path, wild bool) (schema.Node, *fault) {
	node := s.root
	for i, segment := range path {
		types := node.Types()
		if types == schema.Any {
			return schema.Node{}, nil
		}
		next, ok := schema.Node{}, true
		switch {
		case wild && !segment.IsIndex && segment.Key == "*":
			next, ok = each(node)
		case segment.IsIndex:
			next, ok = node.Element(), types&schema.Array != 0
		case types&schema.Object == 0:
			ok = false
		default:
			if next, ok = node.Field(segment.Key); !ok {
				text := fmt.Sprintf("%s has no field %s", s.what, path[:i+1])
				if near := hint.Nearest(segment.Key, node.Named()); near != "" {
					text += fmt.Sprintf(", did you mean %s?", append(path[:i:i], fieldpath.Key(near)))
				}
				return node, &fault{NoSuchField, text}
			}
		}
		if !ok {
			return node, &fault{NoSuchField, fmt.Sprintf("%s is %s, so it has no %s", s.of(path[:i]), types, path[i:])}
		}
		node = next
	}
	return node, nil
}

// each returns the common schema of all elements of a list or of all values of a map.
func each(n schema.Node) (schema.Node, bool) {
	switch types := n.Types(); {
	case types&schema.Array != 0:
		return n.Element(), true
	case types&schema.Object == 0:
		return n, false
	}
	if rest, ok := n.Rest(); ok && len(n.Named()) == 0 {
		return rest, true
	}
	return schema.Node{}, true
}

// A fault is a problem without its field, which the caller sets.
type fault struct {
	kind composition.ProblemKind
	text string
}

func (c *checker) fault(field string, f *fault) {
	if f != nil {
		c.add(f.kind, field, "%s", f.text)
	}
}

// parse parses a path. It reports a malformed path as a problem, and returns false.
func (c *checker) parse(field, text string) (fieldpath.Path, bool) {
	path, err := fieldpath.Parse(text)
	if err != nil {
		c.add(InvalidInput, field, "%v", err)
	}
	return path, err == nil
}

// template checks the base of a template, and returns the resource that the template
// composes, as a side of its patches. A template without a base composes the resource of
// the earlier template with the same name.
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
	if apiVersion == "" && !slices.ContainsFunc(t.Patches, func(p spec.ComposedPatch) bool { return p.Type == spec.PatchSetType || p.To() == "apiVersion" }) {
		c.add(InvalidInput, field+".apiVersion", "the base has no apiVersion that is a text")
		return side{}
	}
	if near := schema.Misspelled(apiVersion, kind); near != "" {
		c.add(InvalidInput, field, "no API server has kind %s of %s%s", kind, apiVersion, hint.DidYouMean(near))
		return side{}
	}
	s := c.side(kschema.FromAPIVersionAndKind(apiVersion, kind), field)
	s.name = t.Name
	c.bases[t.Name] = s
	c.object(field, s, "", base, s.root)
	return s
}

// object checks that v fits the schema node. v is the value in a base at the path
// at. Missing required fields are not reported, because patches may set them.
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
				text := fmt.Sprintf("%s has no field %s", s.what, strings.TrimPrefix(below, "."))
				if near := hint.Nearest(name, node.Named()); near != "" {
					text += ", did you mean " + strings.TrimPrefix(at+"."+near, ".") + "?"
				}
				c.note(false, NoSuchField, field+below, text)
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
