package converge

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/render"
)

// changes returns the fields in which two passes differ, as Result.Changing
// has them.
func changes(before, after *render.Result) []string {
	c := &comparison{of: "composite resource"}
	c.compare("", before.XR, after.XR)
	was, is := byName(before.Composed), byName(after.Composed)
	for name, doc := range was {
		c.of = fmt.Sprintf("resource %q", name)
		if other, ok := is[name]; ok {
			c.compare("", doc, other)
		} else {
			c.found = append(c.found, c.of)
		}
	}
	for name := range is {
		if _, ok := was[name]; !ok {
			c.found = append(c.found, fmt.Sprintf("resource %q", name))
		}
	}
	slices.Sort(c.found)
	return c.found
}

func byName(docs []map[string]any) map[string]map[string]any {
	m := make(map[string]map[string]any, len(docs))
	for _, doc := range docs {
		m[(&unstructured.Unstructured{Object: doc}).GetAnnotations()[reconciler.AnnotationResourceName]] = doc
	}
	return m
}

// A comparison collects in what fields of a document two passes differ.
type comparison struct {
	of    string
	found []string
}

// compare compares two values, of which at least one is there; path is where.
func (c *comparison) compare(path string, a, b any) {
	if reflect.DeepEqual(a, b) {
		return
	}
	switch a := a.(type) {
	case map[string]any:
		if b, ok := b.(map[string]any); ok {
			c.compareFields(path, a, b)
			return
		}
	case []any:
		if b, ok := b.([]any); ok && len(a) == len(b) {
			for i := range a {
				c.compare(path+"["+strconv.Itoa(i)+"]", a[i], b[i])
			}
			return
		}
	}
	c.add(path)
}

func (c *comparison) compareFields(path string, a, b map[string]any) {
	for key, v := range a {
		if other, ok := b[key]; ok {
			c.compare(field(path, key), v, other)
		} else {
			c.add(field(path, key))
		}
	}
	for key := range b {
		if _, ok := a[key]; !ok {
			c.add(field(path, key))
		}
	}
}

func (c *comparison) add(path string) { c.found = append(c.found, c.of+": "+path) }

// field returns the path of a key, in Crossplane's syntax.
func field(path, key string) string {
	switch {
	case strings.Contains(key, "."):
		return path + "[" + key + "]"
	case path == "":
		return key
	default:
		return path + "." + key
	}
}
