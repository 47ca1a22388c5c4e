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

// policy is the name of the NetworkPolicy in the pipeline.
const policy resource.Name = "network-policy"

type object = map[string]any

// Function guards what the steps before it compose.
type Function struct {
	fnv1.UnimplementedFunctionRunnerServiceServer

	log logging.Logger
}

// RunFunction answers one request of Crossplane. What goes wrong is a fatal result,
// which people see on their App.
func (f *Function) RunFunction(_ context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	f.log.Debug("Running function", "tag", req.GetMeta().GetTag())
	rsp := response.To(req, response.DefaultTTL)
	if err := guard(req, rsp); err != nil {
		response.Fatal(rsp, err)
	}
	return rsp, nil
}

// App is what the function reads of the composite resource.
type App struct {
	Name string `json:"-"`

	Size      string   `json:"size"`
	AllowFrom []string `json:"allowFrom"`
	Replicas  struct {
		Max int64 `json:"max"`
	} `json:"replicas"`
}

// guard adds to what is desired. The same request always gives the same response.
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
		return errors.Wrap(err, "reading what is desired")
	}
	observed, err := request.GetObservedComposedResources(req)
	if err != nil {
		return errors.Wrap(err, "reading what is observed")
	}
	desired[policy] = &resource.DesiredComposed{Resource: app.policy(in), Ready: exists(observed, policy)}
	for _, name := range slices.Sorted(maps.Keys(desired)) {
		unpinned, err := adorn(desired[name].Resource, app.labels(in), size)
		if err != nil {
			return errors.Wrapf(err, "reading the desired resource %q", name)
		}
		for _, image := range unpinned {
			response.Warning(rsp, fmt.Errorf("image %s has no fixed tag: nobody knows what runs", image))
		}
	}
	return errors.Wrap(response.SetDesiredComposedResources(rsp, desired), "desiring resources")
}

// exists tells whether a resource is ready of which nobody reports more than that
// it is there.
func exists(observed map[resource.Name]resource.ObservedComposed, name resource.Name) resource.Ready {
	if _, ok := observed[name]; ok {
		return resource.ReadyTrue
	}
	return resource.ReadyFalse
}

// labels of all that an App is composed of.
func (a *App) labels(in *Input) map[string]string {
	return map[string]string{
		"app.kubernetes.io/instance":       a.Name,
		"app.kubernetes.io/managed-by":     "crossplane",
		"platform.example.org/environment": in.Environment,
	}
}

// adorn labels a resource. The containers of a workload get a size each, but for
// those that ask for resources of their own. It returns images without a fixed tag.
func adorn(cd *composed.Unstructured, labels map[string]string, size Size) (unpinned []string, err error) {
	cd.SetLabels(merged(cd.GetLabels(), labels))
	const template = "spec.template"
	if _, err := cd.GetValue(template); err != nil {
		return nil, nil // no workload
	}
	pod := map[string]string{}
	_ = cd.GetValueInto(template+".metadata.labels", &pod) // it may have none
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

// pinned reports whether an image has a digest, or a tag that is not the default.
func pinned(image string) bool {
	_, tag, tagged := strings.Cut(path.Base(image), ":")
	return tagged && tag != "latest"
}

// resources of a container: as much memory as it asks for and no more, and as much
// CPU as there is.
func (s Size) resources() object {
	return object{
		"requests": object{"cpu": s.CPU.String(), "memory": s.Memory.String()},
		"limits":   object{"memory": s.Memory.String()},
	}
}

// policy lets into an App's Pods those of its own namespace, and of others that the
// App or the environment names.
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

// merged returns labels with others, which win.
func merged(labels, others map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, labels)
	maps.Copy(all, others)
	return all
}
