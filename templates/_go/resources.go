package main

import (
	"fmt"
	"maps"

	"github.com/crossplane/function-sdk-go/resource"
)

// Names of the composed resources in the pipeline. Crossplane stores them with
// the objects: if a name changes, Crossplane replaces the object.
const (
	settings   resource.Name = "settings"
	deployment resource.Name = "deployment"
	service    resource.Name = "service"
	ingress    resource.Name = "ingress"
)

// An object has only the fields that a manifest sets. Crossplane owns each
// field that is set, so Go types that also set zero values (like hostPort: 0)
// are not used.
type object = map[string]any

// An App is the spec of the composite resource and values from the input.
type App struct {
	Image       string `json:"image"`
	Environment string `json:"environment"`
	Replicas    *int64 `json:"replicas"`
	Port        int64  `json:"port"`
	Host        string `json:"host"`

	Name      string            `json:"-"`
	Namespace string            `json:"-"`
	Labels    map[string]string `json:"-"`
	Settings  map[string]string `json:"-"`
}

// resources returns the composed resources of the App.
func (a *App) resources() map[resource.Name]object {
	all := map[resource.Name]object{
		settings:   a.configMap(),
		deployment: a.deployment(),
		service:    a.service(),
	}
	if a.Host != "" {
		all[ingress] = a.ingress()
	}
	return all
}

// url returns the URL of the App: the URL of its host or, without a host, the URL of its Service.
func (a *App) url() string {
	if a.Host != "" {
		return "http://" + a.Host
	}
	return fmt.Sprintf("http://%s.%s.svc:%d", a.Name, a.Namespace, a.Port)
}

func (a *App) configMap() object {
	return object{
		"apiVersion": "v1",
		"kind":       "ConfigMap",
		"metadata":   a.metadata(),
		"data":       values(a.Settings),
	}
}

func (a *App) deployment() object {
	container := object{
		"name":    "app",
		"image":   a.Image,
		"ports":   []any{object{"name": "http", "containerPort": a.Port}},
		"envFrom": []any{object{"configMapRef": object{"name": a.Name}}},
	}
	return object{
		"apiVersion": "apps/v1",
		"kind":       "Deployment",
		"metadata":   a.metadata(),
		"spec": object{
			"replicas": *a.Replicas,
			"selector": object{"matchLabels": a.selector()},
			"template": object{
				"metadata": object{"labels": a.labels()},
				"spec":     object{"containers": []any{container}},
			},
		},
	}
}

func (a *App) service() object {
	return object{
		"apiVersion": "v1",
		"kind":       "Service",
		"metadata":   a.metadata(),
		"spec": object{
			"selector": a.selector(),
			"ports":    []any{object{"name": "http", "port": a.Port, "targetPort": "http"}},
		},
	}
}

func (a *App) ingress() object {
	path := object{
		"path":     "/",
		"pathType": "Prefix",
		"backend":  object{"service": object{"name": a.Name, "port": object{"name": "http"}}},
	}
	return object{
		"apiVersion": "networking.k8s.io/v1",
		"kind":       "Ingress",
		"metadata":   a.metadata(),
		"spec": object{
			"rules": []any{object{"host": a.Host, "http": object{"paths": []any{path}}}},
		},
	}
}

// metadata gives all resources the App's name, so that they can refer to each
// other. Crossplane generates missing names and sets the App's namespace.
func (a *App) metadata() object {
	return object{"name": a.Name, "labels": a.labels()}
}

// labels returns the labels of all composed resources.
func (a *App) labels() object {
	all := values(a.Labels)
	maps.Copy(all, a.selector())
	return all
}

// selector returns the labels that select the Pods of this App.
func (a *App) selector() object {
	return object{"app.kubernetes.io/instance": a.Name}
}

// values returns m as a part of an object.
func values(m map[string]string) object {
	o := object{}
	for k, v := range m {
		o[k] = v
	}
	return o
}
