package render

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/internal/alpha"
	"github.com/xfn-dev/xfn/internal/composition/reconciler"
)

// An AlphaRequest is what to render in profile Alpha. Nothing in it is changed.
type AlphaRequest struct {
	// XR is the composite resource, with its XRD's defaults applied.
	XR *unstructured.Unstructured
	// Composition composes for it.
	Composition *alpha.Composition
	// Observed are the composed resources that exist, and Secrets, which are
	// none if nothing in their annotations says so: the XR and composed
	// resources may name them for their connection details.
	Observed []*unstructured.Unstructured
	// Environment is what environment patches read and write. Where it is nil
	// they do nothing.
	Environment map[string]any
	// Full asks for the XR with everything that it had.
	Full bool
	// LiteralDeletion deletes what the code of the alpha deleted, and not what
	// its documentation said.
	LiteralDeletion bool
}

// RenderAlpha is Render in profile Alpha: one reconcile, whose functions are
// containers that run runs. There is no context. What could not be rendered, and
// so is not among the composed resources, is warned of, as is what existed and
// is left behind; what is deleted is noted.
func RenderAlpha(ctx context.Context, run alpha.ContainerRunner, req AlphaRequest) (*Result, error) {
	var composed, secrets []*unstructured.Unstructured
	for _, o := range req.Observed {
		if o.GetAPIVersion() == "v1" && o.GetKind() == "Secret" && o.GetAnnotations()[reconciler.AnnotationResourceName] == "" {
			secrets = append(secrets, o)
		} else {
			composed = append(composed, o)
		}
	}
	xr, store := alpha.Cluster(req.XR, composed, secrets)
	got, err := alpha.Run(ctx, alpha.Request{
		XR: xr, Composition: req.Composition, Environment: req.Environment, LiteralDeletion: req.LiteralDeletion,
	}, run, store)
	var fatal *alpha.FatalError
	switch {
	case errors.As(err, &fatal):
		return nil, &alphaError{err, &FatalError{Message: fatal.Message}}
	case err != nil:
		return nil, err
	}
	out := got.Output()
	r := result(Request{Full: req.Full}, out)
	details := map[string]any{}
	for k, v := range got.ConnectionDetails {
		details[k] = base64.StdEncoding.EncodeToString(v)
	}
	r.ConnectionDetails = document("ConnectionDetails", "data", details)
	for _, d := range got.Dropped {
		if d.Deleted {
			r.Notes = append(r.Notes, fmt.Sprintf("composed resource %q, %s %q, is deleted", d.Name, d.Object.GetKind(), d.Object.GetName()))
		} else {
			r.Warnings = append(r.Warnings, fmt.Sprintf("composed resource %q, %s %q, is left behind: nothing wants it any more, and it is not deleted", d.Name, d.Object.GetKind(), d.Object.GetName()))
		}
	}
	for _, c := range got.Composed {
		if c.Unrendered != nil {
			r.Warnings = append(r.Warnings, fmt.Sprintf("composed resource %q is left out, since it could not be rendered: %v", c.Name, c.Unrendered))
		}
	}
	return r, nil
}

// An alphaError is a fatal result with the words that the alpha had for it.
type alphaError struct {
	error
	fatal *FatalError
}

func (e *alphaError) Unwrap() []error { return []error{e.error, e.fatal} }
