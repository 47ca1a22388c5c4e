package schema

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// Stored returns obj as Validate prepares it for validation: without unknown fields and
// nulls that the API server removes, and with defaults.
func (d *Definition) Stored(obj map[string]any) (map[string]any, error) {
	apiVersion, _ := obj["apiVersion"].(string)
	v, err := d.valid(apiVersion[strings.LastIndexByte(apiVersion, '/')+1:])
	if err != nil {
		return nil, err
	}
	obj = runtime.DeepCopyJSON(obj)
	v.unknown(obj)
	v.fill(obj)
	return obj, nil
}

// Obeys reports whether Validate needs no library to see that obj obeys the CEL rules of a version.
func (d *Definition) Obeys(version string, obj map[string]any) bool {
	v, err := d.valid(version)
	return err == nil && obeys(obj, v.structural)
}
