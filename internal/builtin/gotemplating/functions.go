package gotemplating

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand"
	"reflect"
	"slices"

	v2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"gopkg.in/yaml.v3"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/xfn-dev/xfn/internal/fieldpath"
)

// includeFunction is the name of include.
const includeFunction = "include"

// functions returns what the function adds to those of Go and sprig.
func (e *execution) functions() map[string]any {
	return map[string]any{
		includeFunction:                e.include,
		"toYaml":                       e.budget.Priced(toYAML),
		"fromYaml":                     e.fromYAML,
		"randomChoice":                 e.budget.Priced(randomChoice),
		"setResourceNameAnnotation":    e.budget.Priced(setResourceNameAnnotation),
		"getResourceCondition":         e.getResourceCondition,
		"getCompositeResource":         e.getCompositeResource,
		"getComposedResource":          e.getComposedResource,
		"getComposedConnectionDetails": e.getComposedConnectionDetails,
		"getExtraResources":            e.getExtraResources,
		"getExtraResourcesFromContext": e.getExtraResourcesFromContext,
		"getCredentialData":            e.budget.Priced(getCredentialData),
	}
}

// maxIncludes is how many uses of one template by include can be under way, but
// for the first.
const maxIncludes = 1000

// include returns the text of a template. Its errors get longer by each level,
// and lose their chain so that only the longest is kept.
func (e *execution) include(name string, data any) (string, error) {
	if e.including[name] > maxIncludes {
		return "", fmt.Errorf("rendering template has a nested reference name: %s: %w", name, errors.New("unable to execute template"))
	}
	e.including[name]++
	defer func() { e.including[name]-- }()
	out := e.budget.Text()
	if err := e.run(out, name, data); err != nil {
		return "", err
	}
	return out.String(), nil
}

// toYAML is of YAML 1.2, as opposed to the documents.
func toYAML(v any) (string, error) {
	text, err := yaml.Marshal(v)
	return string(text), err
}

// yamlSize is what a byte of YAML can take once it is read.
const yamlSize = 128

func (e *execution) fromYAML(text string) (any, error) {
	if err := e.budget.Afford(float64(yamlSize * len(text))); err != nil {
		return nil, err
	}
	var node yaml.Node
	if err := yaml.Unmarshal([]byte(text), &node); err != nil || node.Kind == 0 {
		return nil, err
	}
	if err := checkKeys(&node); err != nil {
		return nil, err
	}
	var v any
	if err := node.Decode(&v); err != nil {
		return nil, err
	}
	return v, e.budget.SpendOn(reflect.ValueOf(v))
}

// The library compares each key of a mapping with each, and describes every pair
// that is alike.
const (
	maxKeys  = 10_000
	maxTwins = 1000
)

// checkKeys returns an error for mappings that take the library too long.
func checkKeys(n *yaml.Node) error {
	if n.Kind == yaml.MappingNode {
		twins, seen := 0, map[string]int{}
		for i := 0; i < len(n.Content); i += 2 {
			twins += seen[n.Content[i].Value]
			seen[n.Content[i].Value]++
		}
		switch {
		case len(n.Content)/2 > maxKeys:
			return fmt.Errorf("yaml: line %d: a mapping has more than %d keys", n.Line, maxKeys)
		case twins > maxTwins:
			return fmt.Errorf("yaml: line %d: a mapping has keys more than %d times", n.Line, maxTwins)
		}
	}
	for _, below := range n.Content {
		if err := checkKeys(below); err != nil {
			return err
		}
	}
	return nil
}

func randomChoice(choices ...string) string { return choices[rand.Intn(len(choices))] }

func setResourceNameAnnotation(name string) string { return nameAnnotation + ": " + name }

// getResourceCondition returns a condition of a resource, or of an entry that
// holds one, or an unknown one.
func (e *execution) getResourceCondition(conditionType string, of map[string]any) (v2.Condition, error) {
	for _, path := range []string{"resource.status", "status"} {
		status := v2.ConditionedStatus{}
		if found, err := e.get(of, path, &status); found || err != nil {
			c := status.GetCondition(v2.ConditionType(conditionType))
			c.LastTransitionTime.Time = c.LastTransitionTime.UTC()
			return c, err
		}
	}
	unknown := v2.ConditionedStatus{}
	return unknown.GetCondition(v2.ConditionType(conditionType)), nil
}

func (e *execution) getCompositeResource(data map[string]any) (map[string]any, error) {
	return e.object(data, "observed.composite.resource")
}

func (e *execution) getComposedResource(data map[string]any, name string) (map[string]any, error) {
	return e.object(data, "observed.resources["+name+"]resource")
}

func (e *execution) getComposedConnectionDetails(data map[string]any, name string) (map[string]any, error) {
	return e.object(data, "observed.resources["+name+"]connectionDetails")
}

func (e *execution) getExtraResources(data map[string]any, key string) ([]any, error) {
	return e.list(data, "requiredResources["+key+"].items", "extraResources["+key+"].items")
}

func (e *execution) getExtraResourcesFromContext(data map[string]any, key string) ([]any, error) {
	return e.list(data, "context["+extraResourcesKey+"]["+key+"].items")
}

// object returns a copy of the object at a path, or nil.
func (e *execution) object(data map[string]any, path string) (map[string]any, error) {
	var v map[string]any
	if found, err := e.get(data, path, &v); !found {
		return nil, err
	}
	return v, nil
}

// list returns a copy of the list at the first of the paths that has one, or nil.
func (e *execution) list(data map[string]any, paths ...string) ([]any, error) {
	for _, path := range paths {
		var v []any
		if found, err := e.get(data, path, &v); found || err != nil {
			return v, err
		}
	}
	return nil, nil
}

// get decodes what is at a path, and reports whether it is there and fits.
func (e *execution) get(data map[string]any, path string, into any) (bool, error) {
	p, err := fieldpath.Parse(path)
	if err != nil || slices.Contains(p, fieldpath.Key("*")) {
		return false, nil
	}
	v, err := p.Get(data)
	if err != nil {
		return false, nil
	}
	if err := e.budget.SpendOn(reflect.ValueOf(v)); err != nil {
		return false, err
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return false, nil
	}
	return kjson.Unmarshal(raw, into) == nil, nil
}

// getCredentialData reads the data back as the request that they are made of. So
// it finds nothing once the template has put something else into them.
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
