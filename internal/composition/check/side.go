package check

import (
	"fmt"
	"strings"

	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/fieldpath"
	"github.com/xfn-dev/xfn/internal/schema"
)

// A side is an object that patches read or write. Of the zero side nothing is
// known.
type side struct {
	// what names it for people.
	what string
	// root is the zero Node if there is no schema.
	root schema.Node
}

// side returns the side that is a resource of a kind. That its schema is missing
// is a problem of the field which names the kind first.
func (c *checker) side(gvk kschema.GroupVersionKind, field string) side {
	if s, ok := c.sides[gvk]; ok {
		return s
	}
	apiVersion, kind := gvk.ToAPIVersionAndKind()
	s := side{what: fmt.Sprintf("kind %s of %s", kind, apiVersion)}
	switch def := c.schemas.Definition(gvk.GroupKind()); def {
	case nil:
		c.add(MissingSchema, field, "there is no schema of %s, so what is read and written of it is not checked", s.what)
	default:
		var err error
		if s.root, err = def.Root(gvk.Version); err != nil {
			c.add(MissingSchema, field, "what is read and written of %s is not checked: %v", s.what, err)
		}
	}
	c.sides[gvk] = s
	return s
}

// xr returns the side that is the composite resource.
func (c *checker) xr() side {
	return c.side(kschema.FromAPIVersionAndKind(c.composite.APIVersion, c.composite.Kind), "spec.compositeTypeRef")
}

// of names a path of a side for people.
func (s side) of(path fieldpath.Path) string {
	if s.what == "" {
		return path.String()
	}
	return path.String() + " of " + s.what
}

// find returns what the schema says of the value at a path, or what keeps the
// path from leading anywhere. In wild paths [*] stands for all that there is.
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
				return node, &fault{NoSuchField, s.noField(path[:i+1], node)}
			}
		}
		if !ok {
			return node, &fault{NoSuchField, fmt.Sprintf("%s is %s, and has no %s", s.of(path[:i]), types, path[i:])}
		}
		node = next
	}
	return node, nil
}

// noField says that the schema has no field at a path below a node, and which
// one it is taken for.
func (s side) noField(path fieldpath.Path, below schema.Node) string {
	parent, name := path[:len(path)-1], path[len(path)-1].Key
	for _, near := range below.Named() {
		if strings.EqualFold(near, name) || strings.EqualFold(near, name+"s") || strings.EqualFold(near+"s", name) {
			return fmt.Sprintf("%s has no field %s, but %s", s.what, path, append(parent[:len(parent):len(parent)], fieldpath.Key(near)))
		}
	}
	return fmt.Sprintf("%s has no field %s", s.what, path)
}

// each returns what the schema says of all elements of a list or all values of a
// map.
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

// A fault is a problem whose field is known to whoever asked.
type fault struct {
	kind composition.ProblemKind
	text string
}

func (c *checker) fault(field string, f *fault) {
	if f != nil {
		c.add(f.kind, field, "%s", f.text)
	}
}

// parse reads a path. One that is none fails whenever it is used.
func (c *checker) parse(field, text string) (fieldpath.Path, bool) {
	path, err := fieldpath.Parse(text)
	if err != nil {
		c.add(InvalidInput, field, "%v", err)
	}
	return path, err == nil
}
