package main

import (
	"context"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/request"
	"github.com/crossplane/function-sdk-go/resource"
	"github.com/crossplane/function-sdk-go/resource/composed"
	"github.com/crossplane/function-sdk-go/response"
)

// Function composes a Deployment for an App.
type Function struct {
	fnv1.UnimplementedFunctionRunnerServiceServer
}

// RunFunction handles one request of Crossplane. An error is a fatal result, which users see
// on their App.
func (f *Function) RunFunction(_ context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	rsp := response.To(req, response.DefaultTTL)
	if err := compose(req, rsp); err != nil {
		response.Fatal(rsp, err)
	}
	return rsp, nil
}

func compose(req *fnv1.RunFunctionRequest, rsp *fnv1.RunFunctionResponse) error {
	xr, err := request.GetObservedCompositeResource(req)
	if err != nil {
		return err
	}
	image, err := xr.Resource.GetString("spec.image")
	if err != nil {
		return err
	}
	replicas, err := xr.Resource.GetInteger("spec.replicas")
	if err != nil {
		replicas = 1
	}
	desired, err := request.GetDesiredComposedResources(req)
	if err != nil {
		return err
	}
	labels := map[string]any{"app": xr.Resource.GetName()}
	deployment := composed.New()
	deployment.SetUnstructuredContent(map[string]any{
		"apiVersion": "apps/v1",
		"kind":       "Deployment",
		"spec": map[string]any{
			"replicas": replicas,
			"selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{
				"metadata": map[string]any{"labels": labels},
				"spec":     map[string]any{"containers": []any{map[string]any{"name": "app", "image": image}}},
			},
		},
	})
	desired["deployment"] = &resource.DesiredComposed{Resource: deployment}
	return response.SetDesiredComposedResources(rsp, desired)
}
