package alpha

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/internal/composition/reconciler"
)

// Render reconciles the XR of req once. Observed are the composed resources that
// exist, and Secrets: those without the annotation of a composed resource have the
// connection details of the XR or of composed resources. Nothing in the arguments is
// changed.
//
// Notes name the composed resources that are deleted. Warnings name those that
// could not be rendered, and those that exist and are not deleted although
// nothing desires them. A Fatal result is a *function.FatalError.
func Render(ctx context.Context, run ContainerRunner, req Request, observed []*unstructured.Unstructured) (*reconciler.Output, error) {
	var composed, secrets []*unstructured.Unstructured
	for _, o := range observed {
		if o.GetAPIVersion() == "v1" && o.GetKind() == "Secret" && o.GetAnnotations()[reconciler.AnnotationResourceName] == "" {
			secrets = append(secrets, o)
		} else {
			composed = append(composed, o)
		}
	}
	xr, store := Cluster(req.XR, composed, secrets)
	req.XR = xr
	got, err := Run(ctx, req, run, store)
	if err != nil {
		return nil, err
	}
	out := got.Output()
	for _, d := range got.Dropped {
		if d.Deleted {
			out.Notes = append(out.Notes, fmt.Sprintf("composed resource %q, %s %q, is deleted", d.Name, d.Object.GetKind(), d.Object.GetName()))
		} else {
			out.Warnings = append(out.Warnings, fmt.Sprintf("composed resource %q, %s %q, is left behind: nothing wants it any more, and it is not deleted", d.Name, d.Object.GetKind(), d.Object.GetName()))
		}
	}
	for _, c := range got.Composed {
		if c.Unrendered != nil {
			out.Warnings = append(out.Warnings, fmt.Sprintf("composed resource %q is left out, since it could not be rendered: %v", c.Name, c.Unrendered))
		}
	}
	return out, nil
}
