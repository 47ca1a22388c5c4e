package gotemplating

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand"
	"slices"

	v2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"gopkg.in/yaml.v3"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/xfn-dev/xfn/internal/builtin/sdk"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
)

// includeFunction is the template function that executes a template by name.
const includeFunction = "include"

// functions returns the template functions that this version of function-go-templating
// adds to the functions of Sprig.
func (e *execution) functions() map[string]any {
	all := map[string]any{
		includeFunction: e.include,
		"toYaml": func(v any) (string, error) { // in YAML 1.2; the documents in an output are decoded as YAML 1.1
			text, err := yaml.Marshal(v)
			return string(text), err
		},
		"fromYaml": func(text string) (v any, err error) {
			err = yaml.Unmarshal([]byte(text), &v)
			return v, err
		},
		"getResourceCondition":      getResourceCondition,
		"getCredentialData":         getCredentialData,
		"randomChoice":              func(choices ...string) string { return choices[rand.Intn(len(choices))] },
		"setResourceNameAnnotation": func(name string) string { return nameAnnotation + ": " + name },
		"getCompositeResource": func(data map[string]any) map[string]any {
			return at[map[string]any](data, "observed.composite.resource")
		},
		"getComposedResource": func(data map[string]any, name string) map[string]any {
			return at[map[string]any](data, "observed.resources["+name+"]resource")
		},
		"getExtraResources": func(data map[string]any, key string) []any {
			return at[[]any](data, "requiredResources["+key+"].items", "extraResources["+key+"].items")
		},
		"getExtraResourcesFromContext": func(data map[string]any, key string) []any {
			return at[[]any](data, "context["+sdk.ExtraKey+"]["+key+"].items")
		},
	}
	if e.unreleased {
		all["getComposedConnectionDetails"] = func(data map[string]any, name string) map[string]any {
			return at[map[string]any](data, "observed.resources["+name+"]connectionDetails")
		}
	}
	return all
}

// maxIncludes limits how often a template may include itself recursively.
const maxIncludes = 1000

// include implements the template function include. It returns the output of the
// template called name.
func (e *execution) include(name string, data any) (string, error) {
	if e.including[name] > maxIncludes {
		return "", fmt.Errorf("rendering template has a nested reference name: %s: %w", name, errors.New("unable to execute template"))
	}
	e.including[name]++
	defer func() { e.including[name]-- }()
	return e.run(name, data)
}

// getResourceCondition returns a condition of a resource. of is the resource, or an object
// with the resource in the field resource. The status of a missing condition is Unknown.
func getResourceCondition(conditionType string, of map[string]any) v2.Condition {
	status := at[v2.ConditionedStatus](of, "resource.status", "status")
	c := status.GetCondition(v2.ConditionType(conditionType))
	c.LastTransitionTime.Time = c.LastTransitionTime.UTC()
	return c
}

// at returns a copy of the value at the first of the paths that has a value that can be decoded, or
// the zero value.
func at[T any](data map[string]any, paths ...string) (none T) {
	for _, path := range paths {
		p, err := fieldpath.Parse(path)
		if err != nil || slices.Contains(p, fieldpath.Key("*")) {
			continue
		}
		v, err := p.Get(data)
		if err != nil {
			continue
		}
		var value T
		if raw, err := json.Marshal(v); err == nil && kjson.Unmarshal(raw, &value) == nil {
			return value
		}
	}
	return none
}

// getCredentialData returns the data of the credential called name. data is the
// JSON form of a request. If the template has changed data so that it is no
// longer a valid request, getCredentialData returns nil.
func getCredentialData(data map[string]any, name string) map[string][]byte {
	raw, err := json.Marshal(data)
	if err != nil {
		return nil
	}
	req := &fnv1.RunFunctionRequest{}
	if err := protojson.Unmarshal(raw, req); err != nil {
		return nil
	}
	return req.GetCredentials()[name].GetCredentialData().GetData()
}
