package clusterdiff

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/report"
	"github.com/xfn-dev/xfn/internal/schema"
	"github.com/xfn-dev/xfn/internal/session"
)

// A Diff is the effect of changed Compositions on one composite resource.
type Diff struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	// Composition is the name of the composite resource's Composition.
	Composition string `json:"composition,omitempty"`
	// Pinned is true if the XR's compositionUpdatePolicy is Manual.
	Pinned bool `json:"pinned,omitempty"`
	// Changes are the changes to composed resources. Unchanged is the number of
	// composed resources that do not change.
	Changes   []report.DocDiff `json:"changes"`
	Unchanged int              `json:"unchanged"`
	// Missing are the resources that the XR's resourceRefs name and the dump lacks. Whether
	// they change is unknown.
	Missing []session.Reference `json:"missing,omitempty"`
	// Unconverted are the resources that the dump has in another version than the Composition
	// composes. Whether they change is unknown.
	Unconverted []Unconverted `json:"unconverted,omitempty"`
	// Guesses are the changes that may differ from those in a cluster.
	Guesses []Guess `json:"guesses,omitempty"`
	// Err is the error of the render, or nil. Error is its text.
	Err   error  `json:"-"`
	Error string `json:"error,omitempty"`
}

// An Unconverted is a resource in a dump whose version must be converted before it can be
// compared.
type Unconverted struct {
	session.Reference
	// Desired is the apiVersion that the Composition composes.
	Desired string `json:"desired"`
}

// A Guess says why the changes of a composed resource may differ from those in a cluster.
type Guess struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Resource is the composition resource name.
	Resource string `json:"resource"`
	Reason   string `json:"reason"`
}

