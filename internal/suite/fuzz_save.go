package suite

import (
	"bytes"
	"fmt"
	"path/filepath"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/suite/spec"
)

// SaveFindings returns the text of a suite with a case for each finding, for a file at path. xrd is
// the path of the XRD. The cases have the inputs that were rendered. They fail for the reason of
// the finding, except for OutputVaries and NameCollides, which no expectation describes.
func SaveFindings(path, xrd string, all []*Finding) ([]byte, error) {
	cases := make([]spec.Converted, len(all))
	for i, f := range all {
		mine := *f.item.Case // Fields changes a case.
		fields, err := mine.Fields()
		if err != nil {
			return nil, err
		}
		m := moved{from: filepath.Dir(f.item.Suite.Path), to: filepath.Dir(path)}
		fields = mapPaths(m.path).fields(fields)
		m.from = "."
		fields["xr"], fields["xrd"], fields["expect"] = f.XR, m.path(xrd), f.expect()
		delete(fields, "allowInvalid")
		cases[i] = spec.Converted{Name: fmt.Sprintf("%s: %s", f.Name, f.Kind), Fields: fields}
		if m.err != nil {
			return nil, m.err
		}
	}
	file, err := spec.FromConverted(path, cases).File()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = manifest.Write(&b, file)
	return b.Bytes(), err
}

func (f *Finding) expect() map[string]any {
	switch f.Kind {
	case InvalidOutput:
		ignore := []any{"Composition"}
		for _, kind := range f.unchecked {
			ignore = append(ignore, kind)
		}
		return map[string]any{"valid": map[string]any{"all": true, "ignore": ignore}}
	case NeverSettles:
		return map[string]any{"passes": int64(defaultPasses)}
	}
	return map[string]any{}
}

// moved changes the relative paths in a case from one folder to another.
type moved struct {
	from, to string
	err      error
}

// A mapPaths returns another path for a path in a case.
type mapPaths func(string) string

// fields changes the paths of the inputs in the fields of a case, and returns the fields.
func (m mapPaths) fields(all map[string]any) map[string]any {
	for key, v := range all {
		switch key {
		case "xrd", "composition", "functions", "observed", "required", "extraResources", "credentials", "requiredSchemas", "schemas":
			all[key] = m.paths(v)
		case "contextFiles":
			all[key] = m.values(v, "")
		case "observe":
			all[key] = m.values(v, "fixtures")
		case "mocks":
			mocks := map[string]any{}
			for step, mock := range fieldpath.Map(v) {
				mocks[step] = m.values(mock, "recording")
			}
			all[key] = mocks
		}
	}
	return all
}

// values returns an object with changed paths in the field called only, or in all if it is "".
func (m mapPaths) values(v any, only string) any {
	obj, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := make(map[string]any, len(obj))
	for key, value := range obj {
		if out[key] = value; only == "" || key == only {
			out[key] = m.paths(value)
		}
	}
	return out
}

func (m mapPaths) paths(v any) any {
	switch v := v.(type) {
	case string:
		return m(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = m.paths(e)
		}
		return out
	}
	return v
}

func (m *moved) path(p string) string {
	if filepath.IsAbs(p) {
		return p
	}
	rel, err := fsx.Relative(m.to, filepath.Join(m.from, filepath.FromSlash(p)))
	if err != nil {
		m.err = fmt.Errorf("writing the path %q relative to %q: %w", p, m.to, err)
	}
	return filepath.ToSlash(rel)
}
