package main

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/crossplane/function-sdk-go/errors"
	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/request"
	"github.com/crossplane/function-sdk-go/resource"
	"github.com/crossplane/function-sdk-go/resource/composed"
	"github.com/crossplane/function-sdk-go/response"
)

// policy is the NetworkPolicy's name among the composed resources.
const policy resource.Name = "network-policy"

type object = map[string]any

// Function adds labels, resources and a NetworkPolicy to the desired state.
type Function struct {
	fnv1.UnimplementedFunctionRunnerServiceServer

	log logging.Logger
}

// RunFunction handles one request of Crossplane. An error is a fatal result,
// which users see on their App.
func (f *Function) RunFunction(_ context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	f.log.Debug("Running function", "tag", req.GetMeta().GetTag())
	rsp := response.To(req, response.DefaultTTL)
	if err := guard(req, rsp); err != nil {
		response.Fatal(rsp, err)
	}
	return rsp, nil
}

// App has the fields of the composite resource that the function reads.
type App struct {
	Name string `json:"-"`

	Size      string   `json:"size"`
	AllowFrom []string `json:"allowFrom"`
	Replicas  struct {
		Max int64 `json:"max"`
	} `json:"replicas"`
}

// guard adds labels, resources and the NetworkPolicy to the response. The same
// request always gives the same response.
func guard(req *fnv1.RunFunctionRequest, rsp *fnv1.RunFunctionResponse) error {
	in := &Input{}
	if err := request.GetInput(req, in); err != nil {
		return errors.Wrap(err, "reading the input")
	}
	xr, err := request.GetObservedCompositeResource(req)
	if err != nil {
		return errors.Wrap(err, "reading the App")
	}
	app := App{Name: xr.Resource.GetName()}
	if err := xr.Resource.GetValueInto("spec", &app); err != nil {
		return errors.Wrap(err, "reading the App")
	}
	size, err := in.size(app.Size, app.Replicas.Max)
	if err != nil {
		return err
	}
	desired, err := request.GetDesiredComposedResources(req)
	if err != nil {
		return errors.Wrap(err, "reading the desired resources")
	}
	observed, err := request.GetObservedComposedResources(req)
	if err != nil {
		return errors.Wrap(err, "reading the observed resources")
	}
	desired[policy] = &resource.DesiredComposed{Resource: app.policy(in), Ready: exists(observed, policy)}
	for _, name := range slices.Sorted(maps.Keys(desired)) {
		unpinned, err := adorn(desired[name].Resource, app.labels(in), size)
		if err != nil {
			return errors.Wrapf(err, "reading the desired resource %q", name)
		}
		for _, image := range unpinned {
			response.Warning(rsp, fmt.Errorf("image %s has no fixed tag, so its content may change", image))
		}
	}
	return errors.Wrap(response.SetDesiredComposedResources(rsp, desired), "setting the desired resources")
}

// exists returns the readiness of a composed resource: ready if it was
// observed, whatever its status.
func exists(observed map[resource.Name]resource.ObservedComposed, name resource.Name) resource.Ready {
	if _, ok := observed[name]; ok {
		return resource.ReadyTrue
	}
	return resource.ReadyFalse
}

// labels returns the labels of all composed resources of an App.
func (a *App) labels(in *Input) map[string]string {
	return map[string]string{
		"app.kubernetes.io/instance":       a.Name,
		"app.kubernetes.io/managed-by":     "crossplane",
		"platform.example.org/environment": in.Environment,
	}
}

// adorn labels a composed resource. In a workload, it also sets the resources
// of containers that have none, and returns the images that are not pinned.
func adorn(cd *composed.Unstructured, labels map[string]string, size Size) (unpinned []string, err error) {
	cd.SetLabels(merged(cd.GetLabels(), labels))
	const template = "spec.template"
	if _, err := cd.GetValue(template); err != nil {
		return nil, nil // without a Pod template it is not a workload
	}
	pod := map[string]string{}
	_ = cd.GetValueInto(template+".metadata.labels", &pod) // the Pod template may have no labels
	if err := cd.SetValue(template+".metadata.labels", merged(pod, labels)); err != nil {
		return nil, err
	}
	var containers []object
	if err := cd.GetValueInto(template+".spec.containers", &containers); err != nil {
		return nil, err
	}
	for _, c := range containers {
		if c["resources"] == nil {
			c["resources"] = size.resources()
		}
		if image := fmt.Sprint(c["image"]); !pinned(image) {
			unpinned = append(unpinned, image)
		}
	}
	return unpinned, cd.SetValue(template+".spec.containers", containers)
}

// pinned reports whether an image has a digest, or a tag other than latest.
func pinned(image string) bool {
	_, tag, tagged := strings.Cut(path.Base(image), ":")
	return tagged && tag != "latest"
}

// resources returns the resource requirements of a container. The memory limit
// equals the memory request. There is no CPU limit.
func (s Size) resources() object {
	return object{
		"requests": object{"cpu": s.CPU.String(), "memory": s.Memory.String()},
		"limits":   object{"memory": s.Memory.String()},
	}
}

// policy returns a NetworkPolicy that allows traffic from the App's namespace,
// and from those that the App or the environment names.
func (a *App) policy(in *Input) *composed.Unstructured {
	from := []any{object{"podSelector": object{}}}
	for _, namespace := range slices.Concat(in.AllowFrom, a.AllowFrom) {
		from = append(from, object{"namespaceSelector": object{"matchLabels": object{"kubernetes.io/metadata.name": namespace}}})
	}
	cd := composed.New()
	cd.SetUnstructuredContent(object{
		"apiVersion": "networking.k8s.io/v1",
		"kind":       "NetworkPolicy",
		"metadata":   object{"name": a.Name},
		"spec": object{
			"podSelector": object{"matchLabels": object{"app.kubernetes.io/instance": a.Name}},
			"policyTypes": []any{"Ingress"},
			"ingress":     []any{object{"from": from}},
		},
	})
	return cd
}

// merged returns the entries of both maps. If both have a key, the value in others is used.
func merged(labels, others map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, labels)
	maps.Copy(all, others)
	return all
}
