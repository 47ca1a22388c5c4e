package alpha

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/xfn-dev/xfn/function"
	fnio "github.com/xfn-dev/xfn/internal/alpha/v1alpha1"
	"github.com/xfn-dev/xfn/internal/patch"
)

// Deadline limits the duration of a reconcile, including all functions.
const Deadline = 2 * time.Minute

// A Request is the input of a reconcile. Run does not change it.
type Request struct {
	// XR is the observed composite resource.
	XR *unstructured.Unstructured
	// Composition is the Composition that the XR uses.
	Composition *Composition
	// Environment is the object that environment patches read and write. If it is
	// nil, these patches do nothing.
	Environment map[string]any
	// ConnectionSecretKeys are the keys of connection details that the XRD allows
	// Crossplane to publish. Empty allows all.
	ConnectionSecretKeys []string
	// StoreConfig is the name of the StoreConfig of the Composition, which an XR without
	// publishConnectionDetailsTo gets. It is "" if external secret stores are off.
	StoreConfig string
	// LiteralDeletion follows Crossplane's code instead of its documentation. A
	// resource of a template in spec.resources is then kept when a function drops
	// it. All resources are kept when a function returns an XR without its UID.
	LiteralDeletion bool
}

// A Result is the output of a reconcile.
type Result struct {
	// XR is the XR after the patches of the Composition, without the fields that
	// functions returned. The XR in the store has both.
	XR *unstructured.Unstructured
	// Composed are the composed resources, sorted by name.
	Composed []Composed
	// Dropped are the existing resources that are no longer desired, sorted by name.
	Dropped []Dropped
	// ConnectionDetails are the connection details of the XR.
	ConnectionDetails map[string][]byte
	// Events are the events of failed patches, followed by the results of the functions.
	Events []Event

	stored *unstructured.Unstructured
}

// Composed is a composed resource.
type Composed struct {
	Name string
	// Desired is the object that was applied. It is nil if the resource was not
	// rendered. Unrendered is then the reason.
	Desired    *unstructured.Unstructured
	Unrendered error
	Ready      bool
}

// A Dropped is a resource that the XR no longer refers to.
type Dropped struct {
	Name   string
	Object *unstructured.Unstructured
	// Deleted is true if the resource was deleted, and false if the XR only no
	// longer refers to it.
	Deleted bool
}

// An Event is an event of the XR, with reason ComposeResources.
type Event struct {
	// Type is Normal or Warning.
	Type    fnio.Severity
	Message string
}

// A fatalError is the first Fatal result of the last function, with the text of
// Crossplane's event.
type fatalError struct{ *function.FatalError }

func (e fatalError) Error() string { return "fatal function pipeline result: " + e.Message }
func (e fatalError) Unwrap() error { return e.FatalError }

// Run reconciles an XR. It applies the patches and transforms of the Composition, and calls
// the functions in order with the ContainerRunner run. It applies the output of the last
// function to the store, and adds the XR if the store does not have it.
//
// Errors have the text of Crossplane's event on the XR. A Fatal result is
// returned as a *function.FatalError. If a function fails, Run applies nothing.
func Run(ctx context.Context, req Request, run ContainerRunner, store *Store) (*Result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, Deadline, fmt.Errorf("the reconcile timed out after %s", Deadline))
	defer cancel()

	r := &reconcile{Request: req, store: store, xr: req.XR.DeepCopy()}
	if req.Environment != nil {
		// patch.Environment sets a kind if there is none. A patch to an object
		// without a kind fails.
		r.Environment = patch.Environment(runtime.DeepCopyJSON(req.Environment)).Fields
	}
	store.add(r.xr)
	if err := r.observe(); err != nil {
		return nil, fmt.Errorf("cannot get existing composed resources: %w", err)
	}
	observed, err := r.functionIOObserved()
	if err != nil {
		return nil, fmt.Errorf("cannot build FunctionIO observed state: %w", err)
	}
	if err := r.patchAndTransform(ctx); err != nil {
		return nil, fmt.Errorf("cannot patch and transform: %w", err)
	}
	desired, err := r.functionIODesired()
	if err != nil {
		return nil, fmt.Errorf("cannot build initial FunctionIO desired state: %w", err)
	}
	last, err := r.Composition.run(ctx, run, fnio.FunctionIO{Observed: observed, Desired: desired})
	if err == nil {
		err = r.setDesired(last)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot run Composition Function pipeline: %w", err)
	}
	result := &Result{XR: r.xr, Dropped: r.deleteUndesired(), ConnectionDetails: r.details, Events: r.events}
	if err := r.apply(result); err != nil {
		return nil, err
	}
	if err := r.deriveAll(result); err != nil {
		return nil, fmt.Errorf("cannot observe composed resources: %w", err)
	}
	return result, nil
}
