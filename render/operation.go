package render

import (
	"context"
	"errors"

	opsv1alpha1 "github.com/crossplane/crossplane/apis/v2/ops/v1alpha1"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/composition/reconciler"
)

// An OperationRequest is the input of RenderOperation, which does not change it.
type OperationRequest struct {
	// Operation is the Operation. It is required, and must be of mode Pipeline, or have no mode.
	Operation *opsv1alpha1.Operation
	// Required are the cluster's objects that functions may require.
	Required []*unstructured.Unstructured
	// Credentials are the Secrets that steps of the pipeline refer to.
	Credentials []*unstructured.Unstructured
	// Schemas finds the OpenAPI schema that a function requires, and returns
	// an empty message if there is none. It may be nil.
	Schemas func(*fnv1.SchemaSelector) *fnv1.Schema
	// Context is the context of the first function's request. It may be nil.
	Context *structpb.Struct
}

// RenderOperation runs the pipeline of the Operation as Crossplane v2 does. It calls functions
// with run, unless the Operation is complete, deleted, or has reached its retry limit.
//
// It returns a *FatalError for a FATAL result of a function.
func RenderOperation(ctx context.Context, run function.Runner, req OperationRequest) (*Result, error) {
	if run == nil {
		run = noRunner
	}
	if req.Operation == nil {
		return nil, errors.New("the request has no Operation")
	}
	out, err := reconciler.RenderOperation(ctx, run, reconciler.OperationInput{
		Operation: req.Operation, Required: req.Required, Credentials: req.Credentials, Schemas: req.Schemas, Context: req.Context,
	})
	if err != nil {
		return nil, err
	}
	r := Result(*out)
	return &r, nil
}
