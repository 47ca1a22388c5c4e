package report

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
)

// A ChangeGroup is the same change of composed resources in several renders.
type ChangeGroup struct {
	// DocDiff is the change. It has a name only if all resources have the same.
	DocDiff
	// Renders are the names of the renders, without duplicates.
	Renders []string `json:"renders"`
}

// A Grouper groups equal changes, in the order in which Add was first called with each.
type Grouper struct {
	Groups []ChangeGroup
	index  map[string]int
}

// Add adds the changes of a render.
func (g *Grouper) Add(render string, diffs []DocDiff) error {
	if g.index == nil {
		g.index = map[string]int{}
	}
	for _, d := range diffs {
		name, namespace := d.Name, d.Namespace
		d.Name, d.Namespace = "", ""
		key, err := json.Marshal(d)
		if err != nil {
			return fmt.Errorf("grouping changes: %w", err)
		}
		i, known := g.index[string(key)]
		if !known {
			i = len(g.Groups)
			g.index[string(key)] = i
			d.Name, d.Namespace = name, namespace
			g.Groups = append(g.Groups, ChangeGroup{DocDiff: d})
		}
		group := &g.Groups[i]
		if group.Name != name || group.Namespace != namespace {
			group.Name, group.Namespace = "", ""
		}
		if n := len(group.Renders); n == 0 || group.Renders[n-1] != render {
			group.Renders = append(group.Renders, render)
		}
	}
	return nil
}

// Title describes the resources of the group.
func (g ChangeGroup) Title() string { return g.title() }

// Desired returns copies of an XR and its composed resources without the fields that Crossplane
// adds and functions do not desire: the conditions and the resource references of the XR, owner
// references and generated names. These fields differ between versions of Crossplane even if
// the composed resources are the same.
func Desired(xr map[string]any, composed []map[string]any) []map[string]any {
	xr = without(xr, "metadata", "ownerReferences")
	for _, path := range [][]string{{"status", "conditions"}, {"spec", "resourceRefs"}, {"spec", "crossplane", "resourceRefs"}} {
		xr = without(xr, path...)
	}
	all := []map[string]any{xr}
	for _, doc := range composed {
		doc = without(doc, "metadata", "ownerReferences")
		if fieldpath.Text(doc, "metadata", "generateName") != "" {
			doc = without(doc, "metadata", "name")
		}
		all = append(all, doc)
	}
	return all
}

// without returns a copy of obj without a field, and without objects that are then empty.
func without(obj map[string]any, path ...string) map[string]any {
	value, ok := obj[path[0]]
	if !ok {
		return obj
	}
	obj = maps.Clone(obj)
	if len(path) == 1 {
		delete(obj, path[0])
		return obj
	}
	if child, isObject := value.(map[string]any); isObject {
		if child = without(child, path[1:]...); len(child) > 0 {
			obj[path[0]] = child
		} else {
			delete(obj, path[0])
		}
	}
	return obj
}
