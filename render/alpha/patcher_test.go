package alpha_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/xfn-dev/xfn/internal/fieldpath"
	"github.com/xfn-dev/xfn/internal/patch/spec"
	"github.com/xfn-dev/xfn/internal/patch/transform"
)

// patch is an alpha.Patcher of what the binary has for that, but for merging.
func patch(raw json.RawMessage, from, to map[string]any) (map[string]any, error) {
	var p spec.Patch
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, err
	}
	v, err := read(&p, from)
	if err != nil {
		return nil, err
	}
	if v, err = transform.Compile(p.Transforms).Apply(v, &transform.Budget{}); err != nil {
		return nil, err
	}
	path, err := fieldpath.Parse(p.To())
	if err != nil {
		return nil, err
	}
	paths := []fieldpath.Path{path}
	if strings.Contains(p.To(), "[*]") {
		if paths, err = path.Expand(to); err != nil {
			return nil, err
		}
	}
	for _, path := range paths {
		if err := path.Set(to, v); err != nil {
			return nil, err
		}
	}
	return to, nil
}

func read(p *spec.Patch, from map[string]any) (any, error) {
	if !p.TypeOrDefault().IsCombine() {
		return get(from, *p.FromFieldPath)
	}
	args := make([]any, len(p.Combine.Variables))
	for i, variable := range p.Combine.Variables {
		v, err := get(from, variable.FromFieldPath)
		if err != nil {
			return nil, err
		}
		args[i] = v
	}
	return fmt.Sprintf(p.Combine.String.Format, args...), nil
}

func get(from map[string]any, text string) (any, error) {
	path, err := fieldpath.Parse(text)
	if err != nil {
		return nil, err
	}
	return path.Get(from)
}
