package composition

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/internal/manifest"
)

// Decode returns the Composition that a document holds. Fields that it does
// not know are ignored, as the API server ignores them; an object of another
// kind is an error.
func Decode(doc manifest.Document) (*apiextv1.Composition, error) {
	obj, err := doc.Object()
	if err != nil {
		return nil, err
	}
	u := unstructured.Unstructured{Object: obj}
	if gvk := u.GroupVersionKind(); gvk.Group != apiextv1.Group || gvk.Kind != apiextv1.CompositionKind {
		return nil, &manifest.Error{Path: doc.Path, Line: doc.Line, Err: fmt.Errorf("expected a Composition, got %s", Describe(&u))}
	}
	c := &apiextv1.Composition{}
	if err := doc.Decode(c); err != nil {
		return nil, err
	}
	return c, nil
}

// Describe names an object for people: its kind and name, as far as it has
// them.
func Describe(u *unstructured.Unstructured) string {
	switch kind, name := u.GetKind(), u.GetName(); {
	case kind == "":
		return "an object without a kind"
	case name == "":
		return "a " + kind + " without a name"
	default:
		return fmt.Sprintf("%s %q", kind, name)
	}
}

// Match reports why c cannot compose for xr, or nil: it is for another kind or
// version, or lacks a label that the XR selects Compositions by. The checks and their order are those of `crossplane render`. The
// selector is the path of the XR's field that says which labels.
func Match(c *apiextv1.Composition, xr *unstructured.Unstructured, selector ...string) error {
	want := c.Spec.CompositeTypeRef
	if want.Kind != xr.GetKind() {
		return fmt.Errorf("the Composition %q is for kind %s, but the composite resource %q is of kind %s", c.GetName(), want.Kind, xr.GetName(), xr.GetKind())
	}
	if want.APIVersion != xr.GetAPIVersion() {
		return fmt.Errorf("the Composition %q is for apiVersion %s, but the composite resource %q is of apiVersion %s", c.GetName(), want.APIVersion, xr.GetName(), xr.GetAPIVersion())
	}
	return matchLabels(c, xr, selector)
}

func matchLabels(c *apiextv1.Composition, xr *unstructured.Unstructured, selector []string) error {
	want, _, _ := unstructured.NestedStringMap(xr.Object, selector...)
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(want)) {
		switch got, ok := c.GetLabels()[key]; {
		case !ok:
			errs = append(errs, fmt.Errorf("the composite resource selects Compositions by label %s=%s, which Composition %q lacks", key, want[key], c.GetName()))
		case got != want[key]:
			errs = append(errs, fmt.Errorf("the composite resource selects Compositions by label %s=%s, but Composition %q has %s", key, want[key], c.GetName(), got))
		}
	}
	return errors.Join(errs...)
}
