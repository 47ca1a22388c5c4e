package builtin

import (
	"fmt"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xfn-dev/xfn/internal/patch"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
)

// mergeConfigs returns the merged data of EnvironmentConfigs. Later ones override earlier ones. The
// real function merges data with different paths in random order.
func mergeConfigs(configs []environmentConfig) (map[string]any, error) {
	all, nulls := map[string]any{}, 0
	for _, c := range configs {
		data, n, err := c.data()
		if err != nil {
			return nil, err
		}
		if nulls += n; nulls > patch.MaxNulls {
			return nil, fmt.Errorf("the paths extend lists by more than %d nulls", patch.MaxNulls)
		}
		mergeObjects(all, data)
	}
	return all, nil
}

// data returns the data at its path, and the number of nulls that extend lists up to an index.
func (c environmentConfig) data() (data map[string]any, nulls int, err error) {
	metadata := c.resource.GetFields()["metadata"].GetStructValue()
	name := metadata.GetFields()["name"].GetStringValue()
	v, ok := c.resource.GetFields()["data"]
	if c.path == "" {
		if data, err = rootData(v, ok); err != nil {
			err = fmt.Errorf("cannot get data from environment config %q: %w", name, err)
		}
		return data, 0, err
	}
	data = map[string]any{}
	path, err := fieldpath.Parse(c.path)
	if err == nil {
		nulls, err = path.Set(data, v.AsInterface())
	}
	if err != nil {
		return nil, nulls, fmt.Errorf("cannot get data from environment config %s into path %q", name, c.path)
	}
	return data, nulls, nil
}

// rootData returns the value of the field data, which must be an object or null. The texts of its
// errors are those of crossplane-runtime and encoding/json.
func rootData(v *structpb.Value, exists bool) (map[string]any, error) {
	if !exists {
		return nil, fmt.Errorf("data: no such field")
	}
	kind := ""
	switch v := v.AsInterface().(type) {
	case map[string]any:
		return v, nil
	case nil:
		return nil, nil
	case []any:
		kind = "array"
	case string:
		kind = "string"
	case bool:
		kind = "bool"
	default:
		kind = "number"
	}
	return nil, fmt.Errorf("cannot unmarshal value from JSON: json: cannot unmarshal %s into Go value of type map[string]interface {}", kind)
}

// mergeObjects merges src into dst, and returns dst. Objects are merged, and all other values replaced.
func mergeObjects(dst, src map[string]any) map[string]any {
	for key, v := range src {
		from, isObject := v.(map[string]any)
		into, exists := dst[key].(map[string]any)
		if isObject && exists {
			mergeObjects(into, from)
		} else {
			dst[key] = v
		}
	}
	return dst
}
