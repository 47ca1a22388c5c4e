package clusterdiff

import (
	"context"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/report"
	"github.com/xfn-dev/xfn/internal/session"
)

// An Impact is what would become of one composite resource.
type Diff struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	// Composition is the name of the one that would compose for it.
	Composition string `json:"composition,omitempty"`
	// Pinned says that it follows its Composition only if somebody makes it, for
	// its compositionUpdatePolicy is Manual.
	Pinned bool `json:"pinned,omitempty"`
	// Changes are those of the resources that it composes; Unchanged is how many
	// of them stay as they are.
	Changes   []report.DocDiff `json:"changes"`
	Unchanged int              `json:"unchanged"`
	// Err says why it is not known, and Error is its text.
	Err   error  `json:"-"`
	Error string `json:"error,omitempty"`
}

// Compute renders the XRs that are observed by the Compositions of in, as if they were
// live, and hands what that would change to each, one by one. A field goes if the
// Compositions at the paths before set it and those of in do not; without such
// paths those of the dump count. What keeps the earlier ones from being rendered
// is a warning, since what is added and changed can be told without them.
//
// Errors are those of session.Render, and of each.
func Compute(ctx context.Context, s *session.Session, in session.Inputs, before []string, warn progress.Func, each func(Diff) error) error {
	in.Live, in.Full = true, true
	was := in
	was.Compositions, was.Composition = before, ""
	if len(before) == 0 {
		was.Compositions = in.Observed
	}
	previous := map[string]map[string]map[string]any{}
	err := s.Render(ctx, was, func(r session.Result) error {
		if r.Err == nil {
			previous[identity(r.XR)] = byResource(r.Composed)
		}
		return nil
	})
	if ctx.Err() != nil {
		return err
	}
	if err != nil {
		warn.Warn(fmt.Sprintf("rendering by the Compositions that there were: %v; fields that only they set are not shown as removed", err))
	}
	return s.Render(ctx, in, func(r session.Result) error { return each(of(r, previous)) })
}

func of(r session.Result, previous map[string]map[string]map[string]any) Diff {
	if r.Err != nil {
		return failed(r)
	}
	xr := unstructured.Unstructured{Object: r.XR}
	i := Diff{APIVersion: xr.GetAPIVersion(), Kind: xr.GetKind(), Namespace: xr.GetNamespace(), Name: xr.GetName(), Changes: []report.DocDiff{}}
	for _, spec := range [][]string{{"spec", "crossplane"}, {"spec"}} {
		fields, _, _ := unstructured.NestedMap(r.XR, spec...)
		if name, _, _ := unstructured.NestedString(fields, "compositionRef", "name"); name != "" {
			i.Composition = name
		}
		i.Pinned = i.Pinned || fields["compositionUpdatePolicy"] == "Manual"
	}
	live, after := resources(r, previous[identity(r.XR)])
	i.Changes, i.Unchanged = append(i.Changes, report.Compare(live, after)...), len(after)
	for _, c := range i.Changes {
		if c.Op != report.Removed {
			i.Unchanged--
		}
	}
	return i
}

// failed is the Impact on an XR that could not be rendered, or on one that it
// composes, which has no document.
func failed(r session.Result) Diff {
	i := Diff{Name: r.Source, Changes: []report.DocDiff{}, Err: r.Err, Error: r.Err.Error()}
	if object, err := r.Document.Object(); err == nil {
		xr := unstructured.Unstructured{Object: object}
		i.APIVersion, i.Kind, i.Namespace, i.Name = xr.GetAPIVersion(), xr.GetKind(), xr.GetNamespace(), xr.GetName()
	}
	return i
}

// resources returns the composed resources of an XR as they are, and as they
// would be.
func resources(r session.Result, previous map[string]map[string]any) (live, after []map[string]any) {
	desired := byResource(r.Composed)
	now := map[string]map[string]any{}
	for _, o := range r.Observed {
		name := reconciler.ResourceName(o.Object)
		if now[name] = o.Object; desired[name] == nil {
			live = append(live, applicable(o.Object, "name", "namespace", "labels", "annotations"))
			continue
		}
		live = append(live, o.Object)
	}
	for _, d := range r.Composed {
		name := reconciler.ResourceName(d)
		if now[name] == nil {
			after = append(after, applicable(d, "name", "generateName", "namespace", "labels", "annotations"))
			continue
		}
		after = append(after, apply(now[name], applicable(d, "labels", "annotations"), applicable(previous[name], "labels", "annotations")))
	}
	return live, after
}

// applicable is what Crossplane applies of a resource, with only these fields of
// its metadata: status is a subresource.
func applicable(resource map[string]any, metadata ...string) map[string]any {
	if resource == nil {
		return nil
	}
	out := maps.Clone(resource)
	delete(out, "status")
	if all, ok := out["metadata"].(map[string]any); ok {
		kept := map[string]any{}
		for _, k := range metadata {
			if v, ok := all[k]; ok {
				kept[k] = v
			}
		}
		out["metadata"] = kept
	}
	return out
}

func byResource(composed []map[string]any) map[string]map[string]any {
	all := make(map[string]map[string]any, len(composed))
	for _, c := range composed {
		all[reconciler.ResourceName(c)] = c
	}
	return all
}

// identity tells an XR from all others.
func identity(object map[string]any) string {
	u := unstructured.Unstructured{Object: object}
	return fmt.Sprintf("%s\x00%s\x00%s", u.GroupVersionKind().GroupKind(), u.GetNamespace(), u.GetName())
}
