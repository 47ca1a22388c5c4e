package schema

import (
	"strings"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
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
	j := v.validators()
	if j.err != nil {
		return nil, j.err
	}
	j.unknown(obj)
	j.fill(obj)
	return obj, nil
}

// Obeys reports whether Validate needs no library to see that obj obeys the CEL rules of a version.
func (d *Definition) Obeys(version string, obj map[string]any) bool {
	v, err := d.valid(version)
	return err == nil && obeys(obj, v.structural)
}

// Parts returns how many fields of a version have a default, an embedded resource or unique elements,
// with all their parents.
func (d *Definition) Parts(version string) (defaults, embedded, unique int) {
	v, err := d.valid(version)
	if err != nil {
		return 0, 0, 0
	}
	j := v.validators()
	count := func(s *structural.Structural) (n int) {
		if s != nil {
			(&structural.Visitor{Structural: func(*structural.Structural) bool { n++; return false }}).Visit(s.DeepCopy())
		}
		return n
	}
	return count(j.defaults), count(j.embedded), count(j.unique)
}