// Compute renders the XRs of a cluster dump with the Compositions of in. It calls
// each for one XR at a time, with the changes of its composed resources.
//
// Compute also renders the XRs with the old Compositions. They are at the paths in before or,
// if before is empty, in the dump. If a resource has no managed fields, a field that only an
// old Composition sets is reported as removed. If the old Compositions cannot be rendered,
// Compute warns.
func Compute(ctx context.Context, s *session.Session, in session.Inputs, before []string, warn progress.Func, each func(Diff) error) (failed error) {
	in.Live, in.Full = true, true
	was := in
	was.Compositions, was.Composition = before, ""
	previous := map[string]map[string]map[string]any{}
	err := s.Render(ctx, was, func(r session.Result) error {
		if r.Err == nil {
			previous[identity(r.XR)] = reconciler.ComposedByName(r.Composed)
		}
		return nil
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	defer func() {
		// If both renders fail for the same reason, one message is enough.
		if err != nil && (failed == nil || err.Error() != failed.Error()) {
			warn.Warn(fmt.Sprintf("rendering with the old Compositions: %v; fields that only they set are not shown as removed, unless the dump has managed fields", err))
		}
	}()
	return s.Render(ctx, in, func(r session.Result) error {
		if r.Err != nil {
			return each(diffOf(r, nil))
		}
		return each(diffOf(r, previous[identity(r.XR)]))
	})
}

// diffOf returns the Diff of one XR. previous are the resources that the old Compositions
// compose for it, by name.
func diffOf(r session.Result, previous map[string]map[string]any) Diff {
	i := Diff{Name: r.Source, Changes: []report.DocDiff{}, Err: r.Err}
	object := objectOf(r)
	if object != nil {
		xr := unstructured.Unstructured{Object: object}
		i.APIVersion, i.Kind, i.Namespace, i.Name = xr.GetAPIVersion(), xr.GetKind(), xr.GetNamespace(), xr.GetName()
	}
	if i.Err == nil {
		i.setComposition(object)
		i.Err = i.compare(r, previous)
	}
	if i.Err != nil {
		i.Error = i.Err.Error()
	}
	return i
}

// objectOf returns the composite resource of a Result. It is nil for a failed render of an XR that
// another XR composes.
func objectOf(r session.Result) map[string]any {
	if r.Err == nil {
		return r.XR
	}
	object, _ := r.Document.Object()
	return object
}

func (i *Diff) setComposition(xr map[string]any) {
	for _, spec := range [][]string{{"spec", "crossplane"}, {"spec"}} {
		fields, _, _ := unstructured.NestedMap(xr, spec...)
		if name, _, _ := unstructured.NestedString(fields, "compositionRef", "name"); name != "" {
			i.Composition = name
		}
		i.Pinned = i.Pinned || fields["compositionUpdatePolicy"] == "Manual"
	}
}

// compare sets the changes of the composed resources, by the rules of Crossplane: it applies
// the desired resources, and deletes the observed resources whose names are not desired.
func (i *Diff) compare(r session.Result, previous map[string]map[string]any) error {
	desired, now := reconciler.ComposedByName(r.Composed), reconciler.ByName(r.Observed)
	owner := fieldOwner(r.XR)
	for _, o := range r.Observed {
		name := reconciler.ResourceName(o.Object)
		d := desired[name]
		switch {
		case now[name] != o: // Crossplane uses the last of several resources with one name.
		case d == nil:
			i.add(report.Compare([]map[string]any{applicable(o.Object, identifying...)}, nil))
		case groupKind(d) != groupKind(o.Object):
			i.add([]report.DocDiff{report.Orphan(o.Object)})
		case !canCompare(r.Definitions, o.Object, d):
			u := unstructured.Unstructured{Object: o.Object}
			ref := session.Reference{APIVersion: u.GetAPIVersion(), Kind: u.GetKind(), Namespace: u.GetNamespace(), Name: u.GetName()}
			i.Unconverted = append(i.Unconverted, Unconverted{ref, (&unstructured.Unstructured{Object: d}).GetAPIVersion()})
			delete(desired, name)
		default:
			result, err := apply(r.Definitions, owner, o.Object, d, previous[name])
			if err != nil {
				return fmt.Errorf("comparing resource %q: %w", name, err)
			}
			i.addApplied(o.Object, result)
			if previous == nil && !result.managed {
				i.guess(o.Object, "has no managed fields, and the old Composition is unknown: fields that the new Composition no longer sets are not shown as removed")
			}
			delete(desired, name)
		}
	}
	i.Missing = r.Missing
	unmatched := slices.Clone(r.Missing)
	for _, d := range r.Composed {
		at := slices.IndexFunc(unmatched, func(ref session.Reference) bool { return mayBe(ref, d) })
		switch {
		case desired[reconciler.ResourceName(d)] == nil:
		case at >= 0:
			unmatched = slices.Delete(unmatched, at, at+1)
		default:
			i.add(report.Compare(nil, []map[string]any{applicable(d, identifying...)}))
		}
	}
	return nil
}

// canCompare reports whether two objects of one kind have the same version, or versions whose
// conversion changes nothing else.
func canCompare(types schema.Definitions, a, b map[string]any) bool {
	if a["apiVersion"] == b["apiVersion"] {
		return true
	}
	def := types.Definition(groupKind(a))
	return def != nil && !def.Converts
}

// identifying are the fields of metadata that a diff shows of added and removed resources.
var identifying = []string{"name", "generateName", "namespace", "labels", "annotations"}

func (i *Diff) add(changes []report.DocDiff) { i.Changes = append(i.Changes, changes...) }

func (i *Diff) addApplied(live map[string]any, a applied) {
	changes := report.Compare([]map[string]any{a.before}, []map[string]any{a.after})
	if len(changes) == 0 {
		i.Unchanged++
		return
	}
	i.add(changes)
	if a.guess != "" {
		i.guess(live, a.guess)
	}
}

func (i *Diff) guess(live map[string]any, reason string) {
	u := unstructured.Unstructured{Object: live}
	i.Guesses = append(i.Guesses, Guess{u.GetAPIVersion(), u.GetKind(), reconciler.ResourceName(live), reason})
}

func groupKind(object map[string]any) kschema.GroupKind {
	return (&unstructured.Unstructured{Object: object}).GroupVersionKind().GroupKind()
}

// mayBe reports whether ref may name the desired resource d: both have the same kind and
// namespace, and the same name or, if the name is generated, the same prefix.
func mayBe(ref session.Reference, d map[string]any) bool {
	u := unstructured.Unstructured{Object: d}
	if ref.GroupKind() != u.GroupVersionKind().GroupKind() || ref.Namespace != u.GetNamespace() {
		return false
	}
	prefix := u.GetGenerateName()
	return ref.Name == u.GetName() || prefix != "" && strings.HasPrefix(ref.Name, prefix)
}

// identity returns a unique key of an XR: its group, kind, namespace and name.
func identity(object map[string]any) string {
	u := unstructured.Unstructured{Object: object}
	return fmt.Sprintf("%s\x00%s\x00%s", u.GroupVersionKind().GroupKind(), u.GetNamespace(), u.GetName())
}
