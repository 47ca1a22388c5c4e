package alpha

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	fnio "github.com/xfn-dev/xfn/internal/alpha/v1alpha1"
	"github.com/xfn-dev/xfn/internal/patch"
)

// Deadline is how long a reconcile may take, with all of its functions.
const Deadline = 2 * time.Minute

// A Request is what to reconcile. Nothing in it is changed.
type Request struct {
	// XR is the composite resource as it was read.
	XR *unstructured.Unstructured
	// Composition composes for it.
	Composition *Composition
	// Environment is what environment patches read and write. Where it is nil
	// they do nothing.
	Environment map[string]any
	// LiteralDeletion deletes what the code deleted, not what the documentation
	// said: a resource from spec.resources stays when a function drops it, and
	// so does any when a function returns an XR without its UID.
	LiteralDeletion bool
}

// A Result is what came of a reconcile.
type Result struct {
	// XR is the one that the reconciler keeps: with what was patched to it, but
	// without what functions returned, which the store has.
	XR *unstructured.Unstructured
	// Composed are the composed resources, sorted by name.
	Composed []Composed
	// Dropped are the resources that existed and that nothing wants any more,
	// sorted by name.
	Dropped []Dropped
	// ConnectionDetails are those of the XR.
	ConnectionDetails map[string][]byte
	// Events are those about patches that failed, then the functions' results.
	Events []Event

	stored *unstructured.Unstructured
}

// Composed is a composed resource.
type Composed struct {
	Name string
	// Desired is what was applied. It is nil for a resource that could not be
	// rendered, and so was not; then Unrendered says why.
	Desired    *unstructured.Unstructured
	Unrendered error
	Ready      bool
}

// Dropped is a resource that the XR does not refer to any more.
type Dropped struct {
	Name   string
	Object *unstructured.Unstructured
	// Deleted says that it is gone. If not, it is left behind.
	Deleted bool
}

// An Event is one of an XR's, with reason ComposeResources.
type Event struct {
	// Type is Normal or Warning.
	Type    fnio.Severity
	Message string
}

// A FatalError is the first Fatal result of the last function.
type FatalError struct{ Message string }

// Error gives the function's words.
func (e *FatalError) Error() string { return "fatal function pipeline result: " + e.Message }

// Run reconciles an XR: it patches and transforms, runs the functions in their
// order by run, and applies what the last one returned to the store, in which it
// puts the XR if it is not there.
//
// All errors have the words that the XR's event had. A Fatal result is a
// *FatalError. After an error in a function nothing has been applied.
func Run(ctx context.Context, req Request, run ContainerRunner, store *Store) (*Result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, Deadline, fmt.Errorf("the reconcile took more than %s", Deadline))
	defer cancel()

	r := &reconcile{Request: req, store: store, xr: req.XR.DeepCopy()}
	if req.Environment != nil {
		// Like the function, the alpha could only patch what has a kind.
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
		err = r.take(last)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot run Composition Function pipeline: %w", err)
	}
	return r.finish()
}

// finish makes the store what the functions returned.
func (r *reconcile) finish() (*Result, error) {
	result := &Result{XR: r.xr, Dropped: r.deleteUndesired(), ConnectionDetails: r.details, Events: r.events}
	if err := r.apply(result); err != nil {
		return nil, err
	}
	if err := r.deriveAll(result); err != nil {
		return nil, fmt.Errorf("cannot observe composed resources: %w", err)
	}
	return result, nil
}
