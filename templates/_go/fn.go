package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/request"
	"github.com/crossplane/function-sdk-go/resource"
	"github.com/crossplane/function-sdk-go/resource/composed"
	"github.com/crossplane/function-sdk-go/response"

	"function-example/input/v1beta1"
)

// Function composes the resources of an App: see resources.go.
type Function struct {
	fnv1.UnimplementedFunctionRunnerServiceServer

	log logging.Logger
}

// RunFunction handles one request of Crossplane. An error is a fatal result,
// which users see on their App. A Go error would mean that the function could
// not run.
func (f *Function) RunFunction(_ context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	f.log.Debug("Running function", "tag", req.GetMeta().GetTag())

	// The response starts with the desired state of earlier functions in
	// the pipeline. A function adds to it, and removes nothing.
	rsp := response.To(req, response.DefaultTTL)
	if err := compose(req, rsp); err != nil {
		f.log.Info("Cannot compose", "error", err)
		response.Fatal(rsp, err)
	}
	return rsp, nil
}

// compose reads the request and fills the response. The same request always
// gives the same response.
func compose(req *fnv1.RunFunctionRequest, rsp *fnv1.RunFunctionResponse) error {
	in := &v1beta1.Input{}
	if err := request.GetInput(req, in); err != nil {
		return fmt.Errorf("reading the input: %w", err)
	}
	if err := in.Validate(); err != nil {
		return fmt.Errorf("checking the input: %w", err)
	}
	xr, err := request.GetObservedCompositeResource(req)
	if err != nil {
		return fmt.Errorf("reading the App: %w", err)
	}
	app, err := newApp(xr, in)
	if err != nil {
		return fmt.Errorf("reading the App: %w", err)
	}
	observed, err := request.GetObservedComposedResources(req)
	if err != nil {
		return fmt.Errorf("reading the composed resources: %w", err)
	}

	desired := map[resource.Name]*resource.DesiredComposed{}
	for name, object := range app.resources() {
		cd := composed.New()
		cd.SetUnstructuredContent(object)
		desired[name] = &resource.DesiredComposed{Resource: cd, Ready: readiness(name, observed)}
	}
	if err := response.SetDesiredComposedResources(rsp, desired); err != nil {
		return fmt.Errorf("setting the desired composed resources: %w", err)
	}

	response.Normalf(rsp, "Composed %d resources for environment %q", len(desired), app.Environment)
	return report(req, rsp, app, observed)
}

// newApp reads an App from its composite resource and sets defaults from the
// App's environment.
func newApp(xr *resource.Composite, in *v1beta1.Input) (*App, error) {
	app := &App{Port: 8080}
	if err := xr.Resource.GetValueInto("spec", app); err != nil {
		return nil, err
	}
	env, ok := in.Environments[app.Environment]
	if !ok {
		known := slices.Sorted(maps.Keys(in.Environments))
		return nil, fmt.Errorf("spec.environment must be one of %s, got %q", strings.Join(known, ", "), app.Environment)
	}
	if app.Replicas == nil {
		app.Replicas = &env.Replicas
	}
	app.Name, app.Namespace = xr.Resource.GetName(), xr.Resource.GetNamespace()
	app.Labels, app.Settings = in.Labels, env.Settings
	return app, nil
}

// readiness returns whether a composed resource is ready. Crossplane reports
// the App as ready once all of its composed resources are.
func readiness(name resource.Name, observed map[resource.Name]resource.ObservedComposed) resource.Ready {
	o, exists := observed[name]
	switch {
	case !exists:
		return resource.ReadyFalse
	case name == deployment && o.Resource.GetCondition("Available").Status != "True":
		return resource.ReadyFalse
	}
	return resource.ReadyTrue
}

// report sets the status of the App and the condition Serving.
func report(req *fnv1.RunFunctionRequest, rsp *fnv1.RunFunctionResponse, app *App, observed map[resource.Name]resource.ObservedComposed) error {
	xr, err := request.GetDesiredCompositeResource(req)
	if err != nil {
		return fmt.Errorf("reading the desired App: %w", err)
	}
	if err := xr.Resource.SetString("status.url", app.url()); err != nil {
		return fmt.Errorf("setting the App's URL: %w", err)
	}
	var available int64
	if o, exists := observed[deployment]; exists {
		// Kubernetes leaves the field out while it is zero.
		available, _ = o.Resource.GetInteger("status.availableReplicas")
	}
	if err := xr.Resource.SetInteger("status.availableReplicas", available); err != nil {
		return fmt.Errorf("setting the App's available replicas: %w", err)
	}
	if err := response.SetDesiredCompositeResource(rsp, xr); err != nil {
		return fmt.Errorf("setting the App's desired status: %w", err)
	}

	if readiness(deployment, observed) == resource.ReadyTrue {
		response.ConditionTrue(rsp, "Serving", "DeploymentAvailable")
		return nil
	}
	response.ConditionFalse(rsp, "Serving", "DeploymentUnavailable").
		WithMessage(fmt.Sprintf("%d of %d replicas are available", available, *app.Replicas))
	return nil
}
